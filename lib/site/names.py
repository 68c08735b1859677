"""Names of claims: from the first release on they are frozen, and one that goes leads to another claim.

`book/names.txt` lists them, a name a line; behind a name that is gone stands the one to which its links now lead.
"""

from pathlib import Path

from lib import files

NAMES = Path("book") / "names.txt"


def frozen(root: Path) -> dict[str, str]:
    """Return the names that were released, each with the name to which it leads: itself, unless it is gone."""
    path = root / NAMES
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    found = {}
    for line in lines:
        name, *successor = line.split()
        found[name] = successor[0] if successor else name
    return found


def former(root: Path, name: str) -> list[str]:
    """Return the names that are gone and lead to this one."""
    return [old for old, new in frozen(root).items() if new == name and old != name]


def freeze(root: Path, records: list[dict]) -> None:
    """Add the names of all claims to the list, for a release."""
    known = frozen(root)
    for record in records:
        known.setdefault(record["id"], record["id"])
    lines = [old if old == new else f"{old} {new}" for old, new in known.items()]
    files.write(root / NAMES, "\n".join(lines) + "\n")


def refuse_broken(root: Path, records: list[dict], released: bool) -> None:
    """Raise if a name that was released is gone without a successor or a word in the changelog.

    Raises
    ------
    ValueError
        So, or if a version is released whose names are not listed.
    """
    known = frozen(root)
    claims = [record["id"] for record in records]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    for old, new in known.items():
        if new not in claims:
            raise ValueError(f"{root / NAMES}: {old} leads to {new}, which is no claim: write a claim's name behind it")
        if old != new and old not in changelog:
            raise ValueError(f"{root / NAMES}: {old} is gone, and CHANGELOG.md does not say why: add an entry")
    lacking = [name for name in claims if name not in known]
    if released and lacking:
        raise ValueError(f"{root / NAMES} lacks {lacking[0]}: list the names with `python -m lib report --freeze`")

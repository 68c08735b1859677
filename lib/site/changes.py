"""What changed between the claims of an earlier revision and those of today: ids, verdicts and bounds.

A revision's claims are read from its committed notebooks, with git.
"""

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lib import claims
from lib.markdown import escape, table

HEADS = ("claim", "verdict; bound", "statement")


@dataclass(frozen=True)
class Edition:
    """The claims of a revision, each with id, verdict, bound (in words) and statement."""

    revision: str
    date: str
    claims: list[dict]


def edition(root: Path, revision: str) -> Edition:
    """Read the claims of a revision from its notebooks.

    Raises
    ------
    ValueError
        If git is not there or does not know the revision, or if its notebooks hold no claims.
    """
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not commit:
        raise ValueError(f"since: git knows no revision {revision!r} here; want a tag or a commit, as in `git tag` or `git log`")
    commit = commit.strip()
    names = _git(root, "ls-tree", "-r", "--name-only", commit, "book/").splitlines()
    notebooks = [json.loads(_git(root, "show", f"{commit}:./{name}")) for name in names if name.endswith(".ipynb")]
    records = [brief(record) for notebook in notebooks for record in claims.collect(notebook)]
    if not records:
        raise ValueError(f"since: the notebooks of {revision!r} hold no claims")
    return Edition(commit[:7], _git(root, "show", "--no-patch", "--format=%as", commit).strip(), records)


def _git(root: Path, *arguments: str) -> str:
    """Return what git says, or "" where it fails."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        raise ValueError("since: git is not installed, and only git knows earlier claims") from None
    return done.stdout if done.returncode == 0 else ""


def brief(record: dict) -> dict:
    """Return of a record what is compared; the first edition kept its bounds as words."""
    bound = record.get("expected") or claims.bound_text(record)
    return {"id": record["id"], "verdict": record["verdict"], "bound": bound, "statement": record["statement"]}


def report(before: Edition, now: Iterable[dict]) -> str:
    """Write what has another verdict or bound, what was added and what is gone, in Markdown."""
    old, new = ({claim["id"]: claim for claim in side} for side in (before.claims, map(brief, now)))
    moved = [(old[name], new[name]) for name in new if name in old and _judged(old[name]) != _judged(new[name])]
    parts = {
        "Another verdict or bound": [
            [escape(after["id"]), f"{_judged(prior)} → {_judged(after)}", escape(after["statement"])] for prior, after in moved
        ],
        "Added": [_row(claim) for name, claim in new.items() if name not in old],
        "Gone": [_row(claim) for name, claim in old.items() if name not in new],
    }
    counts = f"{len(new)} claims, {len(old)} before: " + ", ".join(
        f"{len(rows)} {title.lower()}" for title, rows in parts.items()
    )
    tables = [f"## {title}\n\n{table(HEADS, rows)}" for title, rows in parts.items() if rows]
    head = [f"# Claims since {before.revision} ({before.date})", f"{len(new)} claims, {len(old)} before: {counts}."]
    return "\n\n".join([*head, *tables])


def _judged(claim: dict) -> str:
    return f"{escape(claim['verdict'])}; {escape(claim['bound'])}"


def _row(claim: dict) -> list[str]:
    return [escape(claim["id"]), _judged(claim), escape(claim["statement"])]

"""What changed between the claims of an earlier revision and those of today: ids, verdicts and bounds.

A revision's claims are read from its committed notebooks, with git. For the site, which may be built without git's history, those
of the edition before are kept in `book/quality/edition.json`.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from lib import claims, files
from lib.book.pages.tables import place
from lib.book.toc import chapters
from lib.claims import VERDICTS
from lib.markdown import escape, table

HEADS = ("claim", "verdict; bound", "statement")


@dataclass(frozen=True)
class Edition:
    """The claims of a revision, each with id, verdict, bound (in words) and statement."""

    revision: str
    date: str
    claims: list[dict]


@dataclass(frozen=True)
class Changes:
    """What was added and dropped, what changed (pairs of old and new), and how many claims kept verdict and bound."""

    added: list[dict]
    dropped: list[dict]
    changed: list[tuple[dict, dict]]
    kept: int


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


def keep(root: Path, before: Edition) -> Path:
    """Keep an edition for the page "What changed"; return where."""
    lines = ",\n".join(json.dumps(claim, ensure_ascii=False) for claim in before.claims)
    path = place(root, "edition")
    files.write(path, f'{{"revision": "{before.revision}", "date": "{before.date}", "claims": [\n{lines}\n]}}\n')
    return path


def compare(before: Iterable[dict], now: Iterable[dict]) -> Changes:
    """Compare two lists of claims by their ids."""
    old, new = ({claim["id"]: claim for claim in side} for side in (before, now))
    both = [(old[name], new[name]) for name in new if name in old]
    changed = [pair for pair in both if any(pair[0][part] != pair[1][part] for part in ("verdict", "bound"))]
    added, dropped = ([one[name] for name in one if name not in other] for one, other in ((new, old), (old, new)))
    return Changes(added, dropped, changed, len(both) - len(changed))


def summary(changes: Changes) -> str:
    """Count in a line."""
    counts = f"{len(changes.added)} claims are new in the ledger, {len(changes.dropped)} are gone"
    return f"{counts}, {len(changes.changed)} have another verdict or bound, and {changes.kept} have the same."


def moves(changes: Changes) -> str:
    """Count how verdicts changed, as a table: a row for each verdict before, a column for each one now."""
    count = Counter((old["verdict"], new["verdict"]) for old, new in changes.changed if old["verdict"] != new["verdict"])
    before = [verdict for verdict in VERDICTS if any(old == verdict for old, _ in count)]
    now = [verdict for verdict in VERDICTS if any(new == verdict for _, new in count)]
    rows = ([f"**{old}**", *(count[old, new] or "" for new in now)] for old in before)
    return table(["was ↓, is →", *now], rows) if count else "No verdict changed."


def changed(changes: Changes, root: Path, name: Callable[[str], str] = escape) -> str:
    """Write what has another verdict or bound, as a table, those of the verdict first; `name` writes the claims' ids."""
    pairs = sorted(changes.changed, key=lambda pair: (pair[0]["verdict"] == pair[1]["verdict"], _order(root, pair[1])))
    return table(HEADS, ([name(new["id"]), _judged(old, new), _stated(old, new)] for old, new in pairs))


def listed(some: list[dict], root: Path, name: Callable[[str], str] = escape) -> str:
    """Write claims as a table; `name` writes their ids."""
    ordered = sorted(some, key=lambda claim: _order(root, claim))
    return table(HEADS, ([name(claim["id"]), _judged(claim, claim), escape(claim["statement"])] for claim in ordered))


def _order(root: Path, claim: dict) -> int:
    names, chapter = chapters(root), claim["id"].split("/")[0]
    return names.index(chapter) if chapter in names else len(names)


def _judged(old: dict, new: dict) -> str:
    """Write verdict and bound, and what they were."""
    pairs = ((escape(old[part]), escape(new[part])) for part in ("verdict", "bound"))
    return "; ".join(now if was == now else f"{was} → **{now}**" for was, now in pairs)


def _stated(old: dict, new: dict) -> str:
    """Write a statement, and what it was."""
    was, now = escape(old["statement"]), escape(new["statement"])
    return now if was == now else f"{now} (*was:* {was})"


def report(root: Path, before: Edition, now: list[dict]) -> str:
    """Write all changes since an edition, in Markdown."""
    changes = compare(before.claims, map(brief, now))
    parts = [f"# Claims since {before.revision} ({before.date})", summary(changes), moves(changes)]
    parts += ["## Another verdict or bound", changed(changes, root)] if changes.changed else []
    parts += ["## Added", listed(changes.added, root)] if changes.added else []
    parts += ["## Gone", listed(changes.dropped, root)] if changes.dropped else []
    return "\n\n".join(parts)

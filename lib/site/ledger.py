"""The ledger: the claims of all executed chapters."""

import json
from pathlib import Path

import yaml

from lib import claims, files
from lib.site.toc import notebooks

AFTER_LOOKING = Path("book") / "after_looking.yml"


def read(root: Path, folder: Path | None = None) -> list[dict]:
    """Collect the claims of all executed notebooks (default: those in `book/`), each with its chapter and the profile it ran at.

    Raises
    ------
    ValueError
        If a notebook is not whole, or if the numbers of a claim contradict its verdict.
    """
    records = []
    for name in notebooks(root):
        path = (folder or root / "book") / f"{name}.ipynb"
        if path.is_file():
            records += of_notebook(path)
    return records


def of_notebook(path: Path) -> list[dict]:
    """Collect the claims of one executed notebook, each judged again.

    Raises
    ------
    ValueError
        If the notebook is not whole, or if the numbers of a claim contradict its verdict.
    """
    chapter = path.stem
    remedy = f"run `python -m lib run {chapter}`"
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        place = {"chapter": chapter, "profile": notebook["metadata"].get("run", {}).get("profile")}
        records = [dict(record) for record in claims.collect(notebook)]
    except (ValueError, TypeError, LookupError, AttributeError) as problem:
        raise ValueError(f"{path} is not a complete notebook ({problem}): {remedy}") from problem
    for record in records:
        try:
            claims.judged(record)
        except ValueError as problem:
            raise ValueError(f"{path}: {problem}: {remedy}") from problem
    return [record | place for record in records]


def report(root: Path, folder: Path | None = None) -> list[dict]:
    """Write the ledger to `_build/claims.json`."""
    if folder is not None and not folder.is_dir():
        raise ValueError(f"notebooks: there is no folder {folder}")
    records = read(root, folder)
    files.write(root / "_build" / "claims.json", json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    return records


def after_looking(root: Path) -> set[str]:
    """Return the claims whose bound was set or changed after looking at the numbers."""
    path = root / AFTER_LOOKING
    found = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {f"{chapter}/{name}" for chapter, lists in found.items() for name in lists["changed"]}

"""The table of contents: which pages the book has, which of them are notebooks, and what they are called."""

import re
from pathlib import Path

FILE = re.compile(r"^[ -]*(?:root|file): *(\S+)", re.MULTILINE)
EVIDENCE = "evidence/"  # folder of the evidence pages, in `book/`


def pages(root: Path) -> list[str]:
    """Name every page, as `_toc.yml` does, without the extension; the front page comes first.

    Raises
    ------
    ValueError
        If `root` holds no `_toc.yml`, or one without a page.
    """
    names = [str(Path(file).with_suffix("")) for file in _files(root)]
    if not names:
        raise ValueError(f"{(root / '_toc.yml').resolve()} names no page")
    return names


def chapters(root: Path) -> list[str]:
    """Name the chapters by their lessons, in the order of the table of contents.

    Raises
    ------
    ValueError
        If `root` holds no `_toc.yml`, or one without a chapter.
    """
    names = [name for name in _notebooks(root) if not name.startswith(EVIDENCE)]
    if not names:
        raise ValueError(f"{(root / '_toc.yml').resolve()} names no chapter (`file: book/NAME.ipynb`)")
    return names


def notebooks(root: Path, chosen: list[str] | None = None) -> list[str]:
    """Name the notebooks of chapters (default: all): each lesson, `NAME`, then its evidence page, `evidence/NAME`, if any."""
    there = set(_notebooks(root))
    pairs = ((name, EVIDENCE + name) for name in (chapters(root) if chosen is None else chosen))
    return [notebook for pair in pairs for notebook in pair if notebook in there]


def beside(root: Path, folder: str) -> dict[str, Path]:
    """Return by chapter the files of a folder of `book/`, like `slides`, for the chapters that have one."""
    paths = {name: root / "book" / folder / f"{name}.md" for name in chapters(root)}
    return {name: path for name, path in paths.items() if path.is_file()}


def source(root: Path, name: str) -> str:
    """Return the text of a page in `book/`; a ValueError if there is none."""
    path = root / "book" / f"{name}.md"
    if not path.is_file():
        raise ValueError(f"chapter name {name!r}: there is no {path}")
    return path.read_text(encoding="utf-8")


def sources(root: Path, chapter: str) -> str:
    """Return the text of a chapter's lesson and of its evidence page, if it has one."""
    return "\n".join(source(root, name) for name in notebooks(root, [chapter]))


def title(root: Path, name: str) -> str:
    """Return the heading of a page in `book/`, or its name if it has none."""
    heading = re.search(r"^# (.+)$", source(root, name), re.MULTILINE)
    return heading[1] if heading else name


def _notebooks(root: Path) -> list[str]:
    return [file.removeprefix("book/").removesuffix(".ipynb") for file in _files(root) if file.endswith(".ipynb")]


def _files(root: Path) -> list[str]:
    toc = root / "_toc.yml"
    if not toc.is_file():
        raise ValueError(f"root: no _toc.yml in {root.resolve()}: run this from the folder that holds the book")
    return FILE.findall(toc.read_text(encoding="utf-8"))

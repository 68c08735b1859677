"""The book: its table of contents, the texts of its pages
and its executed notebooks, each read once.
"""

import json
import re
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FILE = re.compile(r"^[ -]*(?:root|file): *(\S+)", re.MULTILINE)
# The texts in a chapter's folder, `book/NAME/`; its lesson is `book/NAME.md`.
MATERIALS = ("evidence", "code", "slides", "plan", "lab", "problems", "quiz")


class Book:
    """The book in a folder, as it is when something of it is first asked for.

    What reads more of it is a cached function of a `Book`, like `lib.site.ledger.records`.

    Parameters
    ----------
    root : the folder that holds `_toc.yml`
    executed : the folder of the executed notebooks; by default `book/`
    """

    def __init__(self, root: Path, executed: Path | None = None) -> None:
        self.root = root
        self.folder = root / "book"
        self.executed = executed or self.folder

    @cached_property
    def _files(self) -> list[Path]:
        toc = self.root / "_toc.yml"
        if not toc.is_file():
            raise ValueError(
                f"root: no _toc.yml in {self.root.resolve()}: run this from the folder that "
                "holds the book"
            )
        return [Path(file) for file in FILE.findall(toc.read_text(encoding="utf-8"))]

    @cached_property
    def pages(self) -> list[str]:
        """Every page, as `_toc.yml` names it, without the extension; the front page comes first."""
        return [str(file.with_suffix("")) for file in self._files]

    @cached_property
    def chapters(self) -> list[str]:
        """The chapters by their lessons, in the order of the table of contents."""
        names = [name for name in self._notebooks if "/" not in name]
        if not names:
            toc = (self.root / "_toc.yml").resolve()
            raise ValueError(f"{toc} names no chapter (`file: book/NAME.ipynb`)")
        return names

    @cached_property
    def notebooks(self) -> list[str]:
        """The notebooks of all chapters."""
        return self.notebooks_of(*self.chapters)

    def notebooks_of(self, *chapters: str) -> list[str]:
        """Name each chapter's lesson, `NAME`, then its evidence page, `NAME/evidence`, if any."""
        names = [name for chapter in chapters for name in (chapter, f"{chapter}/evidence")]
        return [name for name in names if name in self._notebooks]

    @cached_property
    def _notebooks(self) -> list[str]:
        found = [file.with_suffix("") for file in self._files if file.suffix == ".ipynb"]
        return [file.relative_to("book").as_posix() for file in found]

    @cache  # noqa: B019
    def text(self, name: str) -> str:
        """Return the text of a page in `book/`; a ValueError if there is none."""
        path = self._source(name)
        if not path.is_file():
            raise ValueError(f"chapter name {name!r}: there is no {path}")
        return path.read_text(encoding="utf-8")

    def title(self, name: str) -> str:
        """Return the heading of a page in `book/`, or its name if it has none."""
        heading = re.search(r"^# (.+)$", self.text(name), re.MULTILINE)
        return heading[1] if heading else name

    def chapter_of(self, page: str) -> str:
        """Return the chapter of a page: of `products/plan`, with or without `book/`; "" if none."""
        name = page.removeprefix("book/").split("/")[0]
        return name if name in self.chapters else ""

    def beside(self, material: str) -> dict[str, str]:
        """Return by chapter the texts of a kind, like `slides`, that are written."""
        names = [name for name in self.chapters if self._source(f"{name}/{material}").is_file()]
        return {name: self.text(f"{name}/{material}") for name in names}

    def _source(self, name: str) -> Path:
        return self.folder / f"{name}.md"

    def path(self, notebook: str) -> Path:
        """Return the file of an executed notebook."""
        return self.executed / f"{notebook}.ipynb"

    @cache  # noqa: B019
    def notebook(self, name: str) -> dict:
        """Return an executed notebook (its JSON), without cells if it has not been executed.

        Raises
        ------
        ValueError
            If it is not whole.
        """
        path = self.path(name)
        if not path.is_file():
            return {"metadata": {}, "cells": []}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            parts = {"metadata": dict(found["metadata"]), "cells": list(map(dict, found["cells"]))}
        except (ValueError, TypeError, LookupError) as problem:
            remedy = f"run `python -m lib run {self.chapter_of(name)}`"
            raise ValueError(
                f"{path} is not a complete notebook ({problem}): {remedy}"
            ) from problem
        return found | parts


@cache
def book_of(app: "Sphinx") -> Book:
    """Return the book that Sphinx builds."""
    return Book(Path(app.srcdir))

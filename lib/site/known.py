"""The numbers of a chapter: of its claims, of what its cells print, and of its code."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lib.site.book import Book
from lib.site.comparison import OF_THE_MACHINE
from lib.site.decimals import CODE
from lib.site.ledger import label

NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?(?![\w.]*\d)")


class Known(NamedTuple):
    """A number and where it is; an exact one, like a setting, is not rounded in the text."""

    value: float
    source: str
    page: str
    label: str = ""
    exact: bool = False


def known(book: Book, chapter: str, notebooks: dict[str, dict]) -> list[Known]:
    """Collect the numbers of a chapter's notebooks, lab and problems, and of the experiments."""
    found = []
    for page, notebook in notebooks.items():
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                found += _of_cell(cell, page)
    for material in ("lab", "problems"):
        for code in CODE.finditer(book.beside(material).get(chapter, "")):
            found += _settings(code[0], f"{chapter}/{material}")
    for path in sorted(book.folder.glob(f"{chapter}/*.py")):  # its own code
        found += _settings(path.read_text(encoding="utf-8"), "")
    return found


def _of_cell(cell: dict, page: str) -> Iterator[Known]:
    source = "".join(cell["source"])
    if source.startswith(OF_THE_MACHINE):  # no results of its own
        return
    yield from _settings(source, page)
    for output in cell["outputs"]:
        if claim := output.get("metadata", {}).get("claim"):
            yield from _of_claim(claim, page)
            continue
        data = output.get("data", {})
        text = output.get("text") or data.get("text/markdown") or data.get("text/plain", "")
        for number in NUMBER.findall("".join(text)):
            yield Known(float(number), f"printed {number}", page)


def _of_claim(claim: dict, page: str) -> Iterator[Known]:
    place = (f"claim {claim['id']}", page, label(claim["id"]))
    for value in (claim["measured"], claim["printed"], *claim["rivals"].values()):
        if value is not None:
            yield Known(float(value), *place)
    said = NUMBER.findall(f"{claim['statement']} {claim['why']}")
    for value in (claim["low"], claim["high"], *said):
        yield Known(float(value), *place, exact=True)


def _settings(code: str, page: str) -> Iterator[Known]:
    for number in NUMBER.findall(code):
        yield Known(float(number), "setting", page, exact=True)

"""The numbers of a chapter: of its claims, of what its cells print, and of its code."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lib.site.book import Book
from lib.site.decimals import CODE

NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?(?![\w.]*\d)")
AGAIN = re.compile(r"claims\.table\(|provenance\.stamp\(")  # print no results of their own


class Known(NamedTuple):
    """A number and where it is; an exact one, like a setting, is not rounded in the text."""

    value: float
    source: str
    page: str
    section: str
    label: str
    exact: bool


def known(book: Book, chapter: str, notebooks: dict[str, dict]) -> list[Known]:
    """Collect the numbers of a chapter's notebooks, lab and problems, and of the experiments."""
    found = []
    for page, notebook in notebooks.items():
        found += _executed(notebook, page)
    for page in (f"labs/{chapter}", f"problems/{chapter}"):
        path = book.folder / f"{page}.md"
        if path.is_file():
            for cell in CODE.finditer(book.text(page)):
                found += _settings(cell[0], page, "")
    for path in sorted(book.root.glob("lib/experiments/*.py")):
        found += _settings(path.read_text(encoding="utf-8"), "", "")
    return found


def _executed(notebook: dict, page: str) -> Iterator[Known]:
    section = label = before = ""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for line in source.split("\n"):
                if line.startswith("## "):
                    section = line
                    label = before.strip("()=")
                before = line
            continue
        if AGAIN.search(source):
            continue
        yield from _settings(source, page, section)
        figure = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name", label)
        for output in cell["outputs"]:
            if claim := output.get("metadata", {}).get("claim"):
                yield from _claim(claim, page, section)
                continue
            data = output.get("data", {})
            text = output.get("text") or data.get("text/markdown") or data.get("text/plain", "")
            for number in NUMBER.findall("".join(text)):
                printed = f"printed {number}"
                yield Known(float(number), printed, page, section, figure, exact=False)


def _claim(claim: dict, page: str, section: str) -> Iterator[Known]:
    place = (f"claim {claim['id']}", page, section, claim["id"].replace("/", "-"))
    for value in (claim["measured"], claim["printed"], *claim["rivals"].values()):
        if value is not None:
            yield Known(float(value), *place, exact=False)
    said = NUMBER.findall(f"{claim['statement']} {claim['why']}")
    for value in (claim["low"], claim["high"], *said):
        yield Known(float(value), *place, exact=True)


def _settings(code: str, page: str, section: str) -> Iterator[Known]:
    for number in NUMBER.findall(code):
        yield Known(float(number), "setting", page, section, "", exact=True)

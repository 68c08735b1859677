"""The numbers of a chapter: of its claims, of what its cells print, and of its code."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lib.site.book import Book
from lib.site.comparison import OF_THE_MACHINE
from lib.site.decimals import CODE

NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?(?![\w.]*\d)")


class Known(NamedTuple):
    """A number and where it is; an exact one, like a setting, is not rounded in the text."""

    value: float
    source: str
    page: str
    exact: bool = False


def known(book: Book, chapter: str, notebooks: dict[str, dict]) -> list[Known]:
    """Collect the numbers of a chapter's notebooks, lab and problems, and of the experiments."""
    found = []
    for page, notebook in notebooks.items():
        for cell in notebook["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code" and not source.startswith(OF_THE_MACHINE):
                found += _settings(source, page)
                for output in cell["outputs"]:
                    found += _of_output(output, page)
    for material in ("lab", "problems"):
        for code in CODE.finditer(book.beside(material).get(chapter, "")):
            found += _settings(code[0], f"{chapter}/{material}")
    for path in sorted(book.folder.glob(f"{chapter}/[!.]*.py")):  # its own code
        found += _settings(path.read_text(encoding="utf-8"), "")
    return found


def _settings(code: str, page: str) -> list[Known]:
    return [Known(float(one), "setting", page, exact=True) for one in NUMBER.findall(code)]


def _of_output(output: dict, page: str) -> Iterator[Known]:
    """Yield the numbers of a claim or of a printed text."""
    if claim := output.get("metadata", {}).get("claim"):
        source = f"claim {claim['id']}"
        for value in (claim["measured"], claim["printed"], *claim["rivals"].values()):
            if value is not None:
                yield Known(float(value), source, page)
        said = NUMBER.findall(f"{claim['statement']} {claim['measure']} {claim['why']}")
        for value in (claim["low"], claim["high"], *said):
            yield Known(float(value), source, page, exact=True)
        return
    data = output.get("data", {})
    text = output.get("text") or data.get("text/markdown") or data.get("text/plain", "")
    for number in NUMBER.findall("".join(text)):
        yield Known(float(number), f"printed {number}", page)

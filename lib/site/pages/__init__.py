"""What the pages take from the ledger, files of the book and tables in `book/quality/`.

A page is written by hand, in MyST: `book/NAME.md`. Where `{{ NAME.word }}` stands, the site shows
what the page's function here returns as `word`: a number, a table, a list of sections.
"""

from lib.site import citing, coverage, library
from lib.site.book import Book
from lib.site.pages import course, front, ledger, margins, tested

FILE = "BOOK_SUBSTITUTIONS"  # names the file in which `lib build` hands them to Jupyter Book
FUNCTIONS = {
    "index": front.front,
    "what_replicates": ledger.what_replicates,
    "margins": margins.margins,
    "cite": citing.cite,
    "course": course.course,
    "syllabus": course.syllabus,
    "library": library.overview,
    "where": coverage.where,
    "tested": tested.tested,
}


def substitutions(book: Book) -> dict[str, dict[str, str]]:
    """Return by page what it takes, for the pages that `_toc.yml` names.

    Raises
    ------
    ValueError
        If a table is missing or not whole.
    """
    names = [page.removeprefix("book/") for page in book.pages]
    return {name: FUNCTIONS[name](book) for name in names if name in FUNCTIONS}

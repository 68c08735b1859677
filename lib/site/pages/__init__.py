"""What the pages take from the ledger, from files of the book and from what commands measured and kept in `book/quality/`.

A page is written by hand, in MyST: `book/NAME.md`. Where `{{ NAME.word }}` stands, the site shows what the page's function here
returns as `word`: a number, a table, a list of sections.
"""

from collections.abc import Callable
from pathlib import Path

from lib.site import citing, coverage, toc
from lib.site.pages import course, front, ledger, margins, tested

Words = dict[str, str]

FROM_CLAIMS: dict[str, Callable[[Path, list[dict]], Words]] = {
    "index": front.front,
    "what_replicates": ledger.what_replicates,
    "margins": margins.margins,
    "cite": citing.cite,
}
FROM_FILES: dict[str, Callable[[Path], Words]] = {
    "course": course.course,
    "syllabus": course.syllabus,
    "where": coverage.where,
    "tested": tested.tested,
}


def substitutions(root: Path, records: list[dict]) -> dict[str, Words]:
    """Return by page what it takes, for the pages that `_toc.yml` names.

    Raises
    ------
    ValueError
        If a table is missing or not whole.
    """
    named = [Path(page).name for page in toc.pages(root)]
    from_claims = {name: FROM_CLAIMS[name](root, records) for name in named if name in FROM_CLAIMS}
    return from_claims | {name: FROM_FILES[name](root) for name in named if name in FROM_FILES}

"""Plans, slides and labs: what is shown has its place in the 90 minutes, in the same order."""

import re
from pathlib import Path

import pytest

from lib.site import citing, handouts
from lib.site.book import Book

BOOK = Book(Path(__file__).parents[1])
ROW = re.compile(r"^\| \d+ \|.+", re.MULTILINE)
NAMED = re.compile(r"\{\w+\}`(?:[^`<]*<)?([\w-]+)>?`")
SHOWN = re.compile(r"^!\[\]\(#([\w-]+)\)", re.MULTILINE)
each_chapter = pytest.mark.parametrize("chapter", BOOK.chapters)


def timed(chapter):
    """Return the names in each row of a plan's table, and those of what there may be time for."""
    plan = BOOK.text(f"{chapter}/plan")
    spare = re.search(r"^If time permits: .+", plan, re.MULTILINE)
    rows = [NAMED.findall(row) for row in ROW.findall(plan)]
    return rows, NAMED.findall(spare[0] if spare else "")


def slides(chapter):
    """Return the title and the names of what is shown, of each slide but the last."""
    for slide in BOOK.text(f"{chapter}/slides").split("\n## ")[1:-1]:
        yield slide.split("\n")[0], SHOWN.findall(slide)


@each_chapter
def test_each_slide_has_its_place_in_the_plan(chapter):
    rows, spare = timed(chapter)
    now = 0
    for title, names in slides(chapter):
        if not names or set(names) & set(spare):
            continue
        later = [n for n in range(now, len(rows)) if set(names) & set(rows[n])]
        assert later, f"“{title}” is in no row of the plan after row {now + 1}"
        now = later[0]


@each_chapter
def test_what_a_plan_shows_is_on_a_slide(chapter):
    shown = {name for _, names in slides(chapter) for name in names}
    linked = set(re.findall(r"\]\(#([\w-]+)\)", BOOK.text(f"{chapter}/slides")))
    rows, spare = timed(chapter)
    assert set(spare) <= shown
    assert {name for row in rows for name in row} <= shown | linked


@each_chapter
def test_a_lab_says_where_its_functions_come_from(chapter):
    about, *cells = (cell.source for cell in handouts.lab(BOOK, chapter, solved=False).cells)
    assert about.endswith(citing.notice(BOOK))
    assert f"`make lab NAME={chapter}`" in about and BOOK.title(chapter) in about
    assert all("print(" in cell for cell in cells if "plt.show()" in cell)  # as it promises

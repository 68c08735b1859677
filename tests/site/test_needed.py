"""Which earlier statements a cell needs, and what is run again after a reader's edits."""

import builtins
from pathlib import Path

import pytest

from lib.site import needed
from lib.site.book import Book

BOOK = Book(Path(__file__).parents[2])


def texts(*cells):
    """Return what the last cell needs in a new kernel."""
    *earlier, last = cells
    return [one.text for one in needed.Session(earlier).needed(len(earlier), last)]


@pytest.mark.parametrize(
    "cells, wanted",
    [
        (["a = 1", "b = 2", "print(a)"], ["a = 1"]),
        (["a = 1\nb = a + 1", "c = 3", "b"], ["a = 1", "b = a + 1"]),
        (["a = 1", "a = 2", "a"], ["a = 2"]),
        (["a = 1", "a += 2", "a"], ["a = 1", "a += 2"]),
        (["a = []\na.append(1)\nb = len(a)", "a"], ["a = []", "a.append(1)"]),
        (["a = 1", "if True:\n    a = 2", "a"], ["a = 1", "if True:\n    a = 2"]),
        (["a = 1", "a = 2\nprint(a)"], []),
        (["def f():\n    return w", "w = 1", "f()"], ["def f():\n    return w", "w = 1"]),
        (["import x\nx.use()\nx.show(1)", "x.show(2)", "1"], ["import x", "x.use()", "x.show(1)"]),
        (["%magic", "a = 1", "a"], ["a = 1"]),
        (["a = 1", "a = = 2"], []),
    ],
)
def test_a_cell_needs_what_gives_its_names_their_values(cells, wanted):
    assert texts(*cells) == wanted


def test_all_earlier_draws_are_needed_of_a_generator():
    start = "rng = default_rng(0)"
    function = "def draw():\n    return rng.normal()"
    cells = [start, function, "a = draw()", "b = rng.normal()", "c = 3"]
    assert texts(*cells, "print(rng.normal())") == cells[:4]
    assert texts(*cells, "print(draw())") == cells[:4]
    assert texts(*cells, "a") == cells[:3]


class Reader:
    """A reader who runs cells of a notebook, and a kernel."""

    def __init__(self, *cells):
        self.cells = cells
        self.session = needed.Session(cells)
        self.values = {"log": []}

    def run(self, number, source=None):
        """Run a cell; return the statements that were run before it."""
        source = source or self.cells[number]
        before = self.session.needed(number, source)
        exec("\n".join(one.text for one in before), self.values)
        self.session.note(before)
        exec(source, self.values)
        self.session.enter(number, source)
        return [one.text for one in before]


def test_nothing_is_run_twice_without_need():
    reader = Reader("a = 1", "b = a + 1", "c = b", "d = b")
    assert reader.run(2) == ["a = 1", "b = a + 1"]
    assert reader.run(3) == []
    assert reader.run(2) == []


def test_an_edit_holds_and_reaches_what_depends_on_it():
    reader = Reader("a = 1\nlog.append('a')", "b = a + 1", "c = b", "d = 7")
    reader.run(2)
    reader.run(0, "a = 10")
    assert reader.run(2) == ["b = a + 1"]
    assert reader.values["c"] == 11
    assert reader.run(3) == []
    assert reader.values["a"] == 10


def test_what_a_later_cell_has_overwritten_is_computed_again():
    reader = Reader("w = 1", "v = w", "w = 2")
    reader.run(2)
    assert reader.run(1) == ["w = 1"]
    reader.run(2)
    assert reader.run(1) == ["w = 1"]
    assert reader.values["v"] == 1


def test_a_cell_that_changes_its_input_gives_the_same_again():
    reader = Reader("w = 1", "w += 1", "x = w")
    reader.run(1)
    reader.run(1)
    assert reader.values["w"] == 2
    reader.run(2)
    assert reader.values["x"] == 2


def test_what_is_no_python_leaves_the_last_edit():
    reader = Reader("a = 1", "b = a")
    reader.run(0, "a = 5")
    reader.session.enter(0, "a = = 5")
    assert reader.run(1) == []
    assert reader.values["b"] == 5


@pytest.mark.parametrize("name", BOOK.notebooks)
def test_each_cell_finds_its_names_in_what_it_needs(name):
    cells = ["".join(c["source"]) for c in BOOK.notebook(name)["cells"] if c["cell_type"] == "code"]
    everything = needed.statements(cells)
    assert len(everything) > len(cells)
    for number in range(len(cells)):
        earlier = [one for one in everything if one.place[0] < number]
        cell = [one for one in everything if one.place[0] == number]
        chosen = needed.needed(earlier, cell)
        compile("\n".join(one.text for one in chosen), name, "exec")
        taken = {one for part in [*chosen, *cell] for one in part.taken}
        given = {one for part in [*chosen, *cell] for one in part.given}
        assert taken <= given | {*dir(builtins), "__file__"}, cells[number]

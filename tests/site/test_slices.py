"""Which runs the cells of a notebook load, and which cells depend on a run."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from lib.site import slices

LOADS = 'found = runs.load("small/run")'


def notebook(*sources):
    return new_notebook(cells=[new_code_cell(source) for source in sources])


def dependent(*sources):
    """Number the cells that depend on small/run."""
    page = notebook(*sources)
    cells = [cell for cell, _ in slices.dependent(page, ["small/run"])]
    return [number for number, cell in enumerate(page.cells) if any(cell is one for one in cells)]


def test_runs_are_named_once_and_in_order():
    page = notebook('b = runs.load("small/b")', 'a, b = runs.load("small/a"), runs.load("small/b")')
    assert slices.loaded(page) == ["small/b", "small/a"]


def test_text_and_what_is_no_python_load_nothing():
    page = notebook("%timeit 1")
    page.cells.append(new_markdown_cell(LOADS))
    assert slices.loaded(page) == []
    assert slices.dependent(page, ["small/run"]) == []


def test_a_cell_says_on_which_runs_it_depends():
    page = notebook('a = runs.load("small/a")', 'b = runs.load("small/b")', "print(a + b)")
    (*_, (cell, behind)) = slices.dependent(page, ["small/a", "small/b"])
    assert cell is page.cells[2]
    assert behind == {"small/a", "small/b"}


LOCAL = LOADS + "\nshown = [x for x in found]\ndef show(y):\n    z = y\n    return z"


@pytest.mark.parametrize(
    "sources, numbers",
    [
        (['found = runs.load("small/other")', "print(found)"], []),
        ([LOADS, "mean = found.mean()", "print(mean)", "print(1)"], [0, 1, 2]),
        ([LOADS, "def last():\n    return found[-1]", "print(last())"], [0, 1, 2]),
        ([LOADS, "x = found", "x = 1", "print(x)"], [0, 1]),
        ([LOADS, "x = found", "x = x + 1", "print(x)"], [0, 1, 2, 3]),
        ([LOADS, "x = found", "if chance:\n    x = 1\nprint(x)"], [0, 1, 2]),
        ([LOADS, "x = found", "for _ in y:\n    if _:\n        x = 1\nprint(x)"], [0, 1, 2]),
        ([LOCAL, "print(x, y, z)", "print(shown)"], [0, 2]),
        (["from lib import claims", LOADS + "\nclaims.check(found)", "claims.table()"], [1]),
    ],
)
def test_a_cell_depends_on_what_its_names_depend_on(sources, numbers):
    assert dependent(*sources) == numbers


@pytest.mark.parametrize(
    "change", ["table['a'] = found", "table.a = found", "table.append(found)", "table += found"]
)
def test_a_name_that_is_changed_depends_on_the_change(change):
    assert dependent(LOADS, "table = []", change, "print(table)") == [0, 2, 3]


@pytest.mark.parametrize(
    "own",
    [
        "x = 1\nprint(x)",
        "for x in range(3):\n    print(x)",
        "print([x for x in range(3)])",
        "print((lambda x: x + 1)(1))",
        "def double(x):\n    return 2 * x",
        "with open('a') as x:\n    print(x)",
    ],
)
def test_a_name_of_the_cells_own_is_another_one(own):
    assert dependent(LOADS, "x = found", own) == [0, 1]


def test_skipped_cells_are_tagged_and_say_what_is_missing():
    page = notebook("import runs", LOADS)
    slices.skip(page, {"small/run": "1 of 3 cases"})
    assert "tags" not in page.cells[0].metadata
    assert page.cells[1].metadata["tags"] == ["skip-execution", "nbval-skip"]
    assert page.cells[1].metadata["incomplete"] == "small/run: 1 of 3 cases"

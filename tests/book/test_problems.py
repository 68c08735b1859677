"""Problem sets: a student's notebook without the solution, a teacher's one with it."""

import nbformat
import pytest
import small_book

from lib.__main__ import main
from lib.book import problems

EXERCISES = r"""
$$
a = b
$$ (eq-one-other)

$$
\dot w = -w
$$ (eq-one-flow)

```{exercise} Why $\delta$?
:label: one-ex-why
:class: problem

*Hard.* Solve {eq}`eq-one-flow`, see {ref}`the text <one-place>` and {doc}`two`.
```
"""
SOLUTIONS = '''\
---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {name: python3, display_name: Python 3, language: python}
---

# Solutions

```{code-cell} ipython3
import math
```

## one-ex-why

Since it decays.

**Rubric.**

- 3 points: the exponential
- 1 point (checked): a number

```{code-cell} ipython3
:tags: [answer]

def path(t):
    """Return w."""
    ### BEGIN SOLUTION
    return math.exp(-t)
    ### END SOLUTION
```

```{code-cell} ipython3
:tags: [check]

assert abs(path(1) - 0.3679) < 1e-3
```
'''


@pytest.fixture
def root(tmp_path):
    root = small_book.write(tmp_path)
    place = root / "book" / "one.md"
    place.write_text(place.read_text(encoding="utf-8") + EXERCISES)
    (root / "book" / "problems").mkdir()
    spoil(root, "", "")
    return root


def spoil(root, old, new):
    (root / "book" / "problems" / "one.md").write_text(SOLUTIONS.replace(old, new))


def execute(notebook):
    """Run the code of a notebook; return the names of the cells that fail."""
    space, failed = {}, []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            try:
                exec(cell.source, space)
            except Exception:
                failed.append(cell.id)
    return failed


def test_the_solution_passes_its_checks_and_the_stub_fails_them(root):
    assert execute(problems.notebook(root, "one", solved=True)) == []
    assert execute(problems.notebook(root, "one", solved=False)) == ["one-ex-why-check"]


def test_a_student_gets_no_solution(root):
    text = nbformat.writes(problems.notebook(root, "one", solved=False))
    assert "exp" not in text.replace("exponential", "") and "decays" not in text
    assert "YOUR ANSWER HERE" in text and "raise NotImplementedError()" in text and "Return w." in text


def test_cells_say_to_nbgrader_what_they_are(root):
    cells = {cell.id: cell for cell in problems.notebook(root, "one", solved=False).cells}
    facts = {name.removeprefix("one-ex-why-"): cell.metadata["nbgrader"] for name, cell in cells.items()}
    assert {name for name, one in facts.items() if one["solution"]} == {"words", "answer"}
    assert {name: one["points"] for name, one in facts.items() if one["grade"]} == {"words": 3, "check": 1}
    assert {name for name, one in facts.items() if not one["locked"]} == {"words", "answer"}
    assert all(one["grade_id"] == cells_name for one, cells_name in zip(facts.values(), cells, strict=True))


def test_a_question_is_whole_without_the_book(root):
    asked = problems.question(root, "one", "one-ex-why")
    assert asked.startswith("## Why δ?\n\n*Hard.* Solve (A), see the text and two.")
    assert "Equation (A) of the chapter:\n\n$$\n\\dot w = -w\n$$" in asked


def test_sets_are_written_for_chapters_that_have_one(root, tmp_path):
    assert problems.write(root, tmp_path / "out", solved=False) == [tmp_path / "out" / "one.ipynb"]
    spoil(root, "[check]", "[other]")
    assert problems.write(root, tmp_path / "none", solved=False) == []


def test_the_command_keeps_solutions_in_a_folder_of_their_own(root, monkeypatch, capsys):
    monkeypatch.chdir(root)
    assert main(["course"]) == 0
    assert capsys.readouterr().out == "_build/course/one.ipynb\n_build/solutions/one.ipynb\n"
    without, whole = ((root / "_build" / name / "one.ipynb").read_text() for name in ("course", "solutions"))
    assert "math.exp" not in without and "math.exp" in whole


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("[answer]", "[other]", "want words, then one cell tagged answer and one tagged check"),
        ("- 1 point (checked)", "- one point", r"want \*\*Rubric"),
        ("**Rubric.**", "Rubric", r"want \*\*Rubric"),
        ("### BEGIN", "### START", "BEGIN SOLUTION in the answer"),
        ("one-ex-why", "one-ex-lost", "has no problem one-ex-lost"),
    ],
)
def test_what_a_problem_lacks_is_said(root, old, new, said):
    spoil(root, old, new)
    with pytest.raises(ValueError, match=said):
        problems.notebook(root, "one", solved=True)


def test_an_equation_that_is_not_in_the_chapter_is_named(root):
    place = root / "book" / "one.md"
    place.write_text(place.read_text(encoding="utf-8").replace("(eq-one-flow)", "(eq-one-else)"))
    with pytest.raises(ValueError, match=r"book/one\.md has no equation eq-one-flow"):
        problems.question(root, "one", "one-ex-why")

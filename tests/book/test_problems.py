"""Problem sets: a student's notebook without the solution, a teacher's one with it."""

import pytest
import small_book

from lib.__main__ import main
from lib.book import problems
from lib.book.myst import References

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


def test_cells_say_to_nbgrader_what_they_are(root):
    cells = {cell.id: cell for cell in problems.notebook(References(root), "one", solved=False).cells}
    facts = {name.removeprefix("one-ex-why-"): cell.metadata["nbgrader"] for name, cell in cells.items()}
    assert {name for name, one in facts.items() if one["solution"]} == {"words", "answer"}
    assert {name: one["points"] for name, one in facts.items() if one["grade"]} == {"words": 3, "check": 1}
    assert {name for name, one in facts.items() if not one["locked"]} == {"words", "answer"}
    assert all(one["grade_id"] == cells_name for one, cells_name in zip(facts.values(), cells, strict=True))


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
        problems.notebook(References(root), "one", solved=True)


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("(eq-one-flow)", "(eq-one-else)", "no chapter has an equation, a figure, a section or an exercise eq-one-flow"),
        ("{ref}", "{term}", "no words for the role term"),
        ("*Hard.*", "~~~{tab-set}\n~~~", "no words for the directive tab-set"),
        ("*Hard.*", "{cite:t}`nobody`", "references.bib has no entry nobody"),
    ],
)
def test_what_jupyter_cannot_be_shown_is_named(root, old, new, said):
    place = root / "book" / "one.md"
    place.write_text(place.read_text(encoding="utf-8").replace(old, new))
    with pytest.raises(ValueError, match=said):
        problems.question(References(root), "one", "one-ex-why")

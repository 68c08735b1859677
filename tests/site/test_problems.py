"""Problem sets, of a small chapter: the files, what nbgrader is told, and mistakes by name."""

import shutil
from pathlib import Path

import pytest
import small_book

from lib.__main__ import main
from lib.site import problems
from lib.site.book import Book
from lib.site.myst import References
from lib.site.shown import Part

EXERCISE = """
```{exercise} Two steps
:label: one-ex-two
:class: problem

*Medium.* Two weights have the curvatures 1 and 10. Choose two learning rates so that both errors vanish after two steps.
```
"""
SOLUTION = f"""{small_book.HEADER}

# Solutions

## one-ex-two

The first rate ends the first error, the second the other.

**Rubric.**

- 3 points: what a step does to each error
- 2 points (checked): two rates that do it

```{{code-cell}} ipython3
:tags: [answer]

### BEGIN SOLUTION
rates = [1.0, 0.1]
### END SOLUTION
```

```{{code-cell}} ipython3
:tags: [check]

assert len(rates) == 2
```
"""


def references(root):
    number = '<p class="admonition-title"><span class="caption-number">Exercise 1.1 </span></p>'
    return References(Book(root), {"one-ex-two": Part("book/one", "one-ex-two", number)})


@pytest.fixture
def root(tmp_path):
    root = small_book.write(tmp_path)
    (root / "book" / "one").mkdir()
    with (root / "book" / "one.md").open("a", encoding="utf-8") as lesson:
        lesson.write(EXERCISE)
    (root / "book" / "one" / "problems.md").write_text(SOLUTION)
    (root / "book" / "references.bib").touch()
    shutil.copy(Path(__file__).parents[2] / "CITATION.cff", root)
    return root


def test_cells_say_to_nbgrader_what_they_are(root):
    cells = {
        cell.id: cell.metadata["nbgrader"]
        for cell in problems.notebook(references(root), "one", solved=False).cells
    }
    assert {name: one["points"] for name, one in cells.items() if one["grade"]} == {
        "one-ex-two-words": 3,
        "one-ex-two-check": 2,
    }
    for fact, wanted in (("solution", True), ("locked", False)):
        assert [name for name, one in cells.items() if one[fact] == wanted] == [
            "one-ex-two-words",
            "one-ex-two-answer",
        ]
    assert all(one["grade_id"] == name for name, one in cells.items())


def test_the_command_keeps_solutions_in_a_folder_of_their_own(root, monkeypatch, capsys):
    monkeypatch.chdir(root)
    built = root / "_build" / "html" / "book"
    built.mkdir(parents=True)
    for name in small_book.CHAPTERS:
        (built / f"{name}.html").write_text("<article></article>")
    assert main(["course"]) == 0
    assert (
        capsys.readouterr().out
        == "_build/course/problems/one.ipynb\n_build/solutions/problems/one.ipynb\n"
    )
    without, whole = (
        (root / "_build" / name / "problems/one.ipynb").read_text()
        for name in ("course", "solutions")
    )
    assert "rates = [1.0, 0.1]" not in without and "rates = [1.0, 0.1]" in whole


@pytest.mark.parametrize(
    "place, old, new, said",
    [
        (
            "one/problems",
            "[answer]",
            "[other]",
            "want words, then one cell tagged answer and one tagged check",
        ),
        ("one/problems", "- 2 points (checked)", "- two points", r"want \*\*Rubric"),
        ("one/problems", "**Rubric.**", "Rubric", r"want \*\*Rubric"),
        ("one/problems", "### BEGIN", "### START", "BEGIN SOLUTION in the answer"),
        ("one/problems", "one-ex-two", "one-ex-lost", "has no problem one-ex-lost"),
        (
            "one",
            "*Medium.* Two",
            "See {eq}`eq-lost`. Two",
            "no chapter has an equation, .* named eq-lost",
        ),
        ("one", "*Medium.* Two", "{cite:t}`nobody`. Two", "no words for {cite:t}`nobody`"),
        ("one", "*Medium.* Two", "~~~{tab-set}\n~~~\nTwo", "no words for {tab-set}"),
    ],
)
def test_what_a_problem_lacks_is_said(root, place, old, new, said):
    path = root / "book" / f"{place}.md"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ValueError, match=said):
        problems.notebook(references(root), "one", solved=True)

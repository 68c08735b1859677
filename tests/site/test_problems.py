"""Problem sets, of a small chapter: the files, what nbgrader is told, and mistakes by name."""

import re
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
NUMBERS = """\
```{code-cell} ipython3
:tags: [numbers]

# In your set: the curvatures are 1 and STIFF.
STIFF = 10
BOTH = [1.0, 0.1]
# or 20; [1.0, 0.05]
# or 5; [1.0, 0.2]
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


@pytest.fixture
def numbered(root):
    """The book, with names for the numbers of its problem."""
    path = root / "book" / "one" / "problems.md"
    answer = SOLUTION.index("```{code-cell} ipython3\n:tags: [answer]")
    named = SOLUTION[answer:].replace("[1.0, 0.1]", "BOTH")
    check = "assert len(rates) == 2\nassert STIFF * rates[1] == 1"
    path.write_text(SOLUTION[:answer] + NUMBERS + named.replace("assert len(rates) == 2", check))
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


@pytest.fixture
def course(root, monkeypatch):
    """Call the command; return the set without solutions, and with them."""
    monkeypatch.chdir(root)
    built = root / "_build" / "html" / "book"
    built.mkdir(parents=True)
    for name in small_book.CHAPTERS:
        (built / f"{name}.html").write_text("<article></article>")

    def course(*options):
        assert main(["course", *options]) == 0
        return [
            (root / "_build" / name / "problems/one.ipynb").read_text()
            for name in ("course", "solutions")
        ]

    return course


def test_the_command_keeps_solutions_in_a_folder_of_their_own(course, capsys):
    without, whole = course()
    assert (
        capsys.readouterr().out
        == "_build/course/problems/one.ipynb\n_build/solutions/problems/one.ipynb\n"
    )
    assert "rates = [1.0, 0.1]" not in without and "rates = [1.0, 0.1]" in whole


def test_the_command_takes_a_key(numbered, course):
    assert course() == course() != course("--key", "17") == course("--key", "17")
    assert course("--key", "17") != course("--key", "18")


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


def test_without_a_key_numbers_are_those_of_the_book(numbered):
    written = [problems.notebook(references(numbered), "one", solved) for solved in (False, True)]
    path = numbered / "book" / "one" / "problems.md"
    path.write_text(SOLUTION.replace("== 2", "== 2\nassert 10 * rates[1] == 1"))
    for notebook, solved in zip(written, (False, True), strict=True):
        assert notebook == problems.notebook(references(numbered), "one", solved)


@pytest.mark.parametrize("key, stiff, rates", [(0, 20, 0.05), (1, 5, 0.2), (2, 20, 0.05)])
def test_a_key_puts_a_version_in_all_cells(numbered, key, stiff, rates):
    given, whole = (
        {
            cell.id.removeprefix("one-ex-two-"): cell.source
            for cell in problems.notebook(references(numbered), "one", solved, key).cells
        }
        for solved in (False, True)
    )
    told = f"**In your set:** the curvatures are 1 and {stiff}."
    for cells in (given, whole):
        assert told in cells["question"] and "curvatures 1 and 10" in cells["question"]
        assert cells["check"].endswith(f"assert {stiff} * rates[1] == 1")
    assert f"rates = [1.0, {rates}]" in whole["answer"] and str(rates) not in str(given)
    assert f"This set has others, those of key\n> {key}, " in whole["words"]
    assert not [name for name in ("STIFF", "BOTH") if name in str(given) + str(whole)]


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("# In your set: ", "# ", "want `# In your set: …`, then lines"),
        ("STIFF = 10\n", "", "want 1 values in each line"),
        ("; [1.0, 0.2]", "", "want 2 values in each line"),
        ("# or 20", "# 20", "then `# or value; …`"),
        ("BOTH = ", "both = ", "then lines `NAME = value`"),
    ],
)
def test_numbers_that_cannot_be_read_are_refused(numbered, old, new, said):
    path = numbered / "book" / "one" / "problems.md"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ValueError, match=f"one/problems.md, one-ex-two: .*{re.escape(said)}"):
        problems.notebook(references(numbered), "one", solved=False)


@pytest.mark.parametrize("key", ["-1", "seven", "1.5", ""])
def test_a_key_is_a_whole_number(key, capsys):
    with pytest.raises(SystemExit):
        main(["course", "--key", key])
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith(f"argument --key: want a whole number of at least 0, not {key}")

"""What is handed out, as those who receive it read it: the problem
sets of all chapters, and the chapters for Jupyter.
"""

import ast
import re
from pathlib import Path

import nbformat
import pytest
from handed_out import markup, words
from nbclient import NotebookClient

from lib.site import citing, handouts, problems, shown
from lib.site.book import Book
from lib.site.myst import References

BOOK = Book(Path(__file__).parents[2])
pytestmark = pytest.mark.slow
PROBLEM = re.compile(
    r"^```\{exercise\} (.+)\n:label: (\S+)\n:class: problem\n\n((?:(?!```).*\n)+)```$", re.MULTILINE
)
SOLUTIONS = (
    re.compile(
        r"^````\{solution-start\}[^\n]+\n:class: dropdown\n````\n(.*?)^````\{solution-end\}",
        re.M | re.S,
    ),
    re.compile(r"^```\{solution\}[^\n]+\n:class: dropdown\n(.*?)^```$", re.M | re.S),
)
each_chapter = pytest.mark.parametrize("chapter", BOOK.chapters)


@pytest.fixture(scope="module")
def references(site):
    return References(BOOK, shown.read(BOOK, site))


@each_chapter
def test_a_set_asks_the_problems_of_its_chapter(chapter, references):
    written = problems.notebook(references, chapter, solved=True)
    assert not markup(words(written))
    asked = {cell.id: cell.source for cell in written.cells}
    points = {cell.id: cell.metadata["nbgrader"].get("points") for cell in written.cells}
    found = PROBLEM.findall(BOOK.text(chapter))
    assert [f"{label}-question" for _, label, _ in found] == [
        name for name in asked if name.endswith("-question")
    ]
    for title, label, text in found:
        question = asked[f"{label}-question"]
        assert question.startswith(f"## {title}\n\n*")
        assert all(part.strip() in question for part in re.split(r"\{\w+\}`[^`]+`", text))
        assert all(
            f"Equation {references.number(name)} of" in question
            for name in re.findall(r"\{eq\}`([^`]+)`", text)
        )
        worth = points[f"{label}-words"], points[f"{label}-check"]
        assert question.endswith(
            f"**{sum(worth)} points**: {worth[0]} for the words, {worth[1]} for the check."
        )


@each_chapter
def test_a_student_reads_no_solution(chapter, references):
    given = (
        nbformat.writes(problems.notebook(references, chapter, solved=False))
        .replace('\\"', '"')
        .replace("\\\\", "\\")
    )
    source = BOOK.text(f"{chapter}/problems")
    model = re.findall(r"^## \S+\n(.*?)^```", source, re.MULTILINE | re.DOTALL)
    code = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", source, re.DOTALL)
    secret = "".join(
        [
            *model,
            *code,
            *(text for pattern in SOLUTIONS for text in pattern.findall(BOOK.text(chapter))),
        ]
    )
    lines = [
        line for line in map(str.strip, secret.replace("- ", "").split("\n")) if len(line) > 40
    ]
    assert len(lines) > 10
    assert not [line for line in lines if line in given]


@each_chapter
def test_a_key_changes_numbers_and_nothing_else(chapter, references):
    book, first, second = (
        problems.notebook(references, chapter, True, key) for key in (None, 0, 1)
    )
    assert first == problems.notebook(references, chapter, True, 0)
    assert not markup(words(first)) and not markup(words(second))
    changed = set()
    for own, one, other in zip(book.cells, first.cells, second.cells, strict=True):
        assert own.id == one.id == other.id and own.metadata == one.metadata
        if own.source != one.source:
            assert one.source != other.source != own.source
            changed.add(own.id.rpartition("-")[2])
    assert changed == {"question", "words", "answer", "check"}
    for cell in problems.notebook(references, chapter, False, 0).cells:
        assert "### BEGIN SOLUTION" not in cell.source and "This set has others" not in cell.source


def test_two_thirds_of_the_points_are_for_written_answers(references):
    cells = [
        cell
        for chapter in BOOK.chapters
        for cell in problems.notebook(references, chapter, solved=False).cells
    ]
    words, checked = (
        sum(cell.metadata.nbgrader.points for cell in cells if cell.id.endswith(kind))
        for kind in ("-words", "-check")
    )
    assert words / (words + checked) == pytest.approx(2 / 3, abs=0.05)
    guide = BOOK.text("course")
    assert "about\ntwo thirds of the points are for written answers" in guide


def test_the_answers_of_a_quiz_are_for_lecturers_only(references, tmp_path):
    assert not [
        path
        for path in handouts.write(references, tmp_path, solved=False)
        if path.parent.name == "quiz"
    ]
    assert len(handouts.write(references, tmp_path, solved=True)) == 3 * len(BOOK.chapters)
    for chapter in BOOK.chapters:
        plan = BOOK.text(f"{chapter}/plan")
        blocks = BOOK.text(f"{chapter}/quiz").split("\n\n")[1:]
        questions, answers = [question.strip("*") for question in blocks[::2]], blocks[1::2]
        assert len(questions) >= 4 and all(f"\n{question}\n" in plan for question in questions)
        assert not [answer for answer in answers if answer.strip() in plan]
        assert not markup((tmp_path / "quiz" / f"{chapter}.md").read_text(encoding="utf-8"))


@each_chapter
def test_a_student_is_told_the_names_of_a_check(chapter, references):
    given, whole = (
        {cell.id: cell.source for cell in problems.notebook(references, chapter, one).cells}
        for one in (False, True)
    )
    for name in (name for name in whole if name.endswith("-answer")):
        check = given[name.replace("-answer", "-check")]
        wanted = names(check, ast.Load) - names(check, ast.Store)
        assert wanted & names(whole[name], ast.Store) <= set(re.findall(r"\w+", given[name]))


def test_each_notebook_says_under_which_licences_it_is(references, tmp_path):
    handouts.write_chapters(references, tmp_path)
    chapters = [*tmp_path.rglob("*.ipynb")]
    assert len(chapters) == len(BOOK.notebooks)
    for path in [*handouts.write(references, tmp_path / "out", solved=False), *chapters]:
        cells = nbformat.read(path, as_version=4).cells
        assert any(citing.notice(BOOK) in cell.source for cell in cells), path


def names(code, context):
    """Return the names that code takes, or those that it gives."""
    found = {
        node.id
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }
    return found | {
        node.name
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef) and context is ast.Store
    }


@each_chapter
def test_solutions_of_a_problem_set_pass_its_checks(chapter, references):
    for solved in (True, False):
        written = problems.notebook(references, chapter, solved)
        NotebookClient(
            written,
            allow_errors=True,
            kernel_name="python3",
            resources={"metadata": {"path": BOOK.root}},
        ).execute()
        code = {cell.id: cell for cell in written.cells if cell.cell_type == "code"}
        failed = {
            name
            for name, cell in code.items()
            if any(output.output_type == "error" for output in cell.outputs)
        }
        checks = {name for name in code if name.endswith("-check")}
        assert len(checks) >= 2
        assert not failed if solved else checks <= failed

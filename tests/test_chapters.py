"""The book against its rules: sources, committed notebooks,
claims, figures, exercises and the files around them.
"""

import ast
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import nbformat
import pytest

from lib import claims, provenance, runs
from lib.fingerprint import from_outside
from lib.runs.run import stored
from lib.site import coverage, execute, findings, handouts, myst, pages, slices
from lib.site.book import MATERIALS, Book
from lib.site.ledger import records
from lib.site.pages import course, margins

ROOT = Path(__file__).parents[1]
LEAST_EXERCISES, MOST_BYTES, COLUMNS = 4, 1_500_000, 99
GRADES = ("Easy", "Medium", "Hard", "Research level")
MOST_LINES, CLAIMS = 1000, range(6, 11)  # of a lesson
OPEN_LINES = range(60, 121)  # of its code that is not folded
# the beginning of a path that exists on one machine only
MACHINE = r"(?<![\w.~])/(?:root|home|work|Users)/"
SCRATCH = r"(?<![\w.~])/(?:tmp)/"
OPENING_WORDS, OPENING_LINKS = 300, 12
LAB_SOLUTION = r'### BEGIN SOLUTION\n(.*?)### END SOLUTION|"answer"\]\}\n(.*?)\n(?:\+\+\+|\Z)'

BOOK = Book(ROOT)
NOTEBOOKS = BOOK.notebooks

each_chapter = pytest.mark.parametrize("chapter", BOOK.chapters)
each_notebook = pytest.mark.parametrize("chapter", NOTEBOOKS)
LESSONS = [name for name in BOOK.chapters if f"{name}/evidence" in NOTEBOOKS]
each_lesson = pytest.mark.parametrize("chapter", LESSONS)


source = BOOK.text


@cache
def notebook(chapter):
    return nbformat.read(ROOT / "book" / f"{chapter}.ipynb", as_version=4)


def tags(cell):
    return cell.metadata.get("tags", [])


def code_cells(chapter):
    return [cell for cell in notebook(chapter).cells if cell.cell_type == "code"]


def outputs(chapter):
    return [output for cell in code_cells(chapter) for output in cell.outputs]


@cache
def ledger(chapter):
    return list(claims.collect(notebook(chapter)))


def label(record):
    return record["id"].replace("/", "-")


def images(cell):
    return [
        mime
        for output in cell.outputs
        for mime in output.get("data", {})
        if mime.startswith("image/")
    ]


def moving_figures(cell):
    """List the figures with a slider; their alt text is in the HTML, where myst-nb puts none."""
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in cell.outputs]
    return [page for page in pages if page.startswith('<div class="moving">')]


PAGES = sorted([*ROOT.glob("book/*.md"), *ROOT.glob("book/*/evidence.md")])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT / "book").as_posix())
def test_no_comment_is_left_in_the_text(path):
    code = r"^```(?:\{code-cell\}|\w).*\n[\s\S]*?^```$|`[^`\n]+`"
    text = re.sub(code, "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert not re.findall(r"<!--.*|^%.*", text, re.MULTILINE), "HTML or MyST comments"


@each_notebook
def test_no_link_s_words_hold_a_formula(chapter):
    """Sphinx leaves its dollars as they are."""
    assert re.findall(r"\{ref\}`[^`<]*\$[^`<]*<[^`]*`", BOOK.text(chapter)) == []


@each_notebook
def test_notebook_has_the_cells_of_its_source(chapter):
    def cells(nb):
        return [
            (cell.cell_type, cell.source, tags(cell), cell.metadata.get("mystnb"))
            for cell in nb.cells
            if "injected-parameters" not in tags(cell)
        ]

    assert cells(notebook(chapter)) == cells(execute.draft(BOOK, chapter))


@pytest.mark.parametrize("chapter", NOTEBOOKS)
def test_code_has_99_columns_and_the_layout_of_ruff(chapter, tmp_path):
    cells = [cell.source for cell in execute.draft(BOOK, chapter).cells if cell.cell_type == "code"]
    assert not [line for code in cells for line in code.split("\n") if len(line) > COLUMNS]
    for number, code in enumerate(cells):
        (tmp_path / f"cell_{number:03}.py").write_text(code + "\n", encoding="utf-8")
    options = [
        "--isolated",
        "--no-cache",
        "--diff",
        "--target-version",
        "py311",
        "--line-length",
        str(COLUMNS),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", *options, "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@each_notebook
def test_the_committed_run_is_default_ordered_and_small(chapter):
    counts = [cell.execution_count for cell in code_cells(chapter)]
    assert counts == list(range(1, len(counts) + 1))
    assert notebook(chapter).metadata.get("run") == execute.Settings()._asdict()
    assert (ROOT / "book" / f"{chapter}.ipynb").stat().st_size < MOST_BYTES


@each_notebook
def test_no_output_is_a_fault_or_names_this_machine(chapter):
    for output in outputs(chapter):
        assert output.output_type != "error", output.evalue
        assert output.get("name") != "stderr", output.text
        texts = [output.get("text", "")] + [
            text for mime, text in output.get("data", {}).items() if mime.startswith("text/")
        ]
        for text in texts:
            assert not re.search(f"{MACHINE}|{SCRATCH}", text), text


@each_notebook
def test_parameters_have_their_names_and_defaults(chapter):
    (cell,) = [cell for cell in execute.draft(BOOK, chapter).cells if "parameters" in tags(cell)]
    assert cell.source.split("\n") == ['profile = "quick"', 'device = "auto"', "seed = 0"]


class Program:
    """A page's code below its parameters; names are followed to what they mean in the library."""

    def __init__(self, chapter):
        self.notebook = execute.draft(BOOK, chapter)
        cells = [
            cell
            for cell in self.notebook.cells
            if cell.cell_type == "code" and "parameters" not in tags(cell)
        ]
        self.tree = ast.parse("\n".join(cell.source for cell in cells))
        self.nodes = list(ast.walk(self.tree))
        self.meanings = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in ("book", "lib"):
                exec(ast.unparse(node), self.meanings)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.meanings[node.targets[0].id] = self.meant(node.value)

    def meant(self, node):
        """Return what an expression names in the library, the class of what it makes, or None."""
        if isinstance(node, ast.Name):
            return self.meanings.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(self.meant(node.value), node.attr, None)
        if isinstance(node, ast.Call) and inspect.isclass(self.meant(node.func)):
            return self.meant(node.func)
        return None

    def calls(self):
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    def calls_of(self, function):
        return [call for call in self.calls() if self.meant(call.func) is function]

    def here(self):
        """Return the name of what `runs.at` returns."""
        (call,) = self.calls_of(runs.at)
        (assignment,) = [
            node for node in self.tree.body if isinstance(node, ast.Assign) and node.value is call
        ]
        return assignment.targets[0].id


program = cache(Program)


@each_notebook
def test_no_page_binds_an_imported_name_again(chapter):
    imports = [node for node in program(chapter).nodes if isinstance(node, ast.alias)]
    imported = {one.asname or one.name.split(".")[0] for one in imports}
    bound = set()
    for node in program(chapter).nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
    assert not imported & bound


@each_notebook
def test_a_page_says_once_where_it_is_and_uses_it(chapter):
    page = program(chapter)
    names = [node for node in page.nodes if isinstance(node, ast.Name) and node.id == page.here()]
    said = "want `here = runs.at(profile, device)` once, and here.device or here.choose(…) after it"
    assert [isinstance(node.ctx, ast.Store) for node in names].count(True) == 1 < len(names), said


@each_notebook
def test_profile_and_device_are_named_there_and_in_the_stamp(chapter):
    naming = [
        node
        for node in program(chapter).tree.body
        if from_outside(ast.unparse(node)) & {"profile", "device"}
    ]
    stamp = "provenance.stamp(profile, device, seed)"
    assert [ast.unparse(node) for node in naming] == [
        f"{program(chapter).here()} = runs.at(profile, device)",
        stamp,
    ]


@each_notebook
def test_a_page_loads_runs_by_names_that_can_be_read(chapter):
    page = program(chapter)
    calls = page.calls_of(runs.load)
    mentions = [node for node in page.nodes if page.meant(node) is runs.load]
    assert len(mentions) == len(calls)
    names = [node.value for call in calls for node in call.args if isinstance(node, ast.Constant)]
    assert len(names) == len(calls)
    assert set(names) == set(slices.loaded(page.notebook)) <= {run.name for run in runs.listed()}


def given_device(page, call):
    """Return what a call of a function of the library gives
    it as the device; "" if that takes none.
    """
    function = page.meant(call.func)
    ours = inspect.isroutine(function) and (function.__module__ or "").startswith(("book.", "lib."))
    if not ours or function in (runs.at, provenance.stamp):
        return ""
    parameters = inspect.signature(function)
    if "device" not in parameters.parameters:
        return ""
    arguments = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
    if "self" in parameters.parameters:
        arguments.insert(0, call.func)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    device = parameters.bind_partial(*arguments, **keywords).arguments.get(
        "device", ast.Name("nothing")
    )
    return ast.unparse(device)


@each_notebook
def test_whatever_takes_a_device_is_given_the_pages(chapter):
    page = program(chapter)
    wanted = f"{program(chapter).here()}.device"
    others = [
        ast.unparse(call) for call in page.calls() if given_device(page, call) not in ("", wanted)
    ]
    assert others == []


@each_notebook
def test_what_is_chosen_differs_between_the_profiles(chapter):
    name = f"{program(chapter).here()}.choose"
    choices = [call for call in program(chapter).calls() if ast.unparse(call.func) == name]
    for call in choices:
        scales = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert not call.args and set(scales) == {"quick", "paper"}
        assert scales["quick"] != scales["paper"]


@each_lesson
def test_a_lesson_is_short_with_few_checks(chapter):
    assert len(source(chapter).splitlines()) <= MOST_LINES, "lines"
    code = [cell.source for cell in code_cells(chapter)]
    lines = sum(len(cell.splitlines()) for cell in code)
    assert sum(len(cell.splitlines()) for cell in code if "claims.check(" in cell) < lines / 2, (
        "lines of cells with claims.check, and half of the code's"
    )


@each_lesson
def test_a_lesson_shows_its_experiments_and_has_few_claims(chapter):
    assert len(ledger(chapter)) in CLAIMS, "claims"
    assert "```{findings}" in source(chapter).split("\n## ")[0]
    teaching = source(chapter).split("\n## Exercises")[0]
    seen = []
    for cell in code_cells(chapter):
        folded = {"parameters", "hide-input"} & set(tags(cell)) or "claims.check(" in cell.source
        if cell.source in teaching and not folded and not images(cell) and not moving_figures(cell):
            seen.append(cell.source)
    assert 3 <= len(seen) <= 6, "cells without `hide-input` that draw nothing and check no claim"
    assert sum(len(cell.splitlines()) for cell in seen) in OPEN_LINES, "lines of these cells"
    assert all("assert " in cell for cell in seen), "what ties it to the library?"


@each_notebook
def test_a_page_has_no_two_functions_of_one_name(chapter):
    trees = [ast.parse(cell.source) for cell in code_cells(chapter)]
    names = [
        node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    ]
    assert [name for name, count in Counter(names).items() if count > 1] == []


@each_notebook
def test_arguments_do_not_depend_on_their_order(chapter):
    calls = [
        node
        for cell in code_cells(chapter)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Call)
    ]
    inside = [ast.unparse(value) for call in calls for value in (*call.args, *call.keywords)]
    assert [text for text in inside if ".pop(" in text] == []


@each_lesson
def test_a_lesson_leads_to_every_section_of_its_evidence_page(chapter):
    evidence = source(f"{chapter}/evidence")
    treated = {name for document in coverage.documents(BOOK) for name in document.minutes}
    assert ("```{coverage}" in evidence.split("\n## ")[0]) == (chapter in treated)
    for place, heading in re.findall(r"^(?:\(([\w-]+)\)=\n)?## (.+)$", evidence, re.MULTILINE):
        if heading == "Bounds that were set or changed after looking":
            continue  # the page of margins leads to it
        assert place and re.search(rf"`(?:[^`]*<)?{place}>?`|\(#{place}\)", source(chapter)), (
            heading
        )


def test_each_chapter_has_an_evidence_page():
    assert BOOK.chapters == LESSONS
    written = {f"{path.parent.name}/evidence" for path in ROOT.glob("book/*/evidence.md")}
    assert written == set(NOTEBOOKS) - set(BOOK.chapters)


@each_chapter
def test_a_chapter_s_folder_is_a_package_of_known_materials(chapter):
    """Without `__init__.py` import-linter does not see it,
    and nothing reads a text with another name.
    """
    folder = ROOT / "book" / chapter
    assert (folder / "__init__.py").is_file()
    assert {path.stem for path in folder.glob("*.md")} <= set(MATERIALS)
    assert {path.name for path in folder.glob("*.ipynb")} <= {"evidence.ipynb"}


def test_only_chapters_are_packages_of_the_book():
    assert sorted(path.parent.name for path in ROOT.glob("book/*/__init__.py")) == sorted(
        BOOK.chapters
    )


@pytest.mark.parametrize("document", coverage.documents(BOOK), ids=lambda document: document.name)
def test_what_a_table_of_coverage_names_is_there(document):
    known = {record["id"] for record in records(BOOK)}
    there = set(stored(ROOT / "book"))
    for item in document.items:
        assert set(item.claims) <= known and set(item.runs) <= there & {
            run.name for run in runs.listed()
        }, item.item
        assert not item.where or item.where in labels(), item.item
        assert bool(item.missing) != bool(item.claims or item.where), item.item
        assert bool(item.missing) != bool(item.follows), item.item
        assert (item.follows in ("", "text")) != bool(item.differs), item.item
        assert item.chapter in document.minutes and item.chapter in BOOK.chapters, item.item
    anchors = [coverage.anchor(document, item) for item in document.items]
    assert len(anchors) == len(set(anchors))


@each_notebook
def test_a_claim_is_its_own_target(chapter):
    places = re.findall(r"^\(([^()\n]+)\)=$", source(chapter), flags=re.MULTILINE)
    assert not {label(record) for record in ledger(chapter)} & set(places), "drop (chapter-name)="
    assert len(places) == len(set(places))


@each_chapter
def test_a_chapter_opens_with_a_picture_and_its_findings(chapter):
    opening = source(chapter).split("\n## ")[0].split("---\n", 2)[2]
    text = re.sub(r"^```\{code-cell\}.*?^```$", "", opening, flags=re.MULTILINE | re.DOTALL)
    assert re.search(r"^    name: fig-", opening, re.MULTILINE), "no figure"
    assert all(words in text for words in ("**You need**", "**You will be able to**", "minutes"))
    assert len(text.split()) <= OPENING_WORDS
    assert len(re.findall(r"\{(?:num)?ref\}`", text)) <= OPENING_LINKS


@each_lesson
def test_the_findings_of_a_lesson_can_be_written(chapter):
    found = re.search(r"^```\{findings\}\n(.*?)^```$", source(chapter), re.MULTILINE | re.DOTALL)
    assert findings.written(BOOK, found[1].splitlines()).startswith("1. **")


@each_notebook
def test_the_table_of_claims_repeats_the_claims(chapter):
    def parts(row):  # the order of rivals is the code's in one, the alphabet's in the other
        return sorted(re.split(r" \| |; ", row.strip("| ")))

    tables = [
        cell.outputs[0].data["text/markdown"]
        for cell in code_cells(chapter)
        if cell.source == "claims.table()"
    ]
    expected = [parts(row) for row in claims.as_table(ledger(chapter)).splitlines()]
    assert all([parts(row) for row in table.splitlines()] == expected for table in tables)


@each_notebook
def test_every_figure_has_caption_name_and_alt_text(chapter):
    for cell in code_cells(chapter):
        moving = moving_figures(cell)
        if images(cell) or moving:
            settings = cell.metadata.get("mystnb", {})
            figure, alt = settings.get("figure", {}), settings.get("image", {}).get("alt")
            described = (
                all(re.search(r'<svg [^>]*aria-label="[^"]+"', page) for page in moving)
                if moving
                else alt
            )
            assert figure.get("caption") and figure.get("name") and described, cell.source
            assert len(images(cell) + moving) == 1, (
                f"{figure['name']}: the name goes to one picture only"
            )


@each_notebook
def test_claims_have_the_name_of_their_chapter(chapter):
    assert ledger(chapter)
    assert [
        record["id"]
        for record in ledger(chapter)
        if not record["id"].startswith(f"{BOOK.chapter_of(chapter)}/")
    ] == []


def test_names_of_claims_and_figures_are_unique():
    figures = [
        cell.metadata.get("mystnb", {}).get("figure", {})
        for name in NOTEBOOKS
        for cell in code_cells(name)
    ]
    counts = Counter(
        [record["id"] for record in records(BOOK)]
        + [figure["name"] for figure in figures if "name" in figure]
    )
    assert not [name for name, count in counts.items() if count > 1]


@each_chapter
def test_exercises_go_from_easy_to_research_with_solutions(chapter):
    exercises = list(myst.exercises(BOOK, chapter))
    text = source(chapter)
    assert (
        len(exercises)
        == len(re.findall(r"^[`:]{3,}\{exercise\}", text, re.MULTILINE))
        >= LEAST_EXERCISES
    )
    labels = [exercise.options["label"] for exercise in exercises]
    unsolved = [exercise.options["label"] for exercise in exercises if "class" in exercise.options]
    solved = re.findall(
        r"^[`:]{3,}\{solution(?:-start)?\} (\S+)\n:class: dropdown", text, re.MULTILINE
    )
    assert sorted(solved + unsolved) == sorted(labels) and len(unsolved) >= 2
    grades = [course.grade(exercise) for exercise in exercises]
    assert grades == sorted(grades, key=GRADES.index) and "Hard" in grades
    assert (grades[0], grades[-1]) == ("Easy", "Research level")
    assert re.findall(r"^## (\S+)$", source(f"{chapter}/problems"), re.MULTILINE) == unsolved


@cache
def labels():
    """Name what the notebooks' equations, figures, sections,
    claims and exercises are called, to which links lead.
    """
    texts = "".join(source(chapter) for chapter in NOTEBOOKS)
    named = set(
        re.findall(r"^\$\$ \(([\w-]+)\)$|^:label: ([\w-]+)$|^\(([\w-]+)\)=$", texts, re.MULTILINE)
    )
    figures = {
        cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        for name in NOTEBOOKS
        for cell in code_cells(name)
    }
    return (
        {name for names in named for name in names}
        | figures
        | {label(record) for record in records(BOOK)}
    )


def test_the_primer_shows_what_its_code_prints_when_pasted():
    text = (ROOT / "book" / "primer.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text"] * 4
    pasted = "\n".join(code for kind, code in blocks if kind == "python")
    environment = os.environ | {"PYTHONPATH": "", "PYTHON_BASIC_REPL": "1"}
    session = [sys.executable, "-q", "-i"]
    done = subprocess.run(session, input=pasted, env=environment, capture_output=True, text=True)
    assert "Error" not in done.stderr
    assert done.stdout == "".join(shown for kind, shown in blocks if kind == "text")
    assert all("{doc}`primer`" in source(chapter) for chapter in BOOK.chapters)


def test_the_rules_for_chapters_are_those_that_are_tested():
    rules = (ROOT / "book" / "contribute.md").read_text(encoding="utf-8")
    stated = (
        f"{CLAIMS[0]} to {CLAIMS[-1]} claims",
        f"at most {MOST_LINES:,} lines",
        f"{OPEN_LINES[0]} to {OPEN_LINES[-1]} lines of open code",
        f"at most {OPENING_WORDS} words",
        f"at most {COLUMNS} columns",
        f"smaller than {MOST_BYTES / 1e6:g} MB",
    )
    assert [words for words in stated if words not in rules] == []


@each_chapter
def test_a_lab_is_given_out_without_its_solutions(chapter):
    given = nbformat.writes(handouts.lab(BOOK, chapter, solved=False))
    secret = re.findall(LAB_SOLUTION, source(f"{chapter}/lab"), re.DOTALL)
    lines = [
        line.strip()
        for pair in secret
        for line in "".join(pair).split("\n")
        if len(line.strip()) > 25
    ]
    assert len(secret) >= 5 and not [line for line in lines if json.dumps(line)[1:-1] in given]


@each_notebook
def test_chapter_ends_with_its_provenance(chapter):
    last = code_cells(chapter)[-1]
    assert last.source.strip().endswith("provenance.stamp(profile, device, seed)")
    assert last.outputs


def test_pages_take_what_is_given_and_leave_nothing():
    given = {(page, word) for page, words in pages.substitutions(BOOK).items() for word in words}
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    assert {
        taken for text in texts for taken in re.findall(r"\{\{ (\w+)\.(\w+) \}\}", text)
    } == given


def test_notation_names_functions_that_there_are():
    text = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:\w+\.)+\w+)`", text)
    assert len(names) > 15
    for name in names:
        module, _, attribute = name.rpartition(".")
        if not module.startswith("lib"):
            module = f"book.{module}" if "." in module else f"lib.theory.{module}"
        assert hasattr(importlib.import_module(module), attribute), name


def test_every_requirement_is_pinned():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line.split("#")[0].strip() for line in lines]
    loose = [
        line
        for line in wanted
        if line and not re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?==[\w.+!]+(\s*;.+)?", line)
    ]
    assert loose in (["--editable ."], ["-e ."])


def test_no_file_names_a_folder_of_one_machine():
    """The outputs of notebooks are looked at above."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    asked = [
        "git",
        "-C",
        str(ROOT),
        "grep",
        "--untracked",
        "-I",
        "-l",
        "-P",
        MACHINE,
        "--",
        ".",
        ":!*.ipynb",
    ]
    found = subprocess.run(asked, capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (1, ""), found.stderr


@each_notebook
def test_the_table_of_seeds_is_current_or_says_so(chapter):
    code = margins.digest(BOOK, chapter)
    if rows := [row for row in margins.table(BOOK) if row["code"] == code]:
        seen = {
            row["id"]: (
                claims.bound_text({name: row[name][0] for name in ("low", "high")}),
                set(row["rivals"]),
            )
            for row in rows
        }
        assert seen == {
            record["id"]: (claims.bound_text(record), set(record["rivals"]))
            for record in ledger(chapter)
        }
    else:
        words, command = margins.margins(BOOK), f"`python -m lib seeds {BOOK.chapter_of(chapter)}`"
        assert command in words["chapters"] or words["checked"].startswith("None of the ")

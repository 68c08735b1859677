"""The pipeline and the command line, on a small throw-away book; the fixtures start the kernels, each once."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import small_book
import torch

from lib import claims
from lib.__main__ import main, summary
from lib.site import build, execute, ledger

REPOSITORY = Path(__file__).parents[2]
SETTINGS = ("--profile", "paper", "--device", "cpu", "--seed", "7")
# the cells are 0 title, 1 parameters, 2 injected parameters, 3 claim, 4 print
CELLS = (
    """\
from lib import claims

claims.check("NAME/sum", "one and one is two", source="p. 1", measured=1 + 1, expected=claims.near(2, 0.1))""",
    """\
print(profile, device, seed)
__import__("atexit").register(print, "a kernel's last words", file=__import__("sys").__stderr__);""",
)


def test_the_ten_slowest_cells_are_named():
    finished = [
        execute.Result("one", 20.0, 100.0, cells=((0.5, "cell 1 (a)"), (3.25, "cell 7 (b)"))),
        execute.Result("two", 40.0, 100.0, cells=tuple((float(i), f"cell {i} (c)") for i in range(1, 13))),
    ]
    lines = summary(finished).splitlines()[3:]
    assert len(lines) == 10 and lines[0] == "   12.0 s  two, cell 12 (c)" and "    3.2 s  one, cell 7 (b)" in lines


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A book of two chapters that have not been executed."""
    return small_book.write(tmp_path_factory.mktemp("sources") / "book", *CELLS, pages=["what_replicates"])


def lib(root, *arguments):
    """Run `python -m lib` in `root`, as a reader does."""
    return subprocess.run(
        [sys.executable, "-m", "lib", *arguments],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def copy(root, tmp_path_factory):
    return shutil.copytree(root, tmp_path_factory.mktemp("copy") / "book")


def replace(root, chapter, old, new):
    path = root / "book" / f"{chapter}.md"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def files(folder):
    """Say when each file was written and what is in it."""
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}


def after(root, *arguments):
    """Run a command in `root`; keep what it said and the files of book/ before and after."""
    before = files(root / "book")
    result = lib(root, *arguments)
    return SimpleNamespace(root=root, result=result, before=before, after=files(root / "book"))


def notebook(root, chapter):
    return json.loads((root / "book" / f"{chapter}.ipynb").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def executed(sources, tmp_path_factory):
    """Both chapters, executed for the first time."""
    return after(copy(sources, tmp_path_factory), "run", *SETTINGS)


@pytest.fixture(scope="module")
def broken(executed, tmp_path_factory):
    """A chapter with an error beside a chapter that has changed."""
    root = copy(executed.root, tmp_path_factory)
    replace(root, "one", "print(profile", "\n1 / 0\nprint(profile")
    replace(root, "two", "# Chapter two", "# A new title")
    return after(root, "run", *SETTINGS)


@pytest.fixture(scope="module")
def dying(executed, tmp_path_factory):
    """A chapter whose claim no longer holds beside a chapter that kills its kernel."""
    root = copy(executed.root, tmp_path_factory)
    replace(root, "one", "measured=1 + 1", "measured=1 + 2")
    replace(root, "two", "print(profile", '__import__("os")._exit(1)\nprint(profile')
    return after(root, "run", *SETTINGS)


def test_run_executes_every_chapter(executed):
    assert executed.result.returncode == 0, executed.result.stderr
    for name in ("one", "two"):
        cells = notebook(executed.root, name)["cells"]
        assert [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"] == [1, 2, 3, 4]
        assert cells[-1]["outputs"][0]["text"] == ["paper cpu 7\n"]
    assert [path.name for path in (executed.root / "_build").iterdir()] == ["claims.json"]


def test_run_sums_up_each_chapter(executed):
    head, one, two = executed.result.stdout.splitlines()
    assert head.split() == ["notebook", "seconds", "peak", "MiB", *" ".join(claims.VERDICTS).split()]
    for name, line in (("one", one), ("two", two)):
        chapter, seconds, peak, *verdicts = line.split()
        assert (chapter, verdicts) == (name, ["1", "0", "0", "0", "0", "0"])
        assert 0.1 < float(seconds) < 60
        assert 10 < float(peak) < 4000


def test_a_log_says_when_a_chapter_starts_and_ends_and_nothing_else(executed):
    said = sorted(re.sub(r"in \d+ s", "in N s", line) for line in executed.result.stderr.splitlines())
    assert said == [f"{name}: {what}" for name in ("one", "two") for what in ("done in N s; 1 reproduced", "started")]


def test_the_notebook_keeps_the_settings_and_nothing_that_changes_by_itself(executed):
    written = notebook(executed.root, "one")
    assert written["metadata"]["run"] == {"profile": "paper", "device": "cpu", "seed": 7}
    assert set(written["metadata"]) == {"run", "kernelspec"}
    ids = ["cell-000", "cell-001", "cell-parameters", "cell-002", "cell-003"]
    assert [cell["id"] for cell in written["cells"]] == ids
    assert all(set(cell["metadata"]) <= {"tags"} for cell in written["cells"])


def test_the_sources_are_only_read(executed):
    for name in ("one.md", "two.md"):
        assert executed.after[name] == executed.before[name]


def test_run_writes_the_ledger(executed):
    records = json.loads((executed.root / "_build" / "claims.json").read_text())
    found = [[record[key] for key in ("id", "chapter", "profile", "measured", "verdict")] for record in records]
    assert found == [[f"{name}/sum", name, "paper", 2, "reproduced"] for name in ("one", "two")]


def test_a_chapter_is_its_lesson_and_its_evidence_page(sources, tmp_path_factory):
    root = small_book.add_evidence(copy(sources, tmp_path_factory), "one", CELLS[0].replace("NAME/sum", "one/more"))
    assert lib(root, "run", "one", "--lesson").returncode == 0
    assert [path.name for path in root.rglob("*.ipynb")] == ["one.ipynb"]
    done = lib(root, "run", "one")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["notebook", "one", "evidence/one"]
    assert [record["id"] for record in ledger.read(root)] == ["one/sum", "one/more"]
    assert {record["chapter"] for record in ledger.read(root)} == {"one"}


def test_a_failing_chapter_keeps_its_last_good_notebook(broken):
    assert broken.result.returncode == 1
    assert broken.after["one.ipynb"] == broken.before["one.ipynb"]
    assert set(broken.after) == set(broken.before)


def test_a_failure_names_chapter_cell_and_first_line(broken):
    (line,) = [line for line in broken.result.stdout.splitlines() if line.startswith("failed:")]
    assert line == "failed: one, cell 4 (1 / 0): ZeroDivisionError: division by zero"


def test_a_failure_does_not_stop_the_other_chapter(broken):
    assert notebook(broken.root, "two")["cells"][0]["source"] == ["# A new title"]


def test_a_changed_verdict_fails_the_run(dying):
    assert dying.result.returncode == 1
    assert "failed: one, cell 3 (from lib import claims): ClaimChanged: claim one/sum is not reproduced" in dying.result.stdout
    assert dying.after["one.ipynb"] == dying.before["one.ipynb"]


def test_a_dead_kernel_is_reported_with_its_cell(dying):
    assert 'failed: two, cell 4 (__import__("os")._exit(1)): the kernel died' in dying.result.stdout
    assert dying.after["two.ipynb"] == dying.before["two.ipynb"]


def test_report_reads_another_folder_and_writes_only_the_json(executed, tmp_path, tmp_path_factory, monkeypatch, capsys):
    root = copy(executed.root, tmp_path_factory)
    shutil.copy(root / "book" / "two.ipynb", tmp_path)
    before = files(root / "book")
    monkeypatch.chdir(root)
    assert main(["report", "--notebooks", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 claims in _build/claims.json\n"
    assert [record["id"] for record in json.loads(Path("_build/claims.json").read_text())] == ["two/sum"]
    assert files(root / "book") == before


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "three"], "no such chapter: three; the book has one, two"),
        (["run", "one", "what_replicates"], "no such chapter: what_replicates"),
        (
            ["run", "--output", "_toc.yml/in/a/file"],
            "_toc.yml/in/a/file is not a folder that files can be written to: Not a directory",
        ),
        (["run", "--output", "_toc.yml"], "_toc.yml is not a folder that files can be written to: File exists"),
        (["build"], "not executed yet: one, two; run `python -m lib run one two` first"),
        (["report", "--notebooks", "nowhere"], "nowhere"),
        (["pdf"], "_build/html lacks 4 of 4 pages: run `python -m lib build` first"),
        (["pdf", "--slides"], "_build/html has no slides: run `python -m lib build` first"),
    ],
)
def test_a_mistake_gets_one_clear_line(sources, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(sources)
    assert main(arguments) == 2
    assert message in one_line(capsys)
    assert not list(sources.glob("book/*.ipynb"))


def test_a_gpu_that_is_not_there_is_missed_before_any_work(sources, monkeypatch, capsys):
    monkeypatch.chdir(sources)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["run", "--device", "cuda"]) == 2
    assert "device 'cuda': torch sees no GPU here" in one_line(capsys)
    assert not list(sources.glob("book/*.ipynb"))


@pytest.mark.parametrize("command", ["run", "build", "report", "pdf", "course"])
@pytest.mark.parametrize("toc", [None, ""])
def test_a_folder_without_a_table_of_contents_is_no_book(tmp_path, monkeypatch, capsys, command, toc):
    if toc is not None:
        (tmp_path / "_toc.yml").write_text(toc)
    monkeypatch.chdir(tmp_path)
    assert main([command]) == 2
    assert "_toc.yml" in one_line(capsys)


def test_a_chapter_without_a_source_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "_toc.yml").write_text(small_book.contents())
    monkeypatch.chdir(tmp_path)
    assert main(["run", "one"]) == 2
    assert "one.md" in one_line(capsys)


def one_line(capsys):
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("lib ")
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "--seed", "x"], "argument --seed: want a whole number of at least 0, not x"),
        (["run", "--seed", "-1"], "argument --seed: want a whole number of at least 0, not -1"),
        (["seeds", "--count", "0"], "argument --count: want a whole number of at least 1, not 0"),
    ],
)
def test_the_command_line_refuses_what_it_does_not_know(capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("output", ["_toc.yml", "_toc.yml/in/a/file"])
def test_build_refuses_an_output_that_is_no_folder(executed, monkeypatch, capsys, output):
    monkeypatch.chdir(executed.root)
    monkeypatch.setattr(build.subprocess, "run", lambda *command, **options: pytest.fail("it built"))
    assert main(["build", "--output", output]) == 2
    assert f"{output}/_build is not a folder that files can be written to: Not a directory" in one_line(capsys)


def test_chapters_are_selected_in_the_order_of_the_table_of_contents(tmp_path):
    (tmp_path / "_toc.yml").write_text("root: book/index\nchapters:\n" + "".join(f"  - file: book/{n}.ipynb\n" for n in "bdac"))
    assert execute.select(tmp_path, ["c", "b", "b"]) == ["b", "c"]
    assert execute.select(tmp_path, []) == ["b", "d", "a", "c"]

"""The pipeline and the command line, on a small throw-away
book; the fixtures start the kernels, each once.
"""

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

from lib.__main__ import main

REPOSITORY = Path(__file__).parents[2]
NOTEBOOKS = ("one", "one/evidence", "two")
SETTINGS = ("--profile", "quick", "--device", "cpu", "--seed", "7")
# the cells are 0 title, 1 parameters, 2 injected parameters, 3 claim, 4 print
CELLS = (
    """\
from lib import bounds, claims

claims.check("NAME/sum", "one and one is two", measure="a number", source="p. 1", measured=1 + 1, expected=bounds.near(2, 0.1))""",
    """\
print(profile, device, seed)
__import__("atexit").register(print, "a kernel's last words", file=__import__("sys").__stderr__);""",
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A book of two chapters, one with an evidence page, that have not been executed."""
    root = small_book.write(
        tmp_path_factory.mktemp("sources") / "book", *CELLS, pages=["what_replicates"]
    )
    return small_book.add_evidence(root, "one", CELLS[0].replace("NAME/sum", "one/more"))


def lib(root, *arguments):
    """Run `python -m lib` in `root`, as a reader does."""
    return subprocess.run(
        [sys.executable, "-m", "lib", *arguments],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def copy(root, tmp_path_factory):
    return shutil.copytree(root, tmp_path_factory.mktemp("copy") / "book")


def change(root, **changes):
    """Change the source of each chapter: the first text for the second."""
    for chapter, (old, new) in changes.items():
        path = root / "book" / f"{chapter}.md"
        path.write_text(path.read_text().replace(old, new))


def notebook(root, chapter):
    return json.loads((root / "book" / f"{chapter}.ipynb").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def executed(sources, tmp_path_factory):
    """All notebooks, executed for the first time."""
    root = copy(sources, tmp_path_factory)
    return SimpleNamespace(root=root, result=lib(root, "run", *SETTINGS))


def test_run_executes_every_chapter_and_writes_the_ledger(executed):
    assert executed.result.returncode == 0, executed.result.stderr
    for name in ("one", "two"):
        written = notebook(executed.root, name)
        assert set(written["metadata"]) == {"run", "kernelspec"}  # nothing of this machine
        assert written["metadata"]["run"] == {"profile": "quick", "device": "cpu", "seed": 7}
        cells = written["cells"]
        counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
        assert counts == [1, 2, 3, 4]
        assert cells[-1]["outputs"][0]["text"] == ["quick cpu 7\n"]
    assert [path.name for path in (executed.root / "_build").iterdir()] == ["claims.json"]
    records = json.loads((executed.root / "_build" / "claims.json").read_text())
    found = [
        [record[key] for key in ("id", "chapter", "profile", "measured", "verdict")]
        for record in records
    ]
    assert found == [
        [name, name[:3], "quick", 2, "reproduced"] for name in ("one/sum", "one/more", "two/sum")
    ]


def test_run_says_how_each_chapter_went(executed):
    lines = executed.result.stdout.splitlines()
    for name, line in zip(NOTEBOOKS, lines, strict=True):
        chapter, seconds, peak, verdicts = re.fullmatch(
            r"(\S+): done in (\d+) s, (\d+) MiB; (.+)", line
        ).groups()
        assert (chapter, verdicts) == (name, "1 reproduced")
        assert int(seconds) < 60 and 10 < int(peak) < 4000
    log = sorted(executed.result.stderr.splitlines())
    assert log == sorted([*lines, *(f"{name}: started" for name in NOTEBOOKS)])


def test_a_failure_keeps_the_last_good_notebook(executed, tmp_path_factory):
    root = copy(executed.root, tmp_path_factory)
    ends = ("from lib", '__import__("os")._exit(1)\nfrom lib')
    change(root, one=("1 + 1", "1 + 2"), two=("# Chapter", "# New"), **{"one/evidence": ends})
    before = [notebook(root, name) for name in NOTEBOOKS[:2]]
    failing = lib(root, "run", *SETTINGS)
    assert failing.returncode == 1
    claim, kernel = [line for line in failing.stdout.splitlines() if line.startswith("failed:")]
    assert claim.startswith(
        "failed: one, cell 3 (from lib import bounds, claims): ClaimChanged: claim one/sum is 'not "
        "reproduced'"
    )
    assert kernel.startswith(
        'failed: one/evidence, cell 3 (__import__("os")._exit(1)): the kernel died'
    )
    assert [notebook(root, name) for name in NOTEBOOKS[:2]] == before
    assert notebook(root, "two")["cells"][0]["source"] == ["# New two"]


def test_chapters_without_their_data_have_a_status_of_their_own(executed, tmp_path_factory):
    root = copy(executed.root, tmp_path_factory)
    lacks = (
        "from lib.data import DataUnavailable\n\nraise DataUnavailable('set MNIST_DIR')\nfrom lib"
    )
    change(root, one=("from lib", lacks))
    before = notebook(root, "one")
    failing = lib(root, "run", "--lesson", *SETTINGS)
    assert failing.returncode == 3
    (said,) = [line for line in failing.stdout.splitlines() if line.startswith("failed:")]
    assert said.endswith("DataUnavailable: set MNIST_DIR")
    assert notebook(root, "one") == before
    change(root, two=("1 + 1", "1 + 2"))
    assert lib(root, "run", "--lesson", *SETTINGS).returncode == 1


def test_a_chapter_that_was_copied_badly_says_why(executed, tmp_path_factory):
    root = copy(executed.root, tmp_path_factory)
    header = ("language: python}\n---", "language: python}")
    change(root, one=header, two=("two/sum", "one/sum"))
    failing = lib(root, "run", "--lesson", *SETTINGS)
    header, claim = [line for line in failing.stdout.splitlines() if line.startswith("failed:")]
    assert header.endswith(
        "the header of book/one.md is not whole: copy the lines from `---` to `---` of another "
        "chapter"
    )
    assert claim.endswith("the claim one/sum stands in two: call it two/NAME")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "three"], "no such chapter: three; _toc.yml lists one, two"),
        (["run", "--device", "cuda"], "device 'cuda': torch sees no GPU here"),
        (
            ["run", "--output", "_toc.yml"],
            "_toc.yml is not a folder that files can be written to: File exists",
        ),
        (["build"], "not executed yet: one, two; run `python -m lib run one two` first"),
        (["report", "--notebooks", "nowhere"], "nowhere"),
        (["pdf"], "_build/html lacks 5 of 5 pages: run `python -m lib build` first"),
        (["course"], "_build/html has no book/one.html: run `python -m lib build` first"),
        (["pdf", "--slides"], "_build/html has no slides: run `python -m lib build` first"),
    ],
)
def test_a_mistake_gets_one_clear_line(sources, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(sources)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(arguments) == 2
    assert message in one_line(capsys)
    assert not list(sources.glob("book/*.ipynb"))


@pytest.mark.parametrize("command", ["run", "build", "report", "pdf", "course"])
def test_a_folder_without_a_table_of_contents_is_no_book(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    assert main([command]) == 2
    assert "_toc.yml" in one_line(capsys)


def one_line(capsys):
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("lib ")
    assert said.err.count("\n") == 1
    return said.err

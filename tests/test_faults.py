"""Faults of the command line, on a small throw-away book: what is killed, full, closed, spoilt or in another language.

The faults of precomputed runs and of data are in their own tests.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import indent

import jupytext
import psutil
import pytest
import small_book

from lib.__main__ import main
from lib.site import build, execute

REPOSITORY = Path(__file__).parents[1]
pytestmark = pytest.mark.slow
CONFIG = """\
title: Small
only_build_toc_files: true
execute: {execute_notebooks: "off"}
"""
WAITS = """\
import time
from pathlib import Path

Path("../started").touch()
while Path("../hold").exists():
    time.sleep(0.02)
"""
KILLS = "import os; os.kill(os.getppid(), 9)  # the process that executes chapters\n"


@pytest.fixture
def small(tmp_path):
    """A book of two chapters, each with a notebook from before."""
    root = small_book.write(tmp_path / "book of faults", 'print("α ≤ β")', title="Chapter NAME: δ → 0")
    (root / "_config.yml").write_text(CONFIG)
    (root / "book" / "index.md").write_text("# Small\n\nA page.\n")
    for name in small_book.CHAPTERS:
        last_good = jupytext.writes(execute.draft(root, name), fmt="ipynb") + "\n"
        (root / "book" / f"{name}.ipynb").write_text(last_good, encoding="utf-8")
    return root


def insert(root, chapter, code):
    """Put code before what the chapter prints."""
    path = root / "book" / f"{chapter}.md"
    path.write_text(path.read_text(encoding="utf-8").replace("print(", f"{code}print("), encoding="utf-8")


def start(root, *arguments, program=("-m", "lib"), **environment):
    """Start `python -m lib` in the book's root, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, *program, *arguments],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def end(process, seconds=120):
    """Wait for `lib run`; return its exit status and the last line of its summary."""
    out, _ = process.communicate(timeout=seconds)
    return process.returncode, out.decode().splitlines()[-1]


def lib(root, *arguments, **environment):
    return end(start(root, *arguments, **environment))


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def running(processes):
    return [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


# run


def test_a_killed_run_leaves_the_last_good_notebook_and_no_process(small):
    insert(small, "one", WAITS)
    (small / "hold").touch()
    before, process = files(small / "book"), start(small, "run", "one")
    wait_for((small / "started").exists)
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    wait_for(lambda: not running(family))
    assert files(small / "book") == before
    (small / "hold").unlink()
    assert lib(small, "run", "one")[0] == 0
    assert files(small / "book")["one.ipynb"] != before["one.ipynb"]


def test_a_killed_process_fails_its_chapter(small):
    insert(small, "one", KILLS)
    before = files(small / "book")
    status, said = lib(small, "run", "one")
    assert status == 1 and said.startswith("failed: one: the process that executes it was killed, most likely for lack of memory")
    assert files(small / "book") == before


# Ctrl-C


def interrupt(process):
    """Press Ctrl-C; return the exit status and what was said, once no process of the family is left."""
    family = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    wait_for(lambda: not running(family), seconds=10)
    return process.returncode, err.decode()


@pytest.mark.parametrize("moment", ["a cell", "the start"])
def test_an_interrupted_run_keeps_what_is_finished(small, moment):
    insert(small, "two", WAITS)
    (small / "hold").touch()
    before, process = files(small / "book"), start(small, "run")
    wait_for(lambda: psutil.Process(process.pid).children())
    if moment == "a cell":
        wait_for(lambda: (small / "started").exists() and files(small / "book")["one.ipynb"] != before["one.ipynb"])
    status, said = interrupt(process)
    assert status == 130 and said.splitlines()[-1] == "lib run: interrupted; finished chapters are kept"
    assert all(line.startswith(("one: ", "two: started", "lib run: ")) for line in said.splitlines())
    left = files(small / "book")
    assert {name for name in left if left[name] != before.get(name)} <= {"one.ipynb"}
    assert not list(small.glob("_build/**/*"))


def test_interrupted_seeds_keep_what_is_finished(small):
    insert(small, "one", f"if seed:\n{indent(WAITS, '    ')}\n# nothing runs behind the last cell with claims.check(\n")
    (small / "hold").touch()
    process = start(small, "seeds", "one", "--count", "5", "--jobs", "1")  # the worker has its next calls already
    wait_for((small / "started").exists)
    status, said = interrupt(process)
    assert (status, said.splitlines()) == (130, ["one, seed 0: done", "lib seeds: interrupted; finished runs are kept"])
    assert [path.name[:4] for path in small.glob("_build/seeds/*")] == ["one-"]


# what is spoilt


@pytest.mark.parametrize("command", ["report", "build"])
def test_a_notebook_that_is_not_whole_is_named(small, monkeypatch, capsys, command):
    path = small / "book" / "one.ipynb"
    whole, pages = path.read_bytes(), files(small)
    monkeypatch.chdir(small)
    for spoilt in (whole[: len(whole) // 2], b"", b"null", b"[]", b"{}", b'{"metadata": [], "cells": [1]}', whole[:-9], b"\xff"):
        path.write_bytes(spoilt)
        assert main([command]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and err.startswith(f"lib {command}: {path} is not a complete notebook (")
        assert err.endswith("): run `python -m lib run one`\n")
        assert files(small) == pages | {"book/one.ipynb": spoilt}


# build


def built(monkeypatch, root, status=0):
    """Call `lib build` with a stand-in for Jupyter Book that ends with this status; return whether it built every page."""
    calls = []

    def jupyter_book(command, **options):
        calls.append("--all" in command)
        return subprocess.CompletedProcess(command, status, stderr="WARNING: nothing is right")

    monkeypatch.setattr(build.subprocess, "run", jupyter_book)
    monkeypatch.chdir(root)
    assert main(["build"]) == status
    return calls[0]


def test_a_build_that_failed_is_not_built_upon(small, monkeypatch, capsys):
    assert not built(monkeypatch, small)
    assert not built(monkeypatch, small, status=2)
    assert "lib build: nothing is right: fix that; " in capsys.readouterr().err
    assert built(monkeypatch, small)
    assert not built(monkeypatch, small)

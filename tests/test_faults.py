"""Faults while chapters run, on a small throw-away book: a
kill, Ctrl-C, notebooks that are spoilt.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import jupytext
import psutil
import pytest
import small_book
from small_runs import wait_for

from lib.__main__ import main
from lib.site import execute
from lib.site.book import Book

REPOSITORY = Path(__file__).parents[1]
pytestmark = pytest.mark.slow
WAITS = """\
import time
from pathlib import Path

Path("../started").touch()
while Path("../hold").exists():
    time.sleep(0.02)
"""


@pytest.fixture
def small(tmp_path):
    """A book of two chapters, each with a notebook from before."""
    root = small_book.write(
        tmp_path / "book of faults", 'print("α ≤ β")', title="Chapter NAME: δ → 0"
    )
    for name in small_book.CHAPTERS:
        last_good = jupytext.writes(execute.draft(Book(root), name), fmt="ipynb") + "\n"
        (root / "book" / f"{name}.ipynb").write_text(last_good, encoding="utf-8")
    return root


def hold(root, chapter):
    """Let a chapter wait before it prints, until `hold` is removed."""
    path = root / "book" / f"{chapter}.md"
    path.write_text(
        path.read_text(encoding="utf-8").replace("print(", f"{WAITS}print("), encoding="utf-8"
    )
    (root / "hold").touch()


def start(root, *chapters):
    """Start `python -m lib run` in the book's root, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "lib", "run", *chapters],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # a job in a shell's background ignores Ctrl-C, and so would what it starts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def running(processes):
    return [
        each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE
    ]


def test_a_killed_run_leaves_the_last_good_notebook(small):
    hold(small, "one")
    before, process = files(small / "book"), start(small, "one")
    wait_for((small / "started").exists)
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    wait_for(lambda: not running(family))
    assert files(small / "book") == before
    (small / "hold").unlink()
    again = start(small, "one")
    again.communicate(timeout=120)
    assert again.returncode == 0
    assert files(small / "book")["one.ipynb"] != before["one.ipynb"]


def test_an_interrupted_run_keeps_what_is_finished(small):
    hold(small, "two")
    before, process = files(small / "book"), start(small)
    wait_for(
        lambda: (
            (small / "started").exists()
            and files(small / "book")["one.ipynb"] != before["one.ipynb"]
        )
    )
    family = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1].decode().splitlines()
    wait_for(lambda: not running(family), seconds=10)
    assert (
        process.returncode == 130 and said[-1] == "lib run: interrupted; finished chapters are kept"
    )
    assert all(line.startswith(("one: ", "two: started", "lib run: ")) for line in said)
    left = files(small / "book")
    assert {name for name in left if left[name] != before.get(name)} == {"one.ipynb"}
    assert not list(small.glob("_build/**/*"))


@pytest.mark.parametrize("command", ["report", "build"])
def test_a_notebook_that_is_not_whole_is_named(small, monkeypatch, capsys, command):
    path = small / "book" / "one.ipynb"
    whole, pages = path.read_bytes(), files(small)
    monkeypatch.chdir(small)
    for spoilt in (
        whole[: len(whole) // 2],
        b"",
        b"[]",
        b'{"metadata": [], "cells": [1]}',
        b"\xff",
    ):
        path.write_bytes(spoilt)
        assert main([command]) == 2
        out, err = capsys.readouterr()
        assert (
            out == ""
            and err.count("\n") == 1
            and err.startswith(f"lib {command}: {path} is not a complete notebook (")
        )
        assert err.endswith("): run `python -m lib run one`\n")
        assert files(small) == pages | {"book/one.ipynb": spoilt}

"""The command line: help and lists run nothing, wrong names and Ctrl-C are one line."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from evidence.__main__ import PROGRAMS, lasting, main

ROOT = Path(__file__).parents[2]
HELP = """\
import sys
from evidence.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0
assert not {"numpy", "torch", "pytest", "lib"} & set(sys.modules)
"""

each_program = pytest.mark.parametrize("name", PROGRAMS)


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in PROGRAMS)], ids=" ".join)
def test_help_runs_and_imports_nothing(arguments):
    done = subprocess.run([sys.executable, "-c", HELP, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and "example: python -m evidence" in done.stdout


@pytest.fixture
def program(name, monkeypatch):
    """A program that keeps what it was called with instead of running."""
    module = import_module(f"evidence.{name}")
    module.called = []
    monkeypatch.setattr(module, "run", lambda names, **options: module.called.append(names) or 1)
    yield module
    del module.called


@each_program
def test_the_list_has_every_row_and_runs_nothing(name, program, capsys):
    assert main([name, "--list"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and program.called == []
    lines = out.splitlines()
    assert len(lines) == len(program.rows()) > 2
    assert all(line.startswith(f"{row} ") for row, line in zip(program.rows(), lines, strict=True))


@each_program
def test_wrong_names_are_one_line_before_any_work(name, program, capsys):
    right = next(iter(program.rows()))
    assert main([name, right, "wrong", "odd"]) == 2
    out, err = capsys.readouterr()
    said = f"evidence {name}: there is no {PROGRAMS[name].row} odd, wrong; --list names them all\n"
    assert (out, err, program.called) == ("", said, [])


@each_program
def test_what_is_named_runs_in_the_order_of_the_table(name, program, capsys):
    first, second, *_ = program.rows()
    assert main([name, second, first, second]) == main([name]) == 1
    assert program.called == [[first, second], [*program.rows()]]
    line, every = capsys.readouterr().out.splitlines()
    assert line == f"2 of {len(program.rows())} {PROGRAMS[name].row}s; {lasting(program.seconds([first, second]))}"
    assert every.startswith(f"{len(program.rows())} of {len(program.rows())} {PROGRAMS[name].row}s; ")


@each_program
def test_control_c_is_one_line(name, program, monkeypatch, capsys):
    def interrupt(names, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "run", interrupt)
    assert main([name]) == 130
    assert capsys.readouterr().err == f"evidence {name}: interrupted; the table is as it was last written\n"


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, "time not known"), (0.1, "about 1 s"), (89, "about 89 s"), (400, "about 7 min")]
)
def test_times_are_rough(seconds, words):
    assert lasting(seconds) == words

"""What a reader has set, made or lacks changes no number, no figure and no exit status."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import small_book
from matplotlib.font_manager import FontManager

from lib.__main__ import main

REPOSITORY = Path(__file__).parents[2]
FIGURE = """\
---
mystnb: {figure: {caption: A curve, name: one-curve}, image: {alt: a curve}}
---
import matplotlib.pyplot as plt
import numpy as np
import lib
from lib.figures import style

style.use()
fig, axes = plt.subplots(1, 2)
axes[0].plot([1, 3, 2], label="a curve"), axes[0].plot([2, 1, 3]), axes[0].legend()
axes[1].imshow(np.eye(3))
plt.show()  # nbval does not see a semicolon that ends a cell"""
PRINTS = """\
---
tags: [nbval-check-output]
---
import os, time, sys
1 / 3
print(np.array([1 / 3]), lib.WHO, {"a", "b", "c", "d"}, time.localtime(0).tm_hour, os.get_terminal_size)
"é".encode(sys.getdefaultencoding()), open(os.devnull).encoding, sys.flags.optimize, sys.warnoptions"""
HOME = {
    ".config/matplotlib/matplotlibrc": "font.size: 20\naxes.grid: True\naxes.prop_cycle: cycler('color', ['k', 'r'])\n"
    "image.cmap: gray\nfigure.autolayout: True\nfont.sans-serif: DejaVu Serif\n",
    ".ipython/profile_default/ipython_config.py": 'c.InteractiveShell.ast_node_interactivity = "all"\n'
    'c.InlineBackend.figure_formats = {"svg"}\n',
    ".ipython/profile_default/startup/00.py": "import numpy; numpy.set_printoptions(precision=2); print('started')",
    ".jupyter/jupyter_config.py": 'c.KernelManager.ip = "192.0.2.1"',
    "kernels/python3/kernel.json": '{"argv": ["false"], "display_name": "another Python", "language": "python"}',
    "startup.py": "print('started')",
    "elsewhere/lib/__init__.py": "WHO = 'another library'",
    # where Matplotlib keeps its list of fonts, so that it cannot, as on a full disk
    f".cache/matplotlib/fontlist-v{FontManager.__version__}.json/a folder": "",
}
BESIDE = ("numpy", "matplotlib", "types", "random", "lib", "book", "IPython")
HOSTILE = {
    "MPLBACKEND": "agg",
    "COLUMNS": "20",
    "LC_ALL": "C",
    "TZ": "Asia/Tokyo",
    "PYTHONHASHSEED": "7",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONWARNINGS": "always",
    "PYTHONOPTIMIZE": "1",
    "NO_COLOR": "1",
    "SOURCE_DATE_EPOCH": "0",
}


def run(root, home, *command, **environment):
    """Run `python -m` in a book's root in an environment of few variables."""
    environment |= {"HOME": str(home), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A copy of the library, which says who it is, with a chapter of
    its own that has been executed in a home without files.
    """
    root = small_book.write(tmp_path_factory.mktemp("clean") / "Bücher", FIGURE, PRINTS)
    shutil.copytree(REPOSITORY / "lib", root / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    with (root / "lib" / "__init__.py").open("a") as file:
        file.write('\nWHO = "the copy"\n')
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(REPOSITORY / name, root / name)
    done = run(root, tmp_path_factory.mktemp("home"), "lib", "run", "one")
    assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture
def hostile(book, tmp_path):
    """A home and an environment with settings that change outputs, and
    files beside the notebooks that are called like modules.
    """
    for name, text in HOME.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in BESIDE:
        (book / "book" / f"{name}.py").write_text(
            f"raise SystemExit('{name} beside the notebooks')"
        )
    paths = {
        "JUPYTER_PATH": tmp_path,
        "PYTHONSTARTUP": tmp_path / "startup.py",
        "PYTHONPATH": tmp_path / "elsewhere",
    }
    return HOSTILE | {name: str(path) for name, path in paths.items()}


@pytest.mark.slow
def test_a_readers_settings_change_no_byte_of_a_notebook(book, hostile, tmp_path):
    done = run(book, tmp_path, "lib", "run", "one", "--output", str(tmp_path / "out"), **hostile)
    assert done.returncode == 0, done.stdout + done.stderr
    written = (tmp_path / "out" / "one.ipynb").read_bytes()
    assert (
        written == (book / "book" / "one.ipynb").read_bytes()
        and b'"image/png"' in written
        and b"the copy" in written
    )
    assert not (book / "book" / "two.ipynb").exists()


@pytest.mark.slow
def test_a_readers_settings_change_nothing_in_nbval(book, hostile, tmp_path):
    done = run(book, tmp_path, "pytest", "-p", "no:cacheprovider", "--nbval", "book", **hostile)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", ["run", "seeds", "build"])
def test_another_library_than_the_one_beside_the_chapters_is_refused(
    tmp_path, monkeypatch, capsys, command
):
    root = small_book.write(tmp_path / "book")
    (root / "lib").mkdir()
    for name in ("lib/__init__.py", "book/one.ipynb", "book/two.ipynb"):
        (root / name).touch()
    monkeypatch.chdir(root)
    assert main([command]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and str(root) in said and str(REPOSITORY) in said


def test_a_chapter_that_would_warn_fails_by_name(tmp_path):
    caption = FIGURE.split("import matplotlib")[0]
    warns = "import warnings\nif 'NAME' == 'two':\n    warnings.warn('an old driver')"
    root = small_book.write(tmp_path / "book", caption + warns)
    done = run(root, tmp_path, "lib", "run", PYTHONPATH=str(REPOSITORY))
    assert done.returncode == 1 and not list(root.glob("book/*.ipynb"))
    first, second = [line for line in done.stdout.splitlines() if line.startswith("failed: ")]
    place = "RuntimeError: cell 3 (import warnings)"
    assert first == f"failed: one: {place} has a caption but drew no figure"
    assert second.startswith(f"failed: two: {place}") and "UserWarning: an old driver" in second


def test_a_kernel_that_does_not_start_says_why(tmp_path):
    root = small_book.write(tmp_path / "book")
    (tmp_path / "ipykernel_launcher.py").write_text("raise ImportError('no such kernel')")
    done = run(
        root, tmp_path, "lib", "run", "one", PYTHONPATH=f"{tmp_path}{os.pathsep}{REPOSITORY}"
    )
    assert (
        done.returncode == 1
        and "the kernel's last line: ImportError: no such kernel\n" in done.stdout
    )


def test_a_long_temporary_folder_is_not_too_long_for_sockets(tmp_path):
    (long := tmp_path / ("x" * 100)).mkdir()
    root = small_book.write(tmp_path / "book")
    done = run(root, tmp_path, "lib", "run", "one", PYTHONPATH=str(REPOSITORY), TMPDIR=str(long))
    assert done.returncode == 0, done.stdout
    assert not list(long.iterdir())


@pytest.mark.slow
def test_a_page_that_cannot_be_built_is_named(book, tmp_path):
    root = shutil.copytree(book, tmp_path / "copy")
    (root / "_config.yml").write_text(
        'title: Small\nonly_build_toc_files: true\nexecute: {execute_notebooks: "off"}\n'
    )
    (root / "book" / "index.md").write_text("# Small\n\nA page.\n")
    notebook = (root / "book" / "one.ipynb").read_text().replace("one-curve", "two-curve")
    notebook = notebook.replace('"# Chapter one"', r'"# Chapter\n\nsee {numref}`one-nowhere`"')
    (root / "book" / "two.ipynb").write_text(notebook)
    done = run(root, tmp_path, "lib", "build")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("lib build: ") and "undefined label: 'one-nowhere'" in line
    assert "fix book/two.md, then `python -m lib run two`" in line

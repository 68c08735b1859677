"""Where nothing can work, a line says so and what to do: folders, systems, files with strange names."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import small_book

from lib import files
from lib.__main__ import main, parser
from lib.data.__main__ import main as fetch

ROOT = Path(__file__).parents[1]
FULL = os.strerror(errno.ENOSPC)


def lib(root, *arguments, before=(), **environment):
    """Run `python -m lib` in a folder."""
    return subprocess.run(
        [*before, sys.executable, "-m", "lib", *arguments],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def one_line(capsys):
    """Return what was said on stderr: a single line."""
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    "name", ["random", "types", "signal", "queue", "numpy", "torch", "test", "book"]
)
def test_a_file_that_hides_a_module_is_refused(tmp_path, name):
    root = small_book.write(tmp_path / "book")
    (root / f"{name}.py").write_text("raise SystemExit('hidden')")
    done = lib(root, "report")
    wanted = f"lib report: {root}/{name}.py hides the module {name}: give it another name\n"
    assert (done.returncode, done.stderr) == (2, wanted)


def test_files_beside_our_packages_hide_nothing(tmp_path):
    root = small_book.write(tmp_path / "book")
    (root / "lib").symlink_to(ROOT / "lib")  # a folder comes before a file
    for name in ("lib", "helper"):
        (root / f"{name}.py").write_text("raise SystemExit('hidden')")
    done = lib(root, "report", PYTHONPATH="")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["numpy", "random", "types"])
def test_a_package_that_hides_a_module_is_refused(tmp_path, monkeypatch, capsys, name):
    root = small_book.write(tmp_path / "book")
    (root / name).mkdir()
    monkeypatch.chdir(root)
    assert main(["report"]) == 0  # a folder with data hides nothing
    capsys.readouterr()
    (root / name / "__init__.py").touch()
    assert main(["report"]) == 2
    assert one_line(capsys).startswith(f"lib report: {root}/{name} hides the module {name}: ")


def test_a_link_to_itself_on_the_path_is_nothing(tmp_path):
    root = small_book.write(tmp_path / "book")
    (loop := tmp_path / "loop").symlink_to(loop)
    done = lib(root, "report", PYTHONPATH=f"{ROOT}{os.pathsep}{loop}")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_is_gone_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)  # where it goes back in the end
    (gone := tmp_path / "gone").mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert main(["report"]) == 2
    said = one_line(capsys)
    assert said == "lib report: the folder in which this was started no longer exists\n"


@pytest.mark.parametrize("given", ["", "today", "-1"])
def test_a_date_of_sources_is_a_number(monkeypatch, capsys, given):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", given)
    assert main(["report"]) == 2
    assert one_line(capsys).startswith(f"lib report: SOURCE_DATE_EPOCH is {given!r}: set it to")


@pytest.mark.parametrize("command", [["run", "one"], ["report"]])
def test_a_file_in_the_place_of_a_folder_is_named(tmp_path, monkeypatch, capsys, command):
    root = small_book.write(tmp_path / "book")
    (root / "_build").touch()
    monkeypatch.chdir(root)
    assert main(command)
    assert str(root / "_build") in one_line(capsys)  # before a chapter is started


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_nobody_need_listen(tmp_path, closed):
    """Else a file that a chapter opens gets the number of stderr, and its process never ends."""
    root = small_book.write(tmp_path / "book")
    done = lib(root, "run", "one", before=["sh", "-c", f'exec "$@" {closed}', "sh"])
    assert done.returncode == 0, done.stderr
    assert (root / "book" / "one.ipynb").is_file()


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path, monkeypatch, capsys):
    root = small_book.write(tmp_path / "book")
    (root / "_build" / "claims.json").mkdir(parents=True)
    monkeypatch.chdir(root)
    assert main(["report"]) == 1
    assert f"{root}/_build/claims.json: Is a directory; fix that" in one_line(capsys)


def test_a_name_that_is_too_long_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(small_book.write(tmp_path / "book"))
    assert main(["run", "one", "--output", "x" * 300]) == 1
    assert "xxx: File name too long; fix that" in one_line(capsys)


def test_too_many_open_files_name_the_limit(tmp_path, monkeypatch, capsys):
    def pipe(path, content):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.chdir(small_book.write(tmp_path / "book"))
    monkeypatch.setattr(files, "write", pipe)
    assert main(["report"]) == 1
    assert one_line(capsys).endswith("is kept; allow more: ulimit -n 1024\n")


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    """In --output=~/x the shell leaves it alone."""
    root = small_book.write(tmp_path / "book")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(root)
    for command, option in (("run", "output"), ("build", "output"), ("report", "notebooks")):
        given = getattr(parser().parse_args([command, f"--{option}=~/x"]), option)
        assert given == tmp_path / "home" / "x"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["serve", "--port", "70000"], "want a whole number of at most 65535, not 70000"),
        (["report", "--notebooks", ""], "want the name of a file or folder, not an empty one"),
    ],
)
def test_a_port_or_place_that_cannot_be_is_refused(capsys, arguments, said):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.endswith(f"{said}\n")


def test_windows_is_refused_before_what_it_lacks_is_imported():
    windows = "import runpy, signal, sys; sys.platform = 'win32'; del signal.SIGHUP; "
    code = windows + "sys.argv = ['lib', 'report']; runpy.run_module('lib', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "lib works on Linux and macOS; on Windows, use WSL\n"


def test_a_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    monkeypatch.delitem(sys.modules, "lib.site.pdf", raising=False)
    monkeypatch.delattr("lib.site.pdf", raising=False)
    assert main(["pdf"]) == 2
    assert one_line(capsys) == "lib pdf: playwright.sync_api is not installed: make setup\n"


@pytest.mark.parametrize("name", ["WS26 [course]", "what?", "a*b"])
def test_a_path_that_sphinx_takes_for_a_pattern_is_refused(tmp_path, monkeypatch, capsys, name):
    root = small_book.write(tmp_path / name)
    for chapter in small_book.CHAPTERS:
        (root / "book" / f"{chapter}.ipynb").touch()
    monkeypatch.chdir(root)
    assert main(["build"]) == 2
    assert "in a path for a pattern; give the folder another name" in one_line(capsys)


@pytest.mark.parametrize("command", ["run", "build", "store", "serve", "course", "report", "pdf"])
def test_no_temporary_folder_is_said_before_any_work(monkeypatch, capsys, command):
    def nowhere():
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/a']")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    assert main([command]) == 2
    assert one_line(capsys) == (
        f"lib {command}: No usable temporary directory found in ['/a']: make room there, or set "
        "TMPDIR to a folder that can be written to\n"
    )


def test_all_gets_the_temporary_folder_that_was_found(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "not there"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    files.choose_temporary()
    assert os.environ["TMPDIR"] == tempfile.gettempdir() != str(tmp_path / "not there")


def test_a_place_that_is_full_is_named(tmp_path, monkeypatch):
    def full(dir):
        if str(dir) == str(tmp_path):
            raise OSError(errno.ENOSPC, FULL)
        return tempfile.TemporaryFile()

    monkeypatch.setattr(files, "TemporaryFile", full)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.closed("a figure is missing") == ""
    wanted = f"; {tmp_path}: {FULL}: set HOME to another folder"
    assert files.closed(f"cell 3: OSError: {FULL}") == wanted
    assert "NUMBA_CACHE_DIR" in files.closed("cannot cache: no locator available for file x")


@pytest.mark.parametrize("system, named", [("linux", True), ("darwin", False)])
def test_macos_has_no_folder_of_shared_memory(monkeypatch, system, named):
    def absent(dir):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(files, "TemporaryFile", absent)
    monkeypatch.setattr(sys, "platform", system)
    assert ("processes share memory there" in files.closed(FULL)) == named


def test_data_without_a_home_names_the_variables(monkeypatch, capsys):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("MNIST_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert fetch([]) == 1
    said = one_line(capsys)
    assert "MNIST_DIR" in said
    assert "XDG_CACHE_HOME" in said
    monkeypatch.setenv("MNIST_DIR", "~nobody-here/mnist")
    assert fetch([]) == 1
    assert "MNIST_DIR" in one_line(capsys)


MOUNTS = {
    "shm": ("mount -t tmpfs -o ro tmpfs /dev/shm", 1, "/dev/shm: Read-only file system"),
    "home": ("mount -t tmpfs -o size=8k tmpfs $HOME; cat /dev/zero > $HOME/fill", 0, ""),
    "temporary": ("mount -t tmpfs -o ro tmpfs $TMPDIR", 0, ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MOUNTS)
def test_a_disk_that_is_full_or_closed(tmp_path, kind):
    change, status, said = MOUNTS[kind]
    inside = [shutil.which("unshare") or "unshare", "-rm"]
    try:
        subprocess.run([*inside, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system lets nobody mount")
    root = small_book.write(tmp_path / "book", "import matplotlib.pyplot as plt")
    places = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}
    for place in places.values():
        Path(place).mkdir()
    shell = [*inside, "sh", "-c", f'{change} 2>/dev/null; exec "$@"', "sh"]
    done = lib(root, "run", "one", before=shell, **places)
    assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stderr

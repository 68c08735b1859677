"""The Makefile, with stand-ins for Python that write down what they are asked for."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STAND_IN = """\
#!/bin/sh
[ "$1" = -P ] && shift
case "$1" in
-V) echo "Python VERSION" ;;
-c) exec PYTHON -c "$(echo "$2" | sed "s/sys.version_info/(NUMBERS)/; ${SYSTEM-}")" ;;
-m) echo "$2" >> asked; if [ -f "fails $2 $3" ]; then exit "$(cat "fails $2 $3")"; fi
  if [ "$2" = venv ]; then mkdir -p .venv/bin; cp "$0" .venv/bin/python; fi ;;
esac
"""


@pytest.fixture
def make(tmp_path):
    """Call make in a folder with the Makefile, perhaps with a certain
    Python; return it and the modules that Python ran.
    """
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(Path(__file__).parents[1] / name, tmp_path)

    def make(*arguments, version=None):
        if version is not None:
            python = tmp_path / f"python{version}"
            words = {
                "VERSION": version,
                "PYTHON": sys.executable,
                "NUMBERS": version.replace(".", ", "),
            }
            python.write_text(
                re.sub("VERSION|PYTHON|NUMBERS", lambda match: words[match[0]], STAND_IN)
            )
            python.chmod(0o755)
            arguments += (f"PYTHON={python}",)
        (tmp_path / "asked").write_text("")
        ours = {
            name: value for name, value in os.environ.items() if not name.startswith("MAKE")
        }  # `make test` calls us
        done = subprocess.run(
            ["make", *arguments], cwd=tmp_path, env=ours, capture_output=True, text=True
        )
        return done, (tmp_path / "asked").read_text().split()

    return make


def test_only_other_pins_packages_or_python_need_the_network(make, tmp_path):
    assert make("setup", version="3.12.1")[1] == ["venv", "pip", "lib.data"]
    (tmp_path / "requirements.txt").touch()
    (tmp_path / "pyproject.toml").touch()
    assert make("chapter", "NAME=products")[1] == ["lib"]
    with (tmp_path / "requirements.txt").open("a") as file:
        file.write("another==1.0\n")
    assert make("setup")[1] == ["pip", "lib.data"]
    settings = (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(settings.replace('"book", ', ""), encoding="utf-8")
    assert make("setup")[1] == ["pip", "lib.data"]  # our packages have other names
    assert make("setup", version="3.13.0")[1] == ["venv", "pip", "lib.data"]
    assert make("setup")[1] == []


def test_missing_data_stop_neither_setup_nor_book(make, tmp_path):
    (tmp_path / "fails lib.data ").write_text("1")
    done, asked = make("setup", version="3.12.1")
    assert (done.returncode, asked) == (0, ["venv", "pip", "lib.data"])
    assert make("setup")[1] == []
    (tmp_path / "fails lib run").write_text("3")  # for want of data
    done, asked = make("book")
    assert (done.returncode, asked) == (0, ["lib", "lib"])
    (tmp_path / "fails lib run").write_text("1")
    done, asked = make("book")
    assert (done.returncode, asked) == (2, ["lib"])


def test_a_key_is_read_before_the_site_is_built(make):
    make("setup", version="3.12.1")
    for key in ("seven", "-1", "1 2"):
        done, asked = make("course", f"KEY={key}")
        assert done.returncode and not asked and "want a whole number" in done.stdout
    assert make("course", "KEY=17")[1] == ["lib", "lib"]
    assert "lib course --key 17\n" in make("-n", "course", "KEY=17")[0].stdout
    assert "--key" not in make("-n", "course")[0].stdout


def test_lab_opens_a_copy_and_keeps_what_a_reader_wrote(make, tmp_path):
    make("setup", version="3.12.1")
    done, _ = make("lab")
    assert done.returncode and "usage: make lab NAME=products" in done.stdout
    done, asked = make("lab", "NAME=products")
    assert done.returncode and "make book comes first" in done.stdout
    assert "jupyterlab" not in asked
    built = tmp_path / "_build/html/_sources/book/products/evidence.ipynb"
    built.parent.mkdir(parents=True)
    built.write_text("as built")
    assert make("lab", "NAME=products/evidence")[1] == ["pip", "jupyterlab"]
    copy = tmp_path / "_build/lab/products/evidence.ipynb"
    assert copy.read_text() == "as built"
    copy.write_text("a reader's")
    make("lab", "NAME=products/evidence")
    assert copy.read_text() == "a reader's"
    assert built.read_text() == "as built"


def test_lab_pins_exactly_what_the_book_does_not():
    pins = [
        [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if "==" in line]
        for name in ("requirements.txt", "requirements-lab.txt")
    ]
    ours, labs = ({re.split("==", pin)[0].lower().replace("_", "-") for pin in one} for one in pins)
    assert "jupyterlab" in labs
    assert not ours & labs


def test_a_command_that_needs_the_network_is_named():
    """A line of help says so, or the README; `environment` is the part of `setup` that installs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipes = dict(re.findall(r"^(\w+):([^=].*\n(?:\t.*\n)+)", makefile, re.MULTILINE))
    online = {
        name for name, recipe in recipes.items() if "-m pip " in recipe or "-m lib.data" in recipe
    }
    assert online == {"environment", "lab", "bench", "mutate", "audit"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"Once set up, only (.*) need a network connection", readme)
    assert set(re.findall(r"`make (\w+)`", sentence)) == online - {"environment"}
    for name in online - {"environment"}:
        assert "needs the network" in recipes[name].split("\n")[0], name


def test_the_number_of_packages_is_about_as_announced():
    announced = re.search(r"some (\d+) packages", (ROOT / "Makefile").read_text(encoding="utf-8"))[
        1
    ]
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8").count("==")
    assert round(pins, -1) == int(announced)


@pytest.mark.parametrize("version", ["3.10.4", "3.15.0"])
def test_a_python_beyond_the_pins_is_refused(make, version):
    done, asked = make("setup", version=version)
    assert done.returncode and not asked
    assert (
        f"the book needs Python 3.11 to 3.14, not {version[:4]}: make setup PYTHON=python3.13\n"
        in done.stderr
    )


@pytest.mark.parametrize("system, machine", [("Windows", "AMD64"), ("Darwin", "x86_64")])
def test_a_system_without_support_is_refused(make, monkeypatch, system, machine):
    change = f"s/platform.system()/'{system}'/; s/platform.machine()/'{machine}'/"
    monkeypatch.setenv("SYSTEM", change)
    done, asked = make("setup", version="3.12.1")
    assert done.returncode and not asked
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(said) == 1
    assert said[0].endswith(f"or, on Windows, WSL, not {system} on {machine}")


def audited(make, folder, said, status):
    """Call `make audit` with a stand-in for pip-audit."""
    (folder / "requirements-lab.txt").touch()
    binaries = folder / "_build" / "audit" / "bin"
    binaries.mkdir(parents=True, exist_ok=True)
    for name, script in (("python", ""), ("pip-audit", f"echo '{said}' >&2; exit {status}")):
        (binaries / name).write_text(f"#!/bin/sh\n{script}\n")
        (binaries / name).chmod(0o755)
    return make("audit", version="3.12.1")[0]


def test_audit_says_whether_its_source_has_advisories(make, tmp_path):
    unknown = "jupyter-book: Dependency not found on PyPI and could not be audited"
    done = audited(make, tmp_path, unknown, 1)
    assert done.returncode
    assert "nothing was audited: the source of advisories is not reached" in done.stdout
    assert unknown not in done.stdout + done.stderr
    done = audited(make, tmp_path, "Found 1 known vulnerability", 1)
    assert done.returncode
    assert "Found 1 known vulnerability" in done.stdout
    assert audited(make, tmp_path, "No known vulnerabilities found", 0).returncode == 0

"""A copy of the book in other places: a few tests, a chapter and the build.

The copy has no .git and lies in a folder whose name has a blank and letters beyond ASCII.
"""

import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from evidence import Refusal, table
from lib.data import fetch

LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__", ".*_cache", "*.egg-info", "mutants")
TESTS = [
    "tests/data/test_images.py",
    "tests/test_claims.py",
    "tests/book/test_toc.py",
    "tests/theory/test_products.py",
]
COMMANDS = {
    "tests": ["-m", "pytest", "-p", "no:cacheprovider", *TESTS],
    "MNIST": ["-m", "lib.data"],
    "a chapter": ["-m", "lib", "run", "products"],
    "the build": ["-m", "lib", "build"],
}
NOBODY = 65534


@dataclass(frozen=True)
class Place:
    """Where the copy is tried.

    Attributes
    ----------
    words : what the table calls it
    before : what goes before each command
    environment : what differs; an empty PATH or HOME becomes a folder of few programs, and an empty one
    owner : the user to whom the copy belongs, if not to us
    """

    words: str
    before: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    owner: int | None = None


PLACES = {
    "folder": Place("a folder with a blank and umlauts in its name, no .git"),
    "user": Place(
        "another user, not root, whose home cannot be written to",
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--ambient-caps=-all", "--inh-caps=-all"],
        {"HOME": "/nonexistent"},
        NOBODY,
    ),
    "alone": Place(
        "no network, git, npm, node or browser on the path, an empty cache, MNIST from a folder, LC_ALL=C",
        ["unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"],
        {"PATH": "", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "HOME": ""},
    ),
}


def rows() -> dict[str, str]:
    """Name the places."""
    return {name: place.words for name, place in PLACES.items()}


def seconds(names: Sequence[str]) -> float | None:
    """Say how long it took the last time in these places, with whichever Python."""
    known = {row["place"]: row["tried"].values() for row in table.known("elsewhere").get("places", [])}
    took = {place: sum(tried["seconds"] for tried in all_tried) for place, all_tried in known.items()}
    return table.total(took.get(PLACES[name].words) for name in names)


def run(names: Sequence[str], python: str) -> int:
    """Try places with an interpreter, write the table after each; return 1 if something failed."""
    if shutil.which(python) is None:
        raise Refusal(f"no program {python}")
    version = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    found, kept = [], table.known("elsewhere").get("places", [])
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            tried = attempt(PLACES[name], python, Path(folder))
        found.append({"place": PLACES[name].words, "python": version, "tried": tried})
        record = {
            "date": datetime.now(UTC).date().isoformat(),
            "command": "python -m evidence elsewhere",
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, no GPU",
            "places": table.merged(kept, found, ("place", "python"), lambda row: False),
        }
        table.keep("elsewhere", record)
    return int(any(each["status"] for row in found for each in row["tried"].values()))


def attempt(place: Place, python: str, folder: Path) -> dict:
    """Run the commands in a copy of the book; return what each said last and how long it took."""
    copy, tools = folder / "Bücher und Läufe", folder / "tools"
    shutil.copytree(table.ROOT, copy, ignore=LEFT_OUT)
    shutil.copytree(fetch.place(fetch.MNIST), folder / "mnist")
    tools.mkdir()
    programs = {program.name: program for home in ("/usr/sbin", "/usr/bin") for program in Path(home).iterdir()}
    for name, program in programs.items():
        if not re.match(r"git|np[mx]|node|chrom|google-chrome", name):
            (tools / name).symlink_to(program)
    given = {"PYTHONPATH": str(copy), "TMPDIR": str(folder), "MNIST_DIR": str(folder / "mnist")}
    environment = os.environ | given | dict(place.environment)
    environment |= {name: str(tools if name == "PATH" else folder) for name in ("PATH", "HOME") if environment[name] == ""}
    if place.owner is not None:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, place.owner, place.owner, follow_symlinks=False)
    tried = {}
    for name, command in COMMANDS.items():
        start = time.monotonic()
        done = subprocess.run([*place.before, python, *command], cwd=copy, env=environment, capture_output=True, text=True)
        lines = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr).replace(str(folder), "…").strip().splitlines()
        last = next((line for line in reversed(lines) if re.search(r"\w", line)), "")
        tried[name] = {"status": done.returncode, "said": last.strip(), "seconds": round(time.monotonic() - start)}
        print(f"{place.words}: {name}: {tried[name]}", flush=True)
        if done.returncode:
            print("\n".join(lines[-40:]), flush=True)
    return tried

"""Try a copy of the book in other places, and keep how it went in book/evidence/elsewhere.json.

    python tests/elsewhere.py PYTHON ...

Each PYTHON is that of an environment with requirements.txt installed. Each gets a copy without .git in a folder whose name has a
blank and letters beyond ASCII; the first one is tried, too, as a user who may write to no home, and without network, git, npm
and browser in the C locale. There a few tests run, a chapter and the build.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from lib import data

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__", ".*_cache", "*.egg-info", "mutants")
TESTS = [
    "tests/test_cifar.py",
    "tests/test_claims.py",
    "tests/test_toc.py",
    "tests/theory/test_products.py",
]
COMMANDS = {
    "tests": ["-m", "pytest", "-p", "no:cacheprovider", *TESTS],
    "MNIST": ["-m", "lib.data"],
    "a chapter": ["-m", "lib", "run", "products"],
    "the build": ["-m", "lib", "build"],
}
NOBODY = 65534
ANOTHER = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--ambient-caps=-all", "--inh-caps=-all"]
ALONE = ["unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def places(pythons: list[str]) -> list[dict]:
    """List where to try: what to call it, the interpreter, what goes before the command, and the environment."""
    found = [{"python": python, "place": "a folder with a blank and umlauts in its name, no .git"} for python in pythons]
    found.append(
        {
            "python": pythons[0],
            "place": "another user, not root, whose home cannot be written to",
            "before": ANOTHER,
            "environment": {"HOME": "/nonexistent"},
        }
    )
    bare = {"PATH": "", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "HOME": ""}
    found.append(
        {
            "python": pythons[0],
            "place": "no network, git, npm, node or browser on the path, an empty cache, MNIST from a folder, LC_ALL=C",
            "before": ALONE,
            "environment": bare,
        }
    )
    return found


def attempt(place: dict, folder: Path) -> dict:
    """Run the commands in a copy of the book; return what each said last and how long it took."""
    copy, tools = folder / "Bücher und Läufe", folder / "tools"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
    shutil.copytree(data.place(data.MNIST), folder / "mnist")
    tools.mkdir()
    programs = {program.name: program for home in ("/usr/sbin", "/usr/bin") for program in Path(home).iterdir()}
    for name, program in programs.items():
        if not re.match(r"git|np[mx]|node|chrom|google-chrome", name):
            (tools / name).symlink_to(program)
    given = {"PYTHONPATH": str(copy), "TMPDIR": str(folder), "MNIST_DIR": str(folder / "mnist")}
    environment = os.environ | given | place.get("environment", {})
    environment |= {name: str(tools if name == "PATH" else folder) for name in ("PATH", "HOME") if environment[name] == ""}
    if place.get("before") == ANOTHER:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    tried = {}
    for name, command in COMMANDS.items():
        start = time.monotonic()
        done = subprocess.run(
            [*place.get("before", []), place["python"], *command], cwd=copy, env=environment, capture_output=True, text=True
        )
        lines = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr).replace(str(folder), "…").strip().splitlines()
        last = next((line for line in reversed(lines) if re.search(r"\w", line)), "")
        tried[name] = {"status": done.returncode, "said": last.strip(), "seconds": round(time.monotonic() - start)}
        print(f"{place['place']}: {name}: {tried[name]}", flush=True)
        if done.returncode:
            print("\n".join(lines[-40:]), flush=True)
    return tried


def main(pythons: list[str]) -> int:
    """Try every place, write the table after each; return 1 if something failed."""
    table = []
    record = {
        "date": datetime.now(UTC).date().isoformat(),
        "command": "python tests/elsewhere.py PYTHON ...",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, no GPU",
        "places": table,
    }
    path = ROOT / "book" / "evidence" / "elsewhere.json"
    path.parent.mkdir(exist_ok=True)
    for place in places(pythons):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            version = subprocess.run([place["python"], "--version"], capture_output=True, text=True, check=True).stdout.strip()
            table.append({"place": place["place"], "python": version, "tried": attempt(place, Path(folder))})
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(any(each["status"] for row in table for each in row["tried"].values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

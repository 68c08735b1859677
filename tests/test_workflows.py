"""The workflows: actionlint finds nothing, and they run what the Makefile and the command line have."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lib.__main__ import parser

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def steps(path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def test_there_is_a_workflow_for_the_checks_the_gpu_and_the_site():
    assert [path.stem for path in WORKFLOWS] == ["ci", "gpu", "site"]


@each_workflow
def test_actionlint_finds_nothing(path, tmp_path):
    program = shutil.which("actionlint", path=str(Path(sys.executable).parent)) or shutil.which("actionlint")
    if program is None:
        pytest.skip("no actionlint here: requirements.txt brings it on Linux only")
    command = [program, "-no-color", "-config-file", str(ROOT / ".github" / "actionlint.yaml")]
    found = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")
    broken = tmp_path / path.name
    broken.write_text(path.read_text(encoding="utf-8").replace("runs-on:", "runs-at:"), encoding="utf-8")
    assert subprocess.run([*command, str(broken)], capture_output=True, check=False).returncode == 1


@each_workflow
def test_every_command_exists(path):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    script = "\n".join(step.get("run", "") for step in steps(path))
    assert set(re.findall(r"\bmake ([\w-]+)", script)) <= targets
    for line in re.findall(r"python -m lib (.+)", script):
        parser().parse_args(re.sub(r'"\$\{chapters\[@\]\}"', "", line).replace('"$SEED"', "0").split())


def test_the_browser_is_required_where_it_is_installed():
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"].values()
    assert job["env"] == {"REQUIRE_BROWSER": "1"}
    runs = [step.get("run", "") for step in job["steps"]]
    assert runs.index(".venv/bin/python -m playwright install --with-deps chromium") < runs.index("bash .ci/run")


def test_the_gpu_job_keeps_notebooks_results_and_benchmarks():
    upload = steps(ROOT / ".github" / "workflows" / "gpu.yml")[-1]
    kept = {
        "_build/paper/*.ipynb",
        "_build/claims.json",
        "book/results/**/*.nc",
        "_build/benchmarks.txt",
        "book/evidence/speed.json",
    }
    assert set(upload["with"]["path"].split()) == kept

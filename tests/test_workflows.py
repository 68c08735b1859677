"""The workflows: they run what the Makefile and the command line
have, with actions of GitHub only. CI runs actionlint.
"""

import re
import tomllib
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


@each_workflow
def test_a_workflow_can_do_no_harm(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    wider = {
        name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job
    }
    assert wider == (
        {"publish": {"pages": "write", "id-token": "write"}} if path.stem == "site" else {}
    )
    assert not [step for step in steps(path) if "${{" in step.get("run", "")]
    used = [step for step in steps(path) if "uses" in step]
    ours = r"actions/[\w-]+@v\d+|docker://rhysd/actionlint:\d+\.\d+\.\d+"
    assert used and all(re.fullmatch(ours, step["uses"]) for step in used)
    checkouts = [step for step in used if step["uses"].startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_ci_tests_the_oldest_and_the_newest_python():
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))[
        "jobs"
    ]["test"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest, beyond = re.findall(r"3\.(\d+)", project["requires-python"])
    assert job["strategy"]["matrix"]["python"] == [f"3.{oldest}", f"3.{int(beyond) - 1}"]


@each_workflow
def test_every_command_exists(path):
    targets = set(
        re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    script = "\n".join(step.get("run", "") for step in steps(path))
    assert set(re.findall(r"\bmake ([\w-]+)", script)) <= targets
    for line in re.findall(r"python -m lib (.+)", script):
        parser().parse_args(
            re.sub(r'"\$\{chapters\[@\]\}"', "", line)
            .replace('"$SEED"', "0")
            .replace('"$BUDGET"', "2h")
            .rstrip(" |")
            .split()
        )

"""The examples in docstrings hold."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted([*ROOT.glob("lib/**/*.py"), *ROOT.glob("book/**/*.py")])
WITH_EXAMPLES = [path for path in MODULES if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    "name", [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in WITH_EXAMPLES]
)
def test_the_examples_in_docstrings_hold(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried and not failed

"""The examples in docstrings hold."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WITH_EXAMPLES = [path for path in sorted((ROOT / "lib").rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in WITH_EXAMPLES])
def test_the_examples_in_docstrings_hold(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried and not failed

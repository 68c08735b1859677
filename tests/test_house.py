"""Few modules, each with one idea that it names."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_few_modules_lie_outside_the_folders():
    assert len([path for path in (ROOT / "lib").glob("*.py") if not path.stem.startswith("__")]) <= 12


@pytest.mark.parametrize("path", sorted((ROOT / "lib").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_it_holds_and_is_short(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) <= 450

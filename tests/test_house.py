"""The house as the README draws it is the house that the import contract keeps, and every room says what lives there."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FLOORS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]["layers"]
WIDTH = 99  # of the picture


def picture(floors):
    """Draw each floor as a row of rooms."""
    rule = "─" * (WIDTH - 2)
    rows = []
    for floor in floors:
        rooms = floor.split(" | ")
        wide = [len(room) + (WIDTH - 1 - len(rooms)) // len(rooms) - sum(map(len, rooms)) // len(rooms) for room in rooms]
        wide[-1] += WIDTH - 1 - len(rooms) - sum(wide)
        rows.append("│" + "│".join(room.center(width) for room, width in zip(rooms, wide, strict=True)) + "│")
    return "\n".join([f"┌{rule}┐", f"\n├{rule}┤\n".join(rows), f"└{rule}┘"])


def test_the_readme_draws_the_house_of_the_contract():
    assert picture(FLOORS) in README, f"put this into README.md:\n{picture(FLOORS)}"


def test_few_modules_stand_beside_the_rooms():
    assert len([path for path in (ROOT / "lib").glob("*.py") if not path.stem.startswith("__")]) <= 12


@pytest.mark.parametrize("path", sorted((ROOT / "lib").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_lives_there_and_holds_one_idea(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) <= 450

"""Numbers that README and the front matter state about the book, against what they count."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from lib.__main__ import parser
from lib.provenance import PACKAGES
from lib.site import problems
from lib.site.book import Book

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OLDEST, BEYOND = map(int, re.findall(r"3\.(\d+)", SETTINGS["project"]["requires-python"]))
PYTHON = f"Python 3.{OLDEST} to 3.{BEYOND - 1}"
SEEDS = parser().parse_args(["seeds"]).count
BOOK = Book(ROOT)
CHAPTERS = {9: "Nine", 10: "Ten", 11: "Eleven", 12: "Twelve"}[len(BOOK.chapters)]

STATED = [
    ("README.md", PYTHON),
    ("README.md", f"each chapter with {SEEDS} seeds"),
    ("Makefile", f"each chapter with {SEEDS} seeds"),
    ("Makefile", PYTHON.removeprefix("Python ")),
    ("book/index.md", PYTHON),
    ("book/index.md", f"{CHAPTERS} chapters"),
    ("book/index.md", f"{CHAPTERS} lectures"),
    ("book/course.md", f"the {CHAPTERS.lower()} chapters"),
    ("book/rerun.md", PYTHON),
    ("book/contribute.md", f"`.venv/bin/python -m lib seeds my_topic` runs {SEEDS}"),
]


@pytest.mark.parametrize("page, words", STATED)
def test_a_page_states_the_number_that_is_counted(page, words):
    assert words in (ROOT / page).read_text(encoding="utf-8")


LISTS = [("lib/__main__.py", "`store` needs")]
LISTS += [("book/rerun.md", "A machine that only precomputes needs")]


@pytest.mark.parametrize("page, beginning", LISTS)
def test_a_page_lists_the_packages_that_store_needs(page, beginning):
    text = (ROOT / page).read_text(encoding="utf-8")
    listed = text.split(beginning)[1][:200].lower()
    assert [name for name in (*PACKAGES, "threadpoolctl", "tqdm") if name not in listed] == []


def test_the_version_of_reveal_is_the_one_that_is_vendored():
    script = (ROOT / "book" / "_static" / "vendor" / "reveal" / "reveal.js").read_text(
        encoding="utf-8"
    )
    stated = re.search(
        r"\(https://revealjs\.com\) ([\d.]+)", (ROOT / "README.md").read_text(encoding="utf-8")
    )[1]
    assert f'"{stated}"' in script


def test_theory_needs_no_other_packages_than_stated():
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for path in [*ROOT.glob("lib/theory/*.py"), *ROOT.glob("book/*/theory.py")]
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imported = {
        alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    packages = {name.split(".")[0] for name in imported} - sys.stdlib_module_names - {"book", "lib"}
    assert packages == {"numpy", "scipy", "xarray"}
    for page in ("README.md", "book/contribute.md", "lib/theory/__init__.py"):
        assert "NumPy, SciPy and xarray only" in (ROOT / page).read_text(encoding="utf-8"), page


def test_each_chapter_has_what_the_syllabus_offers():
    for folder in ("plan", "slides", "lab", "quiz"):
        assert list(BOOK.beside(folder)) == BOOK.chapters
    assert problems.sets(BOOK) == BOOK.chapters


def test_each_lecture_takes_90_minutes():
    for chapter, text in BOOK.beside("plan").items():
        plan = text.split("## The 90 minutes")[1].split("\n## ")[0]
        assert sum(map(int, re.findall(r"^\| (\d+) \|", plan, re.MULTILINE))) == 90, chapter


def test_the_licence_of_the_code_is_mit_alone():
    words = (ROOT / "LICENSE").read_text(encoding="utf-8").split("\n\n")
    assert [text[:20] for text in words] == [
        "MIT License",
        "Copyright (c) 2026 T",
        "Permission is hereby",
        "The above copyright ",
        "THE SOFTWARE IS PROV",
    ]


def test_the_layout_goes_down_the_layers():
    contracts = SETTINGS["tool"]["importlinter"]["contracts"]
    (layers,) = [one["layers"] for one in contracts if one.get("containers") == ["lib"]]
    level = {name: number for number, layer in enumerate(layers) for name in layer.split(" | ")}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`lib/.*?) \|", readme, re.MULTILINE)
    named = [re.findall(r"`(?:lib/)?(\w+)(?:/|\.py)`", row) for row in rows]
    levels = [level[name] for row in named for name in row]
    assert len(levels) >= 10
    assert levels == sorted(levels)

"""A chapter from the template, in a copy of the whole book: it passes the checks and the site is built with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lib.book import template, toc

ROOT = Path(__file__).parents[2]
FOLDERS = ("book", "lib", "tests")
FILES = ("_config.yml", "_toc.yml", "CITATION.cff", "README.md", "jupytext.toml", "pyproject.toml", "requirements.txt")
NAME = "a_new_topic"


def copy(folder):
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.partial"))
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """A copy of the book with a new chapter, executed."""
    root = copy(tmp_path_factory.mktemp("template"))
    template.new(root, NAME)
    python(root, "-m", "lib", "run", NAME, "--jobs", "1")
    return root


def python(root, *arguments):
    """Run Python in a copy of the book, with the copy's own library."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_chapter_comes_last_and_has_a_week(started):
    assert toc.chapters(started) == [*toc.chapters(ROOT), NAME]
    guide = yaml.safe_load((started / "book" / "course.yml").read_text(encoding="utf-8"))
    assert guide["weeks"][-1]["chapters"] == [NAME]
    assert NAME in guide["chapters"]


def test_the_chapter_passes_the_checks(started):
    said = python(
        started, "-m", "pytest", "-p", "no:cacheprovider", "tests/test_chapters.py", f"tests/theory/test_{NAME}.py", "-rA"
    )
    assert f"test_chapter_has_enough_claims_under_its_own_name[{NAME}]" in said
    assert "test_the_path_is_the_integrated_flow" in said
    python(started, "-m", "pytest", "-p", "no:cacheprovider", "tests/test_bad_input.py", "-k", f"entry or {NAME}")


def test_the_chapter_is_in_style(started):
    python(started, "-m", "ruff", "check", "--no-cache", ".")
    python(started, "-m", "ruff", "format", "--no-cache", "--check", ".")


def test_the_chapter_gives_the_same_verdicts_again(started):
    python(started, "-m", "pytest", "-p", "no:cacheprovider", "--nbval-lax", f"book/{NAME}.ipynb")


def test_the_site_is_built_with_it(started):
    python(started, "-m", "lib", "build")
    pages = started / "_build" / "html" / "book"
    assert "10 reproduced, 1 corrected, 4 new" in (pages / "index.html").read_text(encoding="utf-8")
    assert "claim-corrected" in (pages / f"{NAME}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["", "Topic", "two words", "../up", "topic2", "_topic", "a__b"])
def test_a_malformed_name_is_refused(name):
    with pytest.raises(ValueError, match="want small letters"):
        template.new(ROOT, name)


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(ValueError, match="the book has it already"):
        template.new(ROOT, toc.chapters(ROOT)[0])


def test_a_file_that_exists_is_kept(tmp_path):
    shutil.copy(ROOT / "_toc.yml", tmp_path)
    shutil.copytree(ROOT / "book" / "_template", tmp_path / "book" / "_template")
    (tmp_path / "book" / "topic.md").write_text("mine")
    with pytest.raises(ValueError, match=r"book/topic\.md exists already"):
        template.new(tmp_path, "topic")
    assert (tmp_path / "book" / "topic.md").read_text() == "mine"
    assert not (tmp_path / "lib").exists()

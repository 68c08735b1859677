"""A chapter from the template, in a copy of the whole book: it passes the checks and the site is built with it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from lib.book import template, toc

ROOT = Path(__file__).parents[2]
FOLDERS = ("book", "lib", "tests")
FILES = (
    "_config.yml",
    "_toc.yml",
    "CITATION.cff",
    "conftest.py",
    "README.md",
    "jupytext.toml",
    "pyproject.toml",
    "requirements.txt",
)
NAME = "a_new_topic"
PROBLEM = "Problem: its solution is not on this site. The problem set checks yours."


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
    others = f"not ({' or '.join(toc.chapters(ROOT))})"
    paths = "tests/test_chapters.py", f"tests/theory/test_{NAME}.py"
    said = python(started, "-m", "pytest", "-p", "no:cacheprovider", *paths, "-k", others, "-rA")
    for rule in (
        "test_chapter_has_enough_claims_under_its_own_name",
        "test_a_chapter_opens_with_a_picture_its_findings_and_what_one_needs",
        "test_two_problems_have_their_solutions_elsewhere_and_one_exercise_is_hard",
    ):
        assert f"{rule}[{NAME}]" in said
    assert "test_the_path_is_the_integrated_flow" in said
    python(started, "-m", "pytest", "-p", "no:cacheprovider", "tests/test_bad_input.py", "-k", f"entry or {NAME}")


def test_the_chapter_is_in_style(started):
    python(started, "-m", "ruff", "check", "--no-cache", ".")
    python(started, "-m", "ruff", "format", "--no-cache", "--check", ".")


def test_the_chapter_gives_the_same_verdicts_again(started):
    python(started, "-m", "pytest", "-p", "no:cacheprovider", "--nbval-lax", f"book/{NAME}.ipynb")


@pytest.fixture(scope="module")
def site(started):
    """The site's folder."""
    python(started, "-m", "lib", "build")
    return started / "_build" / "html"


def test_the_site_is_built_with_it(site):
    pages = site / "book"
    assert "10 reproduced, 1 corrected, 4 new" in (pages / "index.html").read_text(encoding="utf-8")
    assert "claim-corrected" in (pages / f"{NAME}.html").read_text(encoding="utf-8")


def article(site, page):
    """Read a page of the site, without code."""
    words = BeautifulSoup((site / "book" / f"{page}.html").read_text(encoding="utf-8"), "html.parser").article
    for part in words.select("pre, script, svg"):
        part.decompose()
    return words


RATE = r"e^{-2\lambda t}"  # in the statement of a claim that is corrected


@pytest.mark.parametrize(
    "page, place",
    [
        (NAME, f"#{NAME}-loss-rate"),
        (NAME, "table.ledger tr:nth-child(6)"),
        ("what_replicates", f"tr:has(#what_replicates-{NAME}-loss-rate)"),
        ("errata", f"tr:has(#errata-{NAME}-loss-rate)"),
    ],
)
def test_the_formulas_of_a_statement_are_typeset_wherever_it_stands(site, page, place):
    words = article(site, page)
    assert RATE in [formula["data-tex"] for formula in words.select_one(place).find_all("math")]
    assert "$" not in words.get_text()


def test_where_nothing_can_be_typeset_formulas_are_plain(site):
    places = (site / "places.js").read_text(encoding="utf-8")
    assert "the loss falls like e^(-2λ t) (its rate, over λ)" in places
    notebook = json.loads((site.parents[1] / "book" / f"{NAME}.ipynb").read_text(encoding="utf-8"))
    lines = [output["data"]["text/plain"] for cell in notebook["cells"] for output in cell.get("outputs", []) if "data" in output]
    (line,) = [line for line in map("".join, lines) if "corrected |" in line]
    assert line.startswith("✎ corrected | the loss falls like e^(-2λ t) (its rate, over λ) | measured 2 (as printed: 1)")


def test_captions_and_previews_are_typeset(site):
    words = article(site, NAME)
    assert len(words.select(f"#fig-{NAME.replace('_', '-')}-steps figcaption math")) == 5
    preview = (site / "book" / f"{NAME}.preview.js").read_text(encoding="utf-8")
    assert "$" not in preview and preview.count("<math") > 20


def test_the_parameters_are_hidden_and_problems_say_that_they_are_some(site):
    html = (site / "book" / f"{NAME}.html").read_text(encoding="utf-8")
    assert "profile = " not in BeautifulSoup(html, "html.parser").article.get_text().replace(chr(160), " ")
    words = article(site, NAME)
    assert [part.get_text() for part in words.select(".problem .problem-mark")] == [PROBLEM] * 2
    assert len(words.select(".problem-mark")) == 2 and len(words.select(".solution")) == 5
    listed = [item.get_text() for item in article(site, "course").find_all("li") if "problem: its solution" in item.get_text()]
    assert [text for text in listed if text.startswith(("Two steps (medium;", "Many curvatures (hard;"))] == listed[-2:]
    assert not (site / "book" / "problems").exists()


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

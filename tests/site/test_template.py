"""A chapter from the template, in a copy of the whole book: it passes the checks and the site is built with it."""

import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from docutils.nodes import make_id
from handed_out import markup
from handed_out import words as markdown
from pybtex.database import parse_string

from lib.site import labs, problems, template, toc
from lib.site.myst import References

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
PROBLEM = "Problem: its solution is not on this site."


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


def test_the_chapter_comes_last(started):
    assert toc.notebooks(started) == [*toc.notebooks(ROOT), NAME, f"evidence/{NAME}"]


def test_the_chapter_passes_the_checks(started):
    others = f"not ({' or '.join(toc.chapters(ROOT))})"
    paths = "tests/test_chapters.py", f"tests/theory/test_{NAME}.py"
    said = python(started, "-m", "pytest", "-p", "no:cacheprovider", *paths, "-k", others, "-rA")
    for rule in (
        "test_a_lesson_is_short_and_leaves_most_checks_to_its_evidence_page",
        "test_a_lesson_leads_to_every_section_of_its_evidence_page",
        "test_what_a_table_of_coverage_names_is_there",
        "test_a_chapter_opens_with_a_picture_its_findings_and_what_one_needs",
        "test_exercises_go_from_easy_to_research_and_all_but_the_problems_have_a_folded_solution",
    ):
        assert f"{rule}[{NAME}]" in said
    assert "test_the_path_is_the_integrated_flow" in said


def test_the_chapter_is_in_style(started):
    python(started, "-m", "ruff", "check", "--no-cache", ".")
    python(started, "-m", "ruff", "format", "--no-cache", "--check", ".")


def test_the_chapter_gives_the_same_verdicts_again(started):
    python(started, "-m", "pytest", "-p", "no:cacheprovider", "--nbval-lax", f"book/{NAME}.ipynb", f"book/evidence/{NAME}.ipynb")


@pytest.fixture(scope="module")
def site(started):
    """The site's folder."""
    python(started, "-m", "lib", "build")
    return started / "_build" / "html"


def test_the_site_is_built_with_it(site):
    pages = site / "book"
    cards = article(pages / "index.html").select(".chapter-cards a")
    assert cards[-1]["href"] == f"{NAME}.html"
    assert "claim-corrected" in (pages / f"{NAME}.html").read_text(encoding="utf-8")


def test_the_evidence_page_and_the_page_of_all_documents_say_where_things_are(site):
    table = article(site / "book" / f"evidence/{NAME}.html").select_one("table.coverage")
    rows = [" ".join(row.get_text().split()) for row in table.select("tbody tr")]
    assert rows[1].startswith("Eq. 3: the rate of the loss Eq. (10.2)") and rows[1].endswith("corrected")
    assert rows[3].endswith("missing: there is no such figure")
    (anchor,) = article(site / "book" / "where.html").select(f"#{NAME.replace('_', '-')}-eq-3")
    assert f"evidence/{NAME}.html#{NAME}-diverges" in str(anchor.find_parent("table"))
    places = json.loads((site / "places.js").read_text(encoding="utf-8").removeprefix("const PLACES = ").rstrip().rstrip(";"))
    assert ["item", "Replace by authors, Eq. 3: the rate of the loss"] in [[place[2], place[4]] for place in places["places"]]


def article(page):
    """Read a page of the site, without code."""
    words = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").select_one("article, main.bd-article")
    for part in words.select("pre, script, svg"):
        part.decompose()
    return words


RATE = r"e^{-2\lambda t}"  # in the statement of a claim that is corrected


@pytest.mark.parametrize(
    "page, place",
    [
        (NAME, f"#{NAME}-loss-rate"),
        (NAME, "table.ledger tr:nth-child(4)"),
        ("what_replicates", f"tr:has(#what_replicates-{NAME}-loss-rate)"),
    ],
)
def test_the_formulas_of_a_statement_are_typeset_wherever_it_stands(site, page, place):
    words = article(site / "book" / f"{page}.html")
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
    words = article(site / "book" / f"{NAME}.html")
    assert len(words.select(f"#fig-{NAME.replace('_', '-')}-steps figcaption math")) == 5
    preview = (site / "book" / f"{NAME}.preview.js").read_text(encoding="utf-8")
    assert "$" not in preview and preview.count("<math") > 20


def test_the_parameters_are_hidden_and_problems_say_that_they_are_some(site):
    html = (site / "book" / f"{NAME}.html").read_text(encoding="utf-8")
    assert "profile = " not in BeautifulSoup(html, "html.parser").article.get_text().replace(chr(160), " ")
    words = article(site / "book" / f"{NAME}.html")
    assert [part.get_text() for part in words.select(".problem .problem-mark")] == [PROBLEM] * 2
    assert len(words.select(".problem-mark")) == 2 and len(words.select(".solution")) == 5
    assert not (site / "book" / "problems").exists()


def test_what_the_site_hands_out_has_no_markup(started, site):
    """Decks, plans, course guide and syllabus; labs, problem sets, and the notebooks that the pages offer."""
    course = [site / "book" / f"{name}.html" for name in ("course", "syllabus")]
    for page in [*course, *site.glob("slides/*.html"), *site.glob("book/course/*.html")]:
        assert not markup(article(page).get_text(), typeset=True), page
    for deck in site.glob("slides/*.html"):
        html = deck.read_text(encoding="utf-8")
        assert all((deck.parent / picture).is_file() for picture in re.findall(r'<img[^>]* src="([^":]+)"', html)), deck
        assert all(figure.select_one("img, svg") for figure in BeautifulSoup(html, "html.parser").select("figure")), deck
    notebooks = [*site.glob("labs/*.ipynb"), *site.glob("problems/*.ipynb"), *site.glob("_sources/book/**/*.ipynb")]
    assert len(notebooks) == len(labs.labs(started)) + len(problems.sets(started)) + len(toc.notebooks(started))
    for path in notebooks:
        assert not markup(markdown(json.loads(path.read_text(encoding="utf-8")))), path


def test_notebooks_and_decks_have_the_numbers_of_the_site(started, site):
    said, shown = References(started).said, {}
    for chapter in toc.notebooks(started):
        for part in article(site / "book" / f"{chapter}.html").select("div.math[id], figure[id], div.exercise[id]"):
            number = part.select_one(".eqno, .caption-number").find(string=True)
            shown[make_id(part["id"].removeprefix("equation-"))] = number.strip()
        if not (deck := site / "slides" / f"{chapter}.html").is_file():
            continue
        links = article(deck).select("a[href*='#']")
        texts = {make_id(link["href"].split("#")[1].removeprefix("equation-")): link.get_text() for link in links}
        assert texts and all(texts[name] == shown[name] for name in set(texts) & set(shown))
    assert shown == {make_id(label): number for label, number in said.items() if make_id(label) in shown}


def test_each_chapter_leads_to_what_there_is_to_teach_it_with_and_back(started, site):
    names, behind = problems.sets(started), toc.notebooks(started)  # those with a plan, slides, a lab and a problem set
    more = {name: f"{toc.EVIDENCE}{name}" in behind for name in names}
    wanted = [("book/syllabus.html", "td:nth-of-type(3) a", 5 * len(names) + sum(more.values()))]
    wanted += [(f"book/{name}.html", ".materials a, .problem-mark a", 4 + 2 + more[name]) for name in names]
    wanted += [(f"book/course/{name}.html", ".materials a", 4 + more[name]) for name in names]
    for page, selector, count in wanted:
        links = article(site / page).select(selector)
        assert len(links) == count, page
        assert all((site / page).parent.joinpath(link["href"]).is_file() for link in links)


def test_book_and_chapters_have_entries_that_tex_can_typeset(started, site):
    pages = [path.read_text(encoding="utf-8") for path in site.glob("book/*.html")]
    entries = [unescape(entry) for page in pages for entry in re.findall(r"<pre>(@misc.*?)</pre>", page, re.DOTALL)]
    found = parse_string("\n".join(entries), "bibtex").entries
    assert len(found) == len(entries) == len(toc.chapters(started))
    assert all(entry.persons["author"] for entry in found.values())
    assert not [entry for entry in entries if re.search(r"^(?:title|note) = .*(?<!\\)[_$%&#^~]", entry, re.MULTILINE)]


@pytest.mark.parametrize("name", ["", "Topic", "two words", "../up", "topic2", "_topic", "a__b"])
def test_a_malformed_name_is_refused(name):
    with pytest.raises(ValueError, match="want lowercase letters"):
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

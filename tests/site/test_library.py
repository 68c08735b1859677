"""The code on the site: its pages, and the links from names to their source."""

import ast
import re
from pathlib import Path
from urllib.parse import urldefrag

import pytest
import small_site as small
from bs4 import BeautifulSoup

from lib.site import build, library, search, shown, sources
from lib.site.book import Book

BOOK = Book(Path(__file__).parents[2])
KERNELS = "library/kernels.html"
APART = f"{KERNELS}#lib.kernels.tangent.kernel_distance"
THEORY = "one/code.html#book.one.theory"
LINKS = [
    ("book.one", "one/code.html"),
    ("theory", THEORY),
    ("lib", "library.html"),
    ("kernels", KERNELS),
    ("lib.kernels", KERNELS),
    ("kernel_distance as apart", APART),
    ("theory.twice", f"{THEORY}.twice"),
    ("apart", APART),
    ("kernels.ntk", f"{KERNELS}#lib.kernels.tangent.ntk"),
    ("theory.SIZES", f"{THEORY}.SIZES"),
    ("theory.Twice", f"{THEORY}.Twice"),
]


def read(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").article


def links(page):
    return [(link.get_text(), link["href"]) for link in page.select("a.to-source")]


def words(part):
    return " ".join(part.get_text().split())


@pytest.fixture(scope="module")
def code(small_site):
    """The page of a chapter's code."""
    return read(small_site / "_build/html/book/one/code.html")


def test_names_in_open_and_folded_cells_lead_to_their_source(small_site):
    site = small_site / "_build/html/book"
    assert links(read(site / "one.html")) == LINKS
    above = [(name, f"../{place}".replace("../one/", "")) for name, place in LINKS]
    del above[6]
    assert links(read(site / "one/evidence.html")) == above


def test_links_in_code_and_docstrings_lead_to_what_there_is(small_site):
    site = small_site / "_build/html/book"
    pages = {path.resolve(): read(path) for path in site.rglob("*.html")}
    found = [(path, link) for path, page in pages.items() for link in page.select("a[href]")]
    ours = [(path, link["href"]) for path, link in found if "#lib." in link["href"]]
    assert len(ours) > 50
    for path, link in ours:
        page, anchor = urldefrag(link)
        assert pages[(path.parent / page).resolve() if page else path].find(id=anchor), link


def test_a_page_that_is_generated_offers_no_template(small_site):
    def offered(page):
        text = (small_site / f"_build/html/book/{page}.html").read_text(encoding="utf-8")
        return re.findall(r'href="([^"]*_sources/[^"]+)"', text)

    assert not offered("library")
    assert offered("cover") == ["../_sources/book/cover.md"]
    assert offered("one") == ["../_sources/book/one.ipynb"]


def test_the_code_of_a_page_is_as_it_was(small_site):
    shown_code = "".join(
        part.get_text() for part in read(small_site / "_build/html/book/one.html").select("pre")
    )
    for cell in Book(small_site).notebook("one")["cells"][2:]:
        if cell["cell_type"] == "code":
            assert "".join(cell["source"]) in shown_code


def test_a_function_has_formulas_shapes_users_and_source(code):
    section = code.find(id="book.one.theory.twice")
    assert [math["alttext"].strip() for math in section.select("math")] == [
        "f(x) = 2x",
        r"\int_0^x 2\,dx' = 2x",
    ]
    assert words(section.ul) == "x: (n,) numbers, which _half halves size: as in Twice"
    assert "Used in Chapter one def twice" in words(section)
    assert '"""' not in section.pre.get_text() and "np.multiply" in section.pre.get_text()
    assert [link["href"] for link in section.select("p a:has(code), li a:has(code)")] == [
        "#book.one.theory._half",
        "#book.one.theory.Twice",
        f"../{APART}",
    ]


def test_used_in_names_lesson_and_evidence(code):
    used = code.find(id="book.one.theory.Twice").find("p", string=None)
    named = [link["href"] for link in code.find(id="book.one.theory.Twice").select("p a")]
    assert used and named == ["../one.html", "evidence.html"]


def test_private_functions_and_constants_have_places(code):
    assert code.find(id="book.one.theory.SIZES").pre.get_text().startswith("import numpy")
    assert words(code.find(id="book.one.theory._half")).startswith('@twice def _half(x): """Halve')


def test_modules_come_behind_those_that_they_import():
    for page in filter(sources.package, BOOK.pages):
        modules = [one for one in sources.modules(BOOK).values() if one.page == page]
        names = [module.name for module in library.ordered(modules)]
        assert names[0] == sources.package(page) and len(names) == len(modules)
        for number, name in enumerate(names[1:], start=1):
            meant = sources.modules(BOOK)[name].meanings.values()
            assert not [later for later in names[number + 1 :] if f"{later}." in " ".join(meant)]


@pytest.mark.parametrize(
    "code, found",
    [
        ("from lib import runs\nruns.load('one').x", ["lib", "lib.runs", "lib.runs.profile.load"]),
        ("import lib.claims as c\nc.check(1)", ["lib.claims", "lib.claims.check"]),
        ("from lib.claims import check\ndef f(check): check()", ["lib.claims", "lib.claims.check"]),
        ("import numpy\nnumpy.load", []),
        ("from lib.site import book", []),
        ("$ python -m lib build", []),
    ],
)
def test_names_are_followed_to_where_they_are_shown(code, found):
    assert [use.name for use in sources.uses(BOOK, code, {})] == found


def test_every_package_of_cells_has_a_page():
    for name in BOOK.notebooks:
        for cell in BOOK.notebook(name)["cells"]:
            if cell["cell_type"] == "code" and "parameters" not in cell["metadata"].get("tags", []):
                tree = ast.parse("".join(cell["source"]))
                for node in ast.walk(tree):
                    if isinstance(node, ast.ImportFrom) and re.match("lib|book", node.module):
                        meant = sources.imported(node).values()
                        assert all(sources.find(BOOK, full) for full in meant), ast.unparse(node)


def test_pages_of_code_come_behind_others_in_the_search(small_site):
    site = small_site / "_build" / "html"
    weighed = {
        page: "data-pagefind-weight" in search.searched(page, shown.article(site, page))
        for page in Book(small_site).pages
    }
    assert [page for page, behind in weighed.items() if behind] == [
        "book/library",
        "book/library/kernels",
        "book/one/code",
    ]


@pytest.mark.slow
def test_what_changes_in_a_package_is_built_again(tmp_path):
    def page():
        build.build(Book(tmp_path))
        html = (tmp_path / "_build/html/book/one/code.html").read_text(encoding="utf-8")
        return BeautifulSoup(html, "html.parser")

    path = small.write(tmp_path).folder / "one" / "theory.py"
    assert "Double a" in page().article.get_text()
    path.write_text(path.read_text(encoding="utf-8").replace("Double a", "Twice a"), "utf-8")
    changed = page()
    assert "Twice a" in changed.article.get_text()
    assert "Chapter two" in changed.select_one(".bd-sidebar").get_text()
    path.with_name("more.py").write_text('"""A module more."""\n')
    assert page().find(id="book.one.more")

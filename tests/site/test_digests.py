"""What the claims of a notebook depend on has a name, and its words have none."""

import ast

import pytest
import small_book
import xarray as xr

from lib import runs
from lib.site import digests, execute
from lib.site.book import Book

CELL = """\
from lib import claims, runs
from lib.bounds import at_most
from lib.measures import inverse_participation_ratio as ratio

label = "a word or two"
few = at_most(1)
claims.check("one/few", "it is small", measure="a number", source="p. 1", measured=ratio([1.0, seed]), expected=few, rivals={"two less": 3})"""


@pytest.fixture
def root(tmp_path):
    return small_book.write(tmp_path / "book", CELL, "three = 3")


def digest(root, was="", now=""):
    path = root / "book" / "one.md"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now))
    return digests.digest(Book(root), "one")


@pytest.mark.parametrize(
    "was, now",
    [
        ("# Chapter", "# Another title, chapter"),
        ("it is small", "it is tiny"),
        ("a word or two", "other words"),
        ("two less", "a small rival"),
        ("p. 1", "p. 2"),
        ("few = at_most(1)", "few = (  # a bound\n    at_most(1))"),
        (":tags: [parameters]", "---\ntags: [parameters]\n---"),
        ("label = ", "from lib import kernels\n\nlabel = "),
    ],
)
def test_words_options_and_modules_do_not_count(root, was, now):
    before = digest(root)
    assert digest(root, was, now) == before


def test_the_digest_is_the_same_under_every_python(root):
    text = """```{code-cell}
def slope(x):
    return [x, 2, "two of them"]
```

```{code-cell}
print(f"{slope(1j)!r:>9} {2.5:g}")
```
"""
    (root / "book" / "one.md").write_text(text)
    assert digest(root) == "2c15f262d8161a95"


@pytest.mark.parametrize(
    "was, now",
    [
        ("at_most(1)", "at_most(2)"),
        ("seed])", "2 * seed])"),
        ("as ratio", "as ratio\nfrom lib.claims import settled"),
    ],
)
def test_code_counts(root, was, now):
    before = digest(root)
    assert digest(root, was, now) != before


def test_what_a_cell_reaches_in_lib_counts(root, monkeypatch):
    before = digest(root)
    monkeypatch.setattr(digests, "_reached", lambda name: {name: "changed"})
    assert digest(root) != before


def test_numbers_of_stored_results_count_and_their_attributes_do_not(root):
    path = root / "book" / "one" / "results" / "run.nc"
    path.parent.mkdir(parents=True)
    xr.Dataset({"x": 1.0}).to_netcdf(path, engine="scipy")
    before = digest(root)
    xr.Dataset({"x": 1.0}, attrs={"verified": "yes"}).to_netcdf(path, engine="scipy")
    assert digest(root) == before
    xr.Dataset({"x": 2.0}).to_netcdf(path, engine="scipy")
    assert digest(root) != before


def test_an_evidence_page_depends_on_its_chapter_s_results(root):
    small_book.add_evidence(root, "one", "three = 3")
    before = digests.digest(Book(root), "one/evidence")
    path = root / "book" / "one" / "results" / "run.nc"
    path.parent.mkdir()
    xr.Dataset({"x": 1.0}).to_netcdf(path, engine="scipy")
    assert digests.digest(Book(root), "one/evidence") != before


def test_texts_in_a_stored_result_are_read_as_texts(root):
    """Not as the addresses where they lie, which differ each time."""
    path = root / "book" / "one" / "results" / "run.nc"
    path.parent.mkdir(parents=True)
    seen = []
    kept = []
    for text in ("here", "here", "there"):
        xr.Dataset({"x": ("row", [1.0])}, {"row": [text]}).to_netcdf(path, engine="scipy")
        kept.append(xr.load_dataset(path, engine="scipy"))  # what is read next lies elsewhere
        seen.append(digest(root))
    assert seen[0] == seen[1] != seen[2]


def test_a_chapter_depends_on_its_theory_not_the_site():
    cells = execute.draft(Book(runs.run.ROOT), "products").cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    names = digests._names(ast.parse(code))
    found = {reached for name in names for reached in digests._reached(name)}
    assert "book.products.theory.time_to_reach" in found
    assert not [name for name in found if name.startswith("lib.site")]

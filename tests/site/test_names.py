"""Names of claims that were released lead to a claim for ever."""

from pathlib import Path

import pytest

from lib.__main__ import main
from lib.site import citing, ledger, names

ROOT = Path(__file__).parents[2]
CLAIMS = [{"id": "one/kept"}, {"id": "one/new"}]


@pytest.fixture
def root(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "CHANGELOG.md").write_text("- one/old is now one/new, which holds for all depths.\n")
    return tmp_path


def write(root, *lines):
    (root / names.NAMES).write_text("\n".join(lines) + "\n")


def test_the_books_names_are_whole():
    names.refuse_broken(ROOT, ledger.read(ROOT), released=bool(citing.read(ROOT).date))


def test_a_name_may_go_if_it_leads_to_a_claim(root):
    write(root, "one/kept", "one/old one/new", "one/new")
    names.refuse_broken(root, CLAIMS, released=True)
    assert names.former(root, "one/new") == ["one/old"] and names.former(root, "one/kept") == []


@pytest.mark.parametrize(
    "lines, said",
    [
        (["one/gone"], "one/gone leads to one/gone, which is no claim: write a claim's name behind it"),
        (["one/old one/gone"], "one/old leads to one/gone, which is no claim"),
        (["one/lost one/new"], "one/lost is gone, and CHANGELOG.md does not say why: add an entry"),
        (["one/kept"], "lacks one/new: list the names with `python -m lib report --freeze`"),
    ],
)
def test_a_release_with_broken_names_is_refused(root, lines, said):
    write(root, *lines)
    with pytest.raises(ValueError, match=said):
        names.refuse_broken(root, CLAIMS, released=True)


def test_before_a_release_no_name_is_frozen(root):
    names.refuse_broken(root, CLAIMS, released=False)


def test_freezing_adds_names_and_keeps_those_that_are_gone(root):
    write(root, "one/old one/new")
    names.freeze(root, CLAIMS)
    assert (root / names.NAMES).read_text() == "one/old one/new\none/kept\none/new\n"


def test_report_freezes_the_names_when_asked(root, monkeypatch):
    (root / "_toc.yml").write_text("root: book/index\nchapters:\n  - file: book/products.ipynb\n")
    (root / "book" / "products.ipynb").symlink_to(ROOT / "book" / "products.ipynb")
    monkeypatch.chdir(root)
    assert main(["report"]) == 0 and not names.frozen(root)
    assert main(["report", "--freeze"]) == 0
    assert list(names.frozen(root)) == [record["id"] for record in ledger.read(root)]

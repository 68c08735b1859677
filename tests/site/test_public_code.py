"""Words about the authors' code lead to its repository, and claims name it."""

import ast
from pathlib import Path

import pytest

from lib.site import coverage, execute, public_code
from lib.site.book import Book

ROOT = Path(__file__).parents[2]
BOOK = Book(ROOT)
NAMES = [one.repository for one in public_code.repositories(BOOK).values()]


@pytest.mark.parametrize("mention", ["authors' code", "authors’ public notebook", "public code"])
@pytest.mark.parametrize("page, up", [("book/products", ""), ("book/products/evidence", "../")])
def test_a_mention_of_the_code_becomes_a_link(mention, page, up):
    link = f'<a class="reference external" href="{up}where.html#where-code">{mention}</a>'
    body = "<p>We follow the {} here.</p>"
    assert public_code.linked(page, body.format(mention)) == body.format(link)


@pytest.mark.parametrize("tag", ["h2", "a", "code", "svg"])
def test_headings_links_and_code_keep_their_words(tag):
    body = f'<{tag} class="x"><b>the authors\' code</b></{tag}>'
    assert public_code.linked("book/products", body) == body


def sources(notebook):
    """List the sources of a notebook's claims, as its code writes them."""
    for cell in execute.draft(BOOK, notebook).cells:
        if cell.cell_type == "code" and "claims.check(" in cell.source:
            keywords = [
                node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.keyword)
            ]
            yield from (ast.unparse(one.value) for one in keywords if one.arg == "source")


@pytest.mark.parametrize("notebook", BOOK.notebooks)
def test_a_claim_from_code_names_its_repository(notebook):
    for source in sources(notebook):
        if "authors' " in source or public_code.MENTION.search(source):
            assert any(name in source for name in NAMES), source


@pytest.mark.parametrize("document", coverage.documents(BOOK), ids=lambda document: document.name)
def test_each_item_follows_the_text_or_listed_code(document):
    for item in document.items:
        if not item.missing and item.follows != public_code.TEXT:
            assert public_code.link(BOOK, item.follows), item.item


def test_each_repository_has_a_whole_commit_and_is_used():
    followed = {
        item.follows.split("/")[0]
        for document in coverage.documents(BOOK)
        for item in document.items
    }
    for name, one in public_code.repositories(BOOK).items():
        assert len(one.commit) == 40 and int(one.commit, 16), name
        assert name in followed

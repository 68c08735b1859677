"""The way from a chapter to what there is to teach it with, and from a plan back."""

from types import SimpleNamespace

import pytest
import small_book

from lib.book import teaching


@pytest.fixture
def root(tmp_path):
    root = small_book.write(tmp_path)
    for place in ("slides", "course", "problems"):
        (root / "book" / place).mkdir()
        (root / "book" / place / "one.md").write_text("[check]")
    return root


def offered(root, page):
    context = {"body": "<h1>Title</h1>text"}
    teaching.offer(SimpleNamespace(srcdir=root), page, "page.html", context, object())
    return context["body"]


def test_a_chapter_ends_with_its_materials(root):
    body = offered(root, "book/one")
    assert body.index("text") < body.index("More on this chapter:")
    assert '<a href="../book/course/one.html">Teaching plan</a> · <a href="../slides/one.html">Slides</a>' in body
    assert '<a href="../problems/one.ipynb" download>Problem set</a>' in body
    assert ">Chapter<" not in body


def test_a_plan_begins_with_its_chapter(root):
    body = offered(root, "book/course/one")
    assert body.index("</h1>") < body.index('<a href="../../book/one.html">Chapter</a>') < body.index("text")
    assert ">Teaching plan<" not in body


def test_what_was_not_written_is_not_offered(root):
    assert offered(root, "book/index") == "<h1>Title</h1>text"
    assert "Slides" not in offered(root, "book/two")
    (root / "book" / "problems" / "one.md").write_text("no answers to be checked")
    (root / "book" / "slides" / "one.md").unlink()
    assert teaching.materials(root, "one") == {"Chapter": "book/one.html", "Teaching plan": "book/course/one.html"}


def test_pages_are_built_anew_when_materials_come_or_go(root):
    app, env = SimpleNamespace(srcdir=root), SimpleNamespace(found_docs={"book/one", "book/course/one", "book/two"})
    assert set(teaching.changed(app, env)) == {"book/one", "book/course/one", "book/two"}
    assert teaching.changed(app, env) == []
    (root / "book" / "slides" / "two.md").write_text("A deck")
    assert teaching.changed(app, env) == ["book/two"]

"""The way from a chapter to what there is to teach it with, and from a plan back."""

from types import SimpleNamespace

import pytest
import small_book

from lib.site import teaching


@pytest.fixture
def root(tmp_path):
    root = small_book.write(tmp_path)
    for place in ("slides", "course", "problems"):
        (root / "book" / place).mkdir()
        (root / "book" / place / "one.md").write_text("[check]")
    return root


def test_what_was_not_written_is_not_offered(root):
    assert teaching.materials(root, "index") == {} and list(teaching.materials(root, "two")) == ["Chapter"]
    (root / "book" / "problems" / "one.md").write_text("no answers to be checked")
    (root / "book" / "slides" / "one.md").unlink()
    assert teaching.materials(root, "one") == {"Chapter": "book/one.html", "Teaching plan": "book/course/one.html"}


def test_pages_are_built_anew_when_materials_come_or_go(root):
    app, env = SimpleNamespace(srcdir=root), SimpleNamespace(found_docs={"book/one", "book/course/one", "book/two"})
    assert set(teaching.changed(app, env)) == {"book/one", "book/course/one", "book/two"}
    assert teaching.changed(app, env) == []
    (root / "book" / "slides" / "two.md").write_text("A deck")
    assert teaching.changed(app, env) == ["book/two"]

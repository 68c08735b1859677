"""The way from a chapter to what there is to teach it with, and from a plan back."""

import small_book

from lib.site import teaching


def test_what_was_not_written_is_not_offered(tmp_path):
    root = small_book.write(tmp_path)
    for place, text in (("course", "A plan"), ("problems", "no answers to be checked")):
        (root / "book" / place).mkdir()
        (root / "book" / place / "one.md").write_text(text)
    assert teaching.materials(root, "index") == {} and list(teaching.materials(root, "two")) == ["Chapter"]
    assert teaching.materials(root, "one") == {"Chapter": "book/one.html", "Teaching plan": "book/course/one.html"}
    plan = teaching.offered(root, "book/course/one", "<h1>Plan</h1>Text")
    assert plan == '<h1>Plan</h1><p class="materials"><a href="../../book/one.html">Chapter</a></p>Text'
    lesson = teaching.offered(root, "book/one", "Text")
    assert "make chapter NAME=one" in lesson and '<a href="../book/course/one.html">Teaching plan</a>' in lesson
    assert teaching.offered(root, "book/notation", "Text") == "Text"

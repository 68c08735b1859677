"""The pages that are written: on a small book with made-up claims."""

import pytest
import yaml

from lib import pages

CFF = """\
cff-version: 1.2.0
message: Please cite.
title: "A small book"
authors:
  - name: The Small Book contributors
version: 1.2.3
date-released: "2026-05-04"
"""
CHAPTER = """\
# Chapter one

:::{admonition} Printed and true
:class: warning
Printed: $a$. True:
$b$.
:::

```{admonition} Printed: 2. Correct: 3.
:class: warning

One was added.
```

```{admonition} A remark
Not an error.
```

```{exercise} First
:label: one-ex-first

*Easy.* Do it.
```

````{exercise} Last
:label: one-ex-last

*Research level.* Find out.
````
"""
COURSE = {
    "opening": "Read it.",
    "closing": "The end.",
    "weeks": [
        {"title": "Start", "chapters": ["one"], "text": "First things."},
        {"title": "Later", "chapters": ["absent"], "text": "Not yet."},
        {"title": "Rest", "chapters": ["two", "absent", "three"], "text": "The others."},
    ],
    "chapters": {
        name: {"about": f"About {name}.", "hours": 3, "goals": f"Know {name}.", "prerequisites": "None.", "reading": "It."}
        for name in ("one", "two", "three", "absent")
    },
}


def record(name, verdict, **more):
    facts = {"id": name, "chapter": name.split("/")[0], "statement": "a | b", "source": "Eq. 1", "measured": 0.98765}
    return facts | {"expected": "at least 0.9", "verdict": verdict, "printed": None, "why": ""} | more


RECORDS = [
    record("one/right", "reproduced"),
    record("one/wrong", "corrected", printed=0.12345),
    record("one/worse", "corrected", printed="inf", source="Eq. 2"),
    record("two/lost", "not reproduced", why="it fell"),
]


@pytest.fixture
def root(tmp_path):
    names = ["what_replicates", "errata", "course", "cite", "other"]
    chapters = [{"file": f"book/{name}.ipynb"} for name in ("one", "two", "three")]
    files = chapters + [{"file": f"book/{name}"} for name in names]
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump({"root": "book/index", "chapters": files}))
    (tmp_path / "CITATION.cff").write_text(CFF)
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "one.md").write_text(CHAPTER)
    (tmp_path / "book" / "two.md").write_text("# Chapter two\n")
    (tmp_path / "book" / "three.md").write_text("# Chapter three\n")
    (tmp_path / "book" / "course.yml").write_text(yaml.safe_dump(COURSE))
    return tmp_path


def test_only_pages_that_the_contents_name_are_written(root):
    names = ("cite", "course", "errata", "what_replicates")
    assert sorted(pages.generated(root, RECORDS)) == [f"book/{name}.md" for name in names]
    (root / "_toc.yml").write_text("root: book/index\nchapters:\n  - file: book/one.ipynb\n  - file: book/errata\n")
    assert list(pages.generated(root, RECORDS)) == ["book/errata.md"]


def test_the_ledger_counts_and_links(root):
    text = pages.what_replicates(root, RECORDS)
    assert "Of 4 claims, 1 are reproduced, 2 are corrected (the source is wrong, our statement holds), and 1 are not" in text
    assert text.index("## Chapter one") < text.index("one-worse") < text.index("## Chapter two") < text.index("two-lost")
    assert "| {ref}`wrong <one-wrong>` | a \\| b *(Eq. 1)* | at least 0.9 | 0.988 (as printed: 0.123) |" in text
    assert text.count("[corrected]{.corrected}") == 2
    assert "| a \\| b. Instead: it fell *(Eq. 1)* | at least 0.9 | 0.988 | [not reproduced]{.not-reproduced} |" in text


def test_the_errata_hold_what_is_corrected_and_nothing_else(root):
    text = pages.errata(root, RECORDS)
    assert "2 statements that fail" in text
    assert "| {ref}`Eq. 1 <one-wrong>` | a \\| b | at least 0.9 | 0.123 | 0.988 |" in text
    assert "| {ref}`Eq. 2 <one-worse>` | a \\| b | at least 0.9 | inf | 0.988 |" in text
    assert "right" not in text
    assert "lost" not in text
    assert "## Chapter two" not in text


def test_the_errata_quote_the_chapter(root):
    text = pages.errata(root, RECORDS)
    assert "> Printed: $a$. True:\n> $b$." in text
    assert "> **Printed: 2. Correct: 3.** One was added." in text
    assert "Not an error" not in text


def test_the_course_guide_leaves_out_what_is_not_in_the_book(root):
    text = pages.course(root, RECORDS)
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Week 1: Start", "## Week 2: Rest"]
    assert "| 2 | Rest | {doc}`two`, {doc}`three` | 6 |" in text
    assert "absent" not in text
    assert "- {ref}`First <one-ex-first>` (easy)\n- {ref}`Last <one-ex-last>` (research level)" in text
    assert text.index("Read it.") < text.index("Know one.") < text.index("Know two.") < text.index("The end.")


def test_how_to_cite_is_the_citation_file(root):
    text = pages.cite(root, RECORDS)
    assert "author = {{The Small Book contributors}}," in text  # in one pair of braces it would be a person
    assert "title = {A small book}" in text
    assert "note = {Version 1.2.3}" in text
    assert "year = {2026}" in text
    assert "The Small Book contributors (2026). A small book (version 1.2.3)." in text


def test_the_front_page_gets_numbers_and_a_list(root):
    found = pages.substitutions(root, RECORDS)
    assert {name: found[name] for name in ("claims", "reproduced", "corrected", "not_reproduced")} == {
        "claims": "4",
        "reproduced": "1",
        "corrected": "2",
        "not_reproduced": "1",
    }
    assert found["first_chapter"] == "{doc}`/book/one`"
    assert found["chapter_list"] == (
        "- {doc}`/book/one`. About one. *1 reproduced, 2 corrected.*\n- {doc}`/book/two`. About two. *1 not reproduced.*"
    )


def test_a_book_without_a_course_has_a_front_page_all_the_same(root):
    (root / "book" / "course.yml").unlink()
    assert pages.substitutions(root, RECORDS)["chapter_list"].startswith("- {doc}`/book/one`.")

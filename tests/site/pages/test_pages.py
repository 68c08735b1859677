"""What the pages take: on a small book with made-up claims."""

import json

import pytest
import yaml

from lib.site import citing
from lib.site import ledger as claims
from lib.site.book import Book
from lib.site.pages import course, front, ledger, margins

CFF = """\
cff-version: 1.2.0
message: Please cite.
title: "A small book"
authors:
  - {given-names: Ada, family-names: Lovelace}
  - name: Others
version: 1.2.3
license: MIT
preferred-citation: {license: CC-BY-4.0}
date-released: "2026-05-04"
"""
CHAPTER = """\
# Chapter one

```{exercise} First
:label: one-ex-first

*Easy.* Do it.
```

```{exercise} Why $\\delta$?
:label: one-ex-why
:class: problem

*Hard.* Say it.
```
"""
COURSE = {
    "weeks": [
        {"title": "Start", "chapters": ["one"], "text": "First things."},
        {"title": "Rest", "chapters": ["two", "three"], "text": "The others."},
    ],
    "chapters": {
        name: {"about": f"About {name}.", "hours": 3, "goals": f"Know {name}."}
        | {"prerequisites": "None."}
        for name in ("one", "two", "three")
    },
}


def record(name, verdict, **more):
    facts = {"id": name, "statement": "a | b", "measure": "share", "source": "Eq. 1"}
    facts |= {"measured": 0.98765, "low": 0.9}
    facts |= {"chapter": name.split("/")[0], "verdict": verdict, "high": "inf"}
    return facts | {"rivals": {}, "printed": None, "why": ""} | more


RECORDS = [
    record("one/right", "reproduced", rivals={"chance": 0.5, "none": "-inf"}),
    record("one/ours", "new"),
    record("one/typo", "slip", printed=0.12345, source="Eq. 3"),
    record("one/wrong", "corrected", printed=0.12345),
    record("one/worse", "corrected", printed="inf"),
    record("two/lost", "not reproduced", why="it fell"),
    record("two/dear", "not decided", why="a night would tell"),
]


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "records", lambda book: RECORDS)
    monkeypatch.setattr(ledger, "records", lambda book: RECORDS)
    files = [{"file": f"book/{name}.ipynb"} for name in ("one", "two", "three")]
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump({"root": "book/index", "chapters": files}))
    (tmp_path / "CITATION.cff").write_text(CFF)
    (tmp_path / "book" / "coverage").mkdir(parents=True)
    for name, kind, chapter in (("a_note", "note", "two"), ("paper", "reviewed paper", "one")):
        document = {"title": name, "short": f"{name}, part 1", "kind": kind, "items": []}
        text = yaml.safe_dump(document | {"chapters": {chapter: 1}})
        (tmp_path / "book" / "coverage" / f"{name}.yml").write_text(text)
    (tmp_path / "book" / "one.md").write_text(CHAPTER)
    for name in ("two", "three"):
        (tmp_path / "book" / f"{name}.md").write_text(f"# Chapter {name}\n")
    (tmp_path / "book" / "course.yml").write_text(yaml.safe_dump(COURSE))
    for name in COURSE["chapters"]:
        (tmp_path / "book" / name).mkdir()
        plan = f"# Plan\n\n## What to read\n\nBefore the lecture: {name}.\n"
        (tmp_path / "book" / name / "plan.md").write_text(plan)
    return tmp_path


def test_the_ledger_counts_and_links(root):
    words = ledger.what_replicates(Book(root))
    verdicts = ("reproduced", "corrected", "slip", "not_reproduced", "not_decided", "new")
    assert (
        " ".join(words[name] for name in ("documents", "contested", "rivals", *verdicts))
        == "6 1 2 1 2 1 1 1 1"
    )
    text = words["claims"]
    assert text.startswith("| claim | statement | measured | chapter | verdict |")
    assert words["seeds"].startswith("No claim has been checked with many seeds")
    assert (
        "{ref}`right <one-right>` | a \\| b *(Eq. 1)* | share: 0.988, expected at least 0.9. Rivals: chance: 0.5; none: −∞ | "
        "1. Chapter one | [reproduced]{.reproduced} |"
    ) in text
    assert (
        "{ref}`wrong <one-wrong>` | a \\| b *(Eq. 1)* | share: 0.988 (as printed: 0.123), expected at least 0.9 |"
        in text
    )
    assert (
        "| a \\| b. Not reproduced: it fell *(Eq. 1)* | share: 0.988, expected at least 0.9 | "
        "2. Chapter two | [not reproduced]{.not-reproduced} |"
    ) in text


def test_the_ledger_tells_the_seeds_of_todays_code(root, monkeypatch):
    (root / "book" / "quality").mkdir()
    rows = []
    for name, last, code in (
        ("right", 1.5, "today"),
        ("wrong", 3, "today"),
        ("typo", 1.5, "older"),
    ):
        verdict = ["corrected", "not reproduced" if last > 2 else "corrected"]
        row = {"id": f"one/{name}", "measured": [1, last], "verdict": verdict, "rivals": {}}
        rows.append(row | {"low": ["-inf"] * 2, "high": [2, 2], "code": code})
    (root / margins.TABLE).write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setattr(margins, "digest", lambda book, name: "today")
    text = ledger.what_replicates(Book(root))["claims"]
    assert text.startswith("| claim | statement | measured | seeds | chapter | verdict |")
    assert "| 2; 75% | 1. Chapter one | [reproduced]" in text
    assert "| 1 of 2 | 1. Chapter one | [corrected]" in text
    assert "|  | 1. Chapter one | [slip]" in text


def test_the_course_guide_has_weeks_chapters_and_exercises(root):
    words = course.course(Book(root))
    text = words["weeks"]
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Week 1: Start",
        "## Week 2: Rest",
    ]
    assert "| 2 | Rest | {doc}`two`, {doc}`three` | 6 |" in words["overview"]
    assert "- {ref}`First <one-ex-first>` (easy)\n" in text
    assert (
        "- {ref}`Why δ? <one-ex-why>` (hard; problem: its solution is not on this site)\n" in text
    )
    assert text.index("Know one.") < text.index("Know two.")


def test_how_to_cite_is_the_citation_file(root):
    words = citing.cite(Book(root))
    assert (words["version"], words["status"]) == ("1.2.3", "released on 2026-05-04")
    assert words["bibtex"].startswith(
        "```bibtex\n@misc{executable_learning_dynamics,\nauthor = {Ada Lovelace and {Others}},"
    )
    assert "year = {2026},\nmonth = {05}" in words["bibtex"]
    assert (
        words["apa"] == "```text\nAda Lovelace, Others (2026). A small book (version 1.2.3).\n```"
    )


def test_a_version_in_preparation_says_so_and_has_no_year(root):
    (root / "CITATION.cff").write_text(CFF.replace('date-released: "2026-05-04"\n', ""))
    words = citing.cite(Book(root))
    assert words["status"] == "in preparation; no version has been released yet"
    assert (
        "note = {Version 1.2.3, in preparation}" in words["bibtex"]
        and "year" not in words["bibtex"]
    )
    assert "Others (in preparation). A small book" in words["apa"]


def test_the_front_page_gets_numbers_and_cards(root):
    words = front.front(Book(root))
    assert words["documents"] == "6"
    assert (
        "::::{grid-item-card} 2. Chapter two\n:link: two\n:link-type: doc\nAbout two.\n::::"
        in words["cards"]
    )
    (root / "book" / "course.yml").unlink()
    assert "1. Chapter one\n:link: one\n" in front.front(Book(root))["cards"]


def test_the_front_page_tells_papers_from_notes(root):
    table = front.front(Book(root))["by_document"].splitlines()
    assert table[0].startswith("| document | kind | statements | reproduced | corrected | slip |")
    assert table[2:] == [
        "| paper | reviewed paper | 4 | 1 | 2 | 1 | 0 | 0 |",
        "| a_note | note | 2 | 0 | 0 | 0 | 1 | 1 |",
    ]


def test_the_ledger_marks_bounds_set_after_looking(root):
    (root / "book" / "after_looking.yml").write_text(
        yaml.safe_dump({"one": {"changed": ["right"], "kept": ["ours"]}})
    )
    words = ledger.what_replicates(Book(root))
    rows = [line for line in words["claims"].splitlines() if "(bound set after looking)" in line]
    assert words["looked"] == front.front(Book(root))["looked"] == "1"
    assert (
        len(rows) == 1
        and "<one-right>" in rows[0]
        and "at least 0.9 (bound set after looking). Rivals" in rows[0]
    )


def test_a_name_that_is_gone_leads_to_its_successor(root):
    (root / "book" / "names.txt").write_text("one/typing one/typo\n")
    spans = [f'<span id="what_replicates-one-{name}"></span>' for name in ("typo", "typing")]
    assert "".join(spans) in ledger.what_replicates(Book(root))["claims"]

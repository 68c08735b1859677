"""The decimals of the text: a changed digit, a changed result and a new number do not pass."""

import json
import random
import re
from pathlib import Path

import pytest
import small_book

from lib.__main__ import main
from lib.site import build, numbers
from lib.site.book import Book
from lib.site.decimals import decimals

ROOT = Path(__file__).parents[2]
LINES = """\
one.md:
- 0.63: claim one/share
- 12.5: printed 12.47
- 0.05: setting
- 1.15: formula log(10) / 2
- 3.3: document Section 3.3
"""
TEXT = """
## What the run shows

The share is {ref}`0.63 <one-share>`, after 12.5 % of the steps at $\\eta=0.05$.

Ten times smaller means $\\ln(10)/2\\approx1.15$ later, says Section 3.3.
"""
CLAIM = {
    "id": "one/share",
    "statement": "the share is large",
    "measure": "mean of ten",
    "source": "ours",
    "verdict": "new",
    "why": "",
    "measured": 0.6287,
    "printed": None,
    "low": 0.5,
    "high": "inf",
    "rivals": {"none": 0.0},
}


def cell(source, output):
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [output]}


def executed(measured=0.6287):
    claim = {"metadata": {"claim": CLAIM | {"measured": measured}}, "data": {}}
    printed = {"text": "12.47 % of the steps\n"}
    cells = [cell("rate = 0.05", claim), cell("print(share)", printed)]
    return {"cells": cells, "metadata": {"run": {"profile": "quick", "device": "auto", "seed": 0}}}


@pytest.fixture
def root(tmp_path, monkeypatch):
    small_book.write(tmp_path)
    write(tmp_path, TEXT)
    (tmp_path / "book" / "one.ipynb").write_text(json.dumps(executed()))
    (tmp_path / "book" / "quality" / "numbers").mkdir(parents=True)
    lines(tmp_path).write_text(LINES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(root):
    return root / "book" / "quality" / "numbers" / "one.yml"


def write(root, text):
    (root / "book" / "one.md").write_text(small_book.text("Chapter one") + text, encoding="utf-8")


def test_decimals_that_come_from_where_their_lines_say_pass(root):
    assert numbers.check(Book(root)) == (5, 4)


@pytest.mark.parametrize("typed", ["0.63", "12.5", "0.05", "1.15", "3.3"])
def test_report_names_a_changed_digit_and_the_nearest_number(root, capsys, typed):
    wrong = typed[:-1] + "9"
    write(root, TEXT.replace(typed, wrong, 1))
    assert main(["report"]) == 2
    said = capsys.readouterr().err
    place = r"book/one\.md:\d+"
    assert re.search(rf"{place}: {wrong} stands where {typed} .* was; the nearest number", said)


def test_no_site_is_built_with_a_changed_digit(root):
    (root / "book" / "two.ipynb").write_text(json.dumps({"cells": [], "metadata": {}}))
    write(root, TEXT.replace("0.63", "0.68"))
    with pytest.raises(ValueError, match=r"0\.68 stands where 0\.63"):
        build.build(Book(root))


def test_a_changed_result_no_longer_passes(root):
    (root / "book" / "one.ipynb").write_text(json.dumps(executed(measured=0.6412)))
    with pytest.raises(
        ValueError,
        match=r"0\.63 does not come from: claim one/share; .* is 0\.6412 \(claim one/share\)",
    ):
        numbers.check(Book(root))


def test_decimals_and_lines_without_each_other_fail(root):
    write(root, TEXT.replace("at $\\eta=0.05$", "or so"))
    with pytest.raises(ValueError, match=r"0\.05 \(setting\) is no longer in the text"):
        numbers.check(Book(root))
    write(root, TEXT + "\nIt takes 7.5 hours.\n")
    with pytest.raises(ValueError, match=r"7\.5 has no line"):
        numbers.check(Book(root))


@pytest.mark.parametrize(
    "said",
    [
        "`rate=0.77`",
        "[a paper](https://example.org/abs/2406.06158)",
        '<line x1="0.77"/>',
        "version 0.9.6",
    ],
)
def test_code_addresses_drawings_and_versions_hold_no_decimals(said):
    assert not decimals(said)


def test_captions_are_text():
    header = "---\nmystnb:\n  figure:\n    caption: 'at 0.25'\n---"
    found = decimals(f"```{{code-cell}}\n{header}\nx = 0.5\n```\n")
    assert [(one.line, one.text) for one in found] == [(5, "0.25")]


def test_a_decimal_in_a_link_is_found():
    assert [one.text for one in decimals("It is {ref}`0.63 <one-share>` here.")] == ["0.63"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.4 times", 1.38),
        ("5.1 %", 0.0512),
        ("5 %", 0.0512),
        (r"$3.9\times10^{-3}$", 3.91e-3),
        ("2.6e-3", 0.00262),
    ],
)
def test_a_decimal_may_be_rounded_or_a_share(text, number):
    (decimal,) = decimals(text)
    assert decimal.fits(number)
    assert not decimal.fits(1.1 * number)


def test_recorded_lines_hold_and_name_what_the_paragraph_links_to(root):
    lines(root).unlink()
    news = numbers.record(Book(root))
    assert news[0].endswith("0.63: claim one/share")
    assert news[3].endswith("1.15: unknown")
    with pytest.raises(ValueError, match=r"1\.15 does not come from: unknown"):
        numbers.check(Book(root))


def test_a_chapter_that_was_run_otherwise_is_not_compared(root):
    notebook = executed(measured=0.1)
    notebook["metadata"]["run"]["seed"] = 7
    (root / "book" / "one.ipynb").write_text(json.dumps(notebook))
    assert numbers.check(Book(root))[0] == 0


def test_a_formula_computes_numbers_and_nothing_else():
    assert numbers.evaluate("-sqrt(4) + 2**3 / (3 - 1)") == 2
    for wrong in ("[1, 2]", "open(1)", "1 << 2"):
        with pytest.raises(ValueError, match="want numbers"):
            numbers.evaluate(wrong)


def test_a_file_of_lines_that_is_spoilt_is_named(root):
    lines(root).write_text("one.md:\n- 0.63\n")
    with pytest.raises(ValueError, match=r"one\.yml is no list of decimals by page"):
        numbers.check(Book(root))


def test_the_book_passes_and_a_changed_digit_does_not():
    places = []
    for chapter in numbers.chapters(Book(ROOT)):
        for page, text in chapter.texts.items():
            assert not list(numbers.compare(chapter, page, text))
            places += [(chapter, page, decimal) for decimal in decimals(text)]
    rng = random.Random(58)
    caught = 0
    for chapter, page, decimal in rng.sample(places, 100):
        digit = rng.choice([digit for digit in "0123456789" if digit != decimal.text[-1]])
        wrong = decimal.text[:-1] + digit
        text = chapter.texts[page].split("\n")
        exact = rf"(?<![\d.]){decimal.text}(?!\d)"
        text[decimal.line - 1] = re.sub(exact, wrong, text[decimal.line - 1])
        problems = "\n".join(numbers.compare(chapter, page, "\n".join(text)))
        caught += f"book/{page}:{decimal.line}: {wrong} " in problems
    assert caught >= 90

"""What nbval compares: each number of a claim and of a printed text."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import small_book

from lib.claims import Claim
from lib.site import comparison, ledger, lists
from lib.site.book import Book

ROOT = Path(__file__).parents[2]
CLAIM = Claim(
    "one/rate",
    "it grows",
    "share",
    "Eq. 7",
    0.14,
    0.1,
    0.2,
    "corrected",
    {"none": 9.0, "chance": 0.5},
    0.3,
)
SMALL = Claim(
    "one/error",
    "it is exact",
    "largest error",
    "Eq. 8",
    1.2e-13,
    float("-inf"),
    1e-9,
    "reproduced",
    {"no term": 0.5},
)


def output(claim, **changes):
    """Return the output of a claim as an executed notebook holds it."""
    data, metadata = Claim(**claim.__dict__ | changes)._repr_mimebundle_()
    return json.loads(json.dumps({"data": data, "metadata": metadata}))


def printed(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


def compared(before, now, loose=None):
    """Compare an output as nbformat writes it, with sorted names, with a fresh one."""
    committed = json.loads(json.dumps(before, sort_keys=True))
    return comparison.differences("check()", [committed], [now], loose or {})


@pytest.mark.parametrize(
    "claim, changes",
    [
        (CLAIM, {"measured": 0.14001}),
        (CLAIM, {"printed": 0.3002, "rivals": {"none": 9.001, "chance": 0.5}}),
        (SMALL, {"measured": 3.4e-13}),
    ],
)
def test_what_differs_by_rounding_is_the_same(claim, changes):
    assert compared(output(claim), output(claim, **changes)) == []


@pytest.mark.parametrize(
    "claim, changes, said",
    [
        (CLAIM, {"measured": 0.141}, "claim one/rate is now 0.141, committed is 0.14"),
        (CLAIM, {"printed": 0.31}, "claim one/rate is now 0.31, committed is 0.3"),
        (CLAIM, {"rivals": {"none": 9.0, "chance": 0.51}}, "claim one/rate is now 0.51"),
        (CLAIM, {"rivals": {"chance": 0.5}}, "claim one/rate is now"),
        (CLAIM, {"statement": "it shrinks"}, "claim one/rate is now"),
        (CLAIM, {"high": 0.25}, "claim one/rate is now 0.25, committed is 0.2"),
        (SMALL, {"measured": 5e-11}, "claim one/error is now 5e-11, committed is 1.2e-13"),
    ],
)
def test_a_claim_that_differs_is_named_with_both_numbers(claim, changes, said):
    (line,) = compared(output(claim), output(claim, **changes))
    assert line.startswith(said)


def test_a_line_that_says_otherwise_than_its_record_is_found():
    before = output(CLAIM)
    before["data"]["text/plain"] = before["data"]["text/plain"].replace("0.14", "0.41")
    assert compared(before, output(CLAIM)) == [
        "claim one/rate: the committed line does not say what its record says"
    ]


@pytest.mark.parametrize(
    "before, now", [("S = 0.14\n", "S =  0.14001\n"), ("δ = −1, 2,023 of 3", "δ = −1, 2,023 of 3")]
)
def test_printed_numbers_that_agree_pass(before, now):
    assert compared(printed(before), printed(now)) == []


@pytest.mark.parametrize(
    "before, now, said",
    [
        (
            "S = 0.14 to 0.2",
            "S = 0.41 to 0.2",
            "printed is now 0.41, committed is 0.14, in 'S = 0.14'",
        ),
        ("δ = −1", "δ = 1", "printed is now 1, committed is −1"),
        (
            "2 of 3 grok",
            "2 of 3 learn",
            "printed is now '2 of 3 learn', committed is '2 of 3 grok'",
        ),
    ],
)
def test_a_printed_number_or_word_that_differs_is_named(before, now, said):
    (line,) = compared(printed(before), printed(now))
    assert line.startswith(said)


def test_what_is_listed_is_compared_loosely_and_nothing_else():
    moved = output(CLAIM, measured=0.15)
    loose = {"relative": 0.1}
    assert compared(output(CLAIM), moved, {"one/rate": loose}) == []
    assert compared(output(CLAIM), moved, {"one/other": loose})
    assert compared(printed("  S = 0.14"), printed("  S = 0.15"), {"S =": loose}) == []
    assert compared(printed("R = 0.14"), printed("R = 0.15"), {"S =": loose})


def test_an_output_of_another_kind_is_named():
    said = "the outputs are now stdout, committed are claim"
    assert compared(output(CLAIM), printed("x")) == [said]
    assert comparison.differences("f()", [printed("x")], [], {}) == [
        "the outputs are now none, committed are stdout"
    ]


def test_the_list_is_short_and_names_what_there_is():
    entries = lists.read(ROOT, "loosely_compared")
    known = [record["id"] for record in ledger.records(Book(ROOT))]
    outputs = [
        output
        for name in Book(ROOT).notebooks
        for cell in nbformat.read(ROOT / "book" / f"{name}.ipynb", as_version=4).cells
        for output in cell.get("outputs", [])
    ]
    texts = [
        comparison._text(output).strip()
        for output in outputs
        if comparison._kind(output) not in ("claim", "figure")
    ]
    assert len(entries) <= 30
    for entry in entries:
        assert entry["reason"] and ("relative" in entry) != ("absolute" in entry)
        assert comparison.TOLERANCE < entry.get("relative", 0.1) < 1
        assert entry["what"] in known or any(text.startswith(entry["what"]) for text in texts), (
            entry
        )


@pytest.mark.parametrize("name", ["Makefile", ".ci/run"])
def test_nbval_compares_every_cell(name):
    assert re.findall(r"--nbval\S*", (ROOT / name).read_text(encoding="utf-8")) == ["--nbval"]


CELL = """\
from lib import bounds, claims

print(f"S = {0.14}")
few = bounds.at_most(1)
claims.check("NAME/few", "few", measure="a number", source="p. 1", measured=0.14, expected=few, rivals={"two": 2})"""


def test_nbval_refuses_published_numbers_that_are_not_the_codes(tmp_path):
    root = small_book.write(tmp_path / "book", CELL)
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, root)

    def python(*arguments):
        command = [sys.executable, "-m", *arguments]
        environment = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)

    assert python("lib", "run", "one").returncode == 0
    executed = (root / "book" / "one.ipynb").read_text(encoding="utf-8")
    for name, tampered in {
        "measured": executed.replace('"measured": 0.14', '"measured": 0.41').replace(
            "a number: 0.14", "a number: 0.41"
        ),
        "rival": executed.replace('"two": 2.0', '"two": 3.0').replace(
            "rivals: two: 2", "rivals: two: 3"
        ),
        "text": executed.replace("S = 0.14", "S = 0.41"),
    }.items():
        (root / "book" / f"{name}.ipynb").write_text(tampered, encoding="utf-8")
    said = python("pytest", "-p", "no:cacheprovider", "--nbval", "--color=no", "book").stdout
    failed = re.findall(r"^FAILED book/(\w+)\.ipynb", said, re.MULTILINE)
    assert failed == ["measured", "rival", "text"], said
    assert "claim one/few is now 0.14, committed is 0.41" in said
    assert "claim one/few is now 2.0, committed is 3.0" in said
    assert "printed is now 0.14, committed is 0.41, in 'S = 0.41'" in said

"""The measured pages: shares of a page whose parts have known heights, and what is refused."""

import os
from pathlib import Path

import pytest

from evidence import Refusal, pages, table
from lib.book import pdf, toc

PAGE = """<!doctype html><style>* { margin: 0; padding: 0; } summary { height: 10px; }</style>
<article style="height: 2000px">
  <p style="height: 400px">words</p>
  <div class="cell"><div class="cell_input" style="height: 200px"></div>
    <div class="cell_output" style="height: 1000px"><div class="claim" style="height: 300px"></div>
      <figure style="height: 500px"><img src="wide.png" style="width: 100%"></figure></div></div>
  <div class="cell"><details class="hide"><summary></summary><div class="cell_input" style="height: 900px"></div></details></div>
</article>"""


@pytest.fixture
def browser():
    manager = pdf.chromium()
    try:
        opened = manager.__enter__()
    except ValueError as problem:
        if os.environ.get("REQUIRE_BROWSER"):
            raise
        pytest.skip(f"needs Chromium: {problem}")
    yield opened
    manager.__exit__(None, None, None)


def test_a_page_is_measured(tmp_path, browser):
    (tmp_path / "one.html").write_text(PAGE, encoding="utf-8")
    with pages.served(tmp_path) as address:
        found = pages.measure(browser, "one", f"{address}/one.html")
    assert found["chapter"] == "one"
    assert found["screens"] == {"1440": round(2000 / 900, 1), "390": round(2000 / 844, 1)}
    assert found["shares"] == pytest.approx({"text": 0.395, "output": 0.1, "code": 0.105, "figures": 0.25, "claims": 0.15})
    assert found["cells"] == {"open": 1, "folded": 1}
    assert found["shift"] == {"1440": 0, "390": 0}
    assert found["kilobytes"] < 2
    assert found["chapter"] in pages.line(found)


def test_a_site_that_is_not_built_is_refused(tmp_path):
    first = toc.chapters(table.ROOT)[0]
    with pytest.raises(Refusal, match=rf"{Path(tmp_path).name} has no page {first}: run `python -m lib build` first"):
        pages.run([first], site=tmp_path)


def test_a_part_of_the_table_is_renewed(tmp_path, monkeypatch):
    names = list(pages.rows())
    monkeypatch.setattr(pages, "measure", lambda browser, name, address: {**ROW, "chapter": name})
    for name in names:
        (tmp_path / "book").mkdir(exist_ok=True)
        (tmp_path / "book" / f"{name}.html").touch()
    kept = {"pages": [{**ROW, "chapter": name, "kilobytes": 5} for name in names]}
    monkeypatch.setattr(table, "known", lambda name: kept)
    written = {}
    monkeypatch.setattr(table, "keep", written.__setitem__)
    monkeypatch.setattr(pages.pdf, "chromium", lambda: pages.served(tmp_path))
    assert pages.run(names[1:2], site=tmp_path) == 0
    assert [row["kilobytes"] for row in written["pages"]["pages"]] == [5, 7, *[5] * (len(names) - 2)]
    assert pages.seconds(names) == len(names)


ROW = {
    "screens": {"1440": 1, "390": 2},
    "shares": {"text": 1},
    "cells": {"open": 0, "folded": 0},
    "shift": {"1440": 0, "390": 0},
    "kilobytes": 7,
    "picture": 1,
    "seconds": 1,
}

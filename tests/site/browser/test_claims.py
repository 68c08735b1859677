"""Claims on their pages, in the ledger and on the front page."""

import pytest
from browsing import BOOK, LAPTOP, PHONE, rows

from lib import claims
from lib.claims import CORRECTED, SLIP, VERDICTS
from lib.site import ledger

CLAIMS = """claims => claims.map(claim => {
    const fold = claim.querySelector("details.claim-fold");
    const behind = claim.closest("div.cell").querySelector("details.behind pre");
    return {
        name: claim.id,
        verdict: claim.querySelector("strong").textContent,
        pages: [...claim.querySelectorAll("a[href*='.html#']:not(.to-source)")].map(link => link.textContent),
        open: fold.open,
        checked: Boolean(fold.querySelector("pre") || behind),
    };
})"""


@pytest.mark.parametrize("name", BOOK.notebooks)
def test_a_claim_is_a_line_with_folded_details(visit, name):
    records = list(claims.collect(BOOK.notebook(name)))
    page = visit(f"book/{name}.html")
    shown = page.locator("div.claim").evaluate_all(CLAIMS)
    assert [claim["name"] for claim in shown] == [
        record["id"].replace("/", "-") for record in records
    ]
    for claim, record in zip(shown, records, strict=True):
        assert claim["verdict"] == record["verdict"].capitalize()
        assert claim["pages"][-1] == "ledger"  # before it, links to the authors' code
        assert claim["checked"] and not claim["open"]
    for button in page.get_by_role("button", name="Show all answers").all():
        button.click()
    first = page.locator("details.claim-fold:not(details.further *)").first
    first.locator("summary").press("Enter")
    assert first.get_by_text("link to this claim").is_visible()


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_a_link_leads_to_a_box_below_the_header(visit, viewport):
    page = visit("book/what_replicates.html?verdict=errata", viewport)
    link = page.locator("tbody th a").nth(6)
    name = link.get_attribute("href").partition("#")[2]
    link.click()
    page.wait_for_url(f"**#{name}")
    below = """selector => {
        const header = document.querySelector(".bd-header-article").getBoundingClientRect().bottom;
        const gap = document.querySelector(selector).getBoundingClientRect().top - header;
        return gap > 0 && gap < 60;
    }"""
    page.wait_for_function(below, arg=f"#{name}.claim")
    outline = "box => getComputedStyle(box).outlineStyle"
    assert page.locator(f"#{name}").evaluate(outline) == "solid"
    assert page.locator(".claim:not(:target)").first.evaluate(outline) == "none"
    page.locator(f"#{name} details.claim-fold > summary").click()
    page.locator(f"#{name}").get_by_text("ledger").click()
    page.wait_for_url(f"**#what_replicates-{name}")
    page.wait_for_function(below, arg="tr:has(:target)")
    colours = [
        page.locator(f"{row} > th").first.evaluate("cell => getComputedStyle(cell).backgroundColor")
        for row in ("tr:has(:target)", "tbody tr:not(:has(:target))")
    ]
    assert colours[0] != colours[1]


def count(*verdicts):
    return sum(record["verdict"] in verdicts for record in ledger.records(BOOK))


def said(page):
    return page.locator(".ledger-filter output").inner_text()


def test_the_ledger_is_filtered_by_chapter_verdict_and_words(visit):
    records = ledger.records(BOOK)
    page = visit("book/what_replicates.html")
    assert rows(page).count() == 25
    for verdict in VERDICTS:
        expected = count(verdict)
        page.get_by_label("Verdict").select_option(verdict)
        assert rows(page).count() == min(expected, 25)
        assert said(page) == f"{expected} of {len(records)} claims"
    page.get_by_label("Verdict").select_option("errata")
    assert said(page).startswith(f"{count(CORRECTED, SLIP)} of")
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function(
        "rows => document.querySelector('.ledger-filter output').textContent.startsWith(rows)",
        arg=f"{len(records)} ",
    )
    page.get_by_label("Filter", exact=True).fill(records[-1]["statement"][:30].upper())
    assert 1 <= rows(page).count() < 25
    page.get_by_label("Filter", exact=True).fill("no claim says this")
    assert said(page) == f"0 of {len(records)} claims"


def test_a_link_to_a_claim_shows_its_row(visit):
    claims = [record["id"].replace("/", "-") for record in ledger.records(BOOK)]
    first, last = claims[0], claims[-1]
    page = visit(f"book/what_replicates.html?words=none#what_replicates-{last}")
    for claim in (last, first, last):
        page.evaluate("hash => location.hash = hash", f"what_replicates-{claim}")
        page.locator(f"#what_replicates-{claim}").wait_for(state="attached")


def test_the_ledger_is_sorted_and_has_pages(visit):
    names = sorted(
        (record["id"].split("/")[1] for record in ledger.records(BOOK)), key=str.casefold
    )
    page = visit("book/what_replicates.html")
    head = page.get_by_role("columnheader", name="claim")
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    first = rows(page).first.locator("a").first
    assert first.inner_text() == names[0]
    page.get_by_role("button", name="Next").click()
    assert page.locator(".ledger-pages output").inner_text() == f"page 2 of {-(-len(names) // 25)}"
    page.reload()
    assert (
        page.locator(".ledger-pages output").inner_text().startswith("page 2 of")
        and first.inner_text() != names[0]
    )
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending" and first.inner_text() == names[-1]


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_shows_the_verdicts_of_the_ledger(visit, width):
    page = visit("book/what_replicates.html?verdict=corrected", PHONE | {"width": width})
    assert said(page).startswith(f"{count(CORRECTED)} of")
    for row in rows(page).all()[:10]:
        name, verdict = (
            row.locator("th").bounding_box(),
            row.locator("td").last.bounding_box(),
        )
        assert row.locator("td").last.inner_text() == "corrected"
        assert name["y"] == pytest.approx(verdict["y"], abs=4)
        card = page.locator(".all-claims .scrolling").bounding_box()
        assert verdict["x"] + verdict["width"] <= card["x"] + card["width"]


def test_the_front_page_counts_as_the_ledger_does(visit):
    page = visit("book/index.html")
    for verdict in VERDICTS:
        expected = count(verdict)
        tile = page.locator(".verdict-tiles .sd-card").filter(
            has=page.get_by_text(verdict, exact=True)
        )
        assert tile.locator(".sd-card-title").inner_text() == str(expected)
        tile.locator("a").press("Enter")
        page.wait_for_url("**/what_replicates.html?*")
        assert said(page).startswith(f"{expected} of")
        page.go_back()

"""Cells that run on the page, on the site that `make serve` shows."""

import re

import live_site
import pytest
from browsing import BOOK, LAPTOP, PHONE, ROOT, serious

CHAPTER = f"book/{BOOK.chapters[0]}.html"
CELL = ".cell:has(> .live-bar):has(> .cell_output)"
LINK = """code => {
    const name = code.querySelector("span:not(:empty)");
    name.innerHTML = `<a class="to-source" href="#source">${name.innerHTML}</a>`;
}"""
WRONG = "print('x' * 200)\n1 / 0"


@pytest.fixture(scope="module")
def served(site):
    with live_site.served(ROOT, site) as addresses:
        yield addresses


@pytest.fixture(scope="module")
def address(served):
    return served[0]


@pytest.fixture
def read(visit, served):
    """Open the first chapter with the cookie that the printed address leaves."""

    def read(viewport=LAPTOP, **options):
        page = visit(CHAPTER, viewport, **options)
        page.request.get(served[1])
        return page

    return read


class Cell:
    """The first open cell of a page that has an output."""

    def __init__(self, page):
        self.page = page
        self.whole = page.locator(CELL).first
        self.code = self.whole.locator(".cell_input pre")
        self.output = self.whole.locator(".live-output")
        self.status = self.whole.get_by_role("status")

    def button(self, name):
        return self.whole.get_by_role("button", name=name, exact=True)

    def write(self, code):
        """Put other code in the place of the cell's, by keyboard."""
        self.button("Edit").press("Enter")
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(code)

    def run(self, code, end="done"):
        self.write(code)
        self.page.keyboard.press("Shift+Enter")
        self.wait(end)

    def wait(self, words):
        self.status.filter(has_text=words).wait_for(timeout=60_000)


def test_run_gives_the_output_of_the_book(read):
    page = read()
    cell = Cell(page)
    book = cell.whole.locator("> .cell_output:not(.live-output)")
    printed = book.inner_text()
    cell.button("Run").click()
    cell.wait("earlier statements that this cell needs")
    cell.wait("done")
    assert cell.output.inner_text().strip() == printed.strip()
    assert not book.is_visible()
    assert page.outside == []
    assert not [one.url for one in page.finished if "/live" in one.url]


def test_an_edit_runs_and_reset_brings_the_book_back(read):
    cell = Cell(read())
    code = cell.code.inner_html()
    cell.run("answer = 6 * 7\nanswer")
    assert cell.output.inner_text().strip() == "42"
    cell.button("Reset").click()
    assert cell.code.inner_html() == code
    assert cell.output.count() == 0
    assert cell.whole.locator(".cell_output").is_visible()


def test_code_is_written_by_keyboard(read):
    page = read()
    cell = Cell(page)
    cell.write("")
    for line in ("for i in range(2):", "print(i)"):
        page.keyboard.type(line)
        page.keyboard.press("Enter")
    assert cell.code.inner_text().rstrip() == "for i in range(2):\n    print(i)"
    page.keyboard.press("Shift+Enter")
    cell.wait("done")
    assert cell.output.inner_text().split() == ["0", "1"]
    page.keyboard.press("Escape")
    assert cell.button("Run").evaluate("button => button === document.activeElement")
    assert cell.code.get_attribute("contenteditable") is None


def test_a_click_into_the_code_edits_it_except_on_links(read):
    page = read()
    cell = Cell(page)
    text = cell.code.inner_text()
    cell.code.evaluate(LINK)
    cell.code.locator("a[href='#source']").click()
    assert page.url.endswith("#source")
    assert cell.code.get_attribute("contenteditable") is None
    assert cell.code.inner_text() == text
    cell.code.click(position={"x": 400, "y": 20})
    page.keyboard.press("End")
    page.keyboard.type("  # mine")
    assert cell.code.inner_text().split("\n")[0].endswith("  # mine")


def test_an_error_interrupt_and_restart_are_shown(read):
    cell = Cell(read())
    cell.run(WRONG, "error")
    assert "ZeroDivisionError" in cell.output.locator(".live-error").inner_text()
    cell.run("kept = 1\nprint('begun', flush=True)\nwhile True: pass", "running")
    cell.output.get_by_text("begun").wait_for()
    cell.button("Interrupt").click()
    cell.wait("interrupted")
    assert "KeyboardInterrupt" in cell.output.inner_text()
    cell.run("while True: pass", "running")
    cell.button("Restart").click()
    cell.wait("Python is restarted")
    cell.run("'kept' in globals()")
    assert cell.output.inner_text().strip() == "False"


def test_figures_and_tables_are_shown(read):
    cell = Cell(read())
    cell.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
    assert cell.output.locator("img").evaluate("img => img.decode().then(() => img.width)") > 100
    cell.run("import pandas as pd\npd.DataFrame({'a': [5]})")
    assert cell.output.locator("table td").inner_text() == "5"


def test_without_the_key_a_run_says_what_is_missing(visit):
    cell = Cell(visit(CHAPTER))
    cell.button("Run").click()
    cell.wait("did you open the address that it printed?")
    assert cell.button("Run").is_enabled()


def test_a_site_without_its_server_has_no_button(chromium, site):
    page = chromium.new_page()
    page.goto((site / CHAPTER).as_uri())
    assert page.locator(".cell > .cell_input").count() > 0
    assert page.locator(".live-bar").count() == 0
    page.close()


@pytest.mark.parametrize("theme, viewport", [("light", LAPTOP), ("dark", PHONE)])
def test_cells_that_have_run_are_accessible(read, theme, viewport):
    page = read(viewport, color_scheme=theme)
    cell = Cell(page)
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    cell.run(WRONG, "error")  # and the code still has the focus
    named = cell.whole.get_by_role("group", name=re.compile(r"^cell \d+$"))
    assert named.get_by_role("button").count() == 4
    assert cell.whole.get_by_role("group", name="output", exact=True).count() == 2
    assert serious(page, CELL) == []
    cell.button("Run").focus()
    assert serious(page, CELL) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.errors == []

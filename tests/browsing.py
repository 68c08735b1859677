"""The built site in headless Chromium, for the tests in
`book/browser`: pages on a laptop or a phone, and what axe finds.
"""

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from lib.site import pdf
from lib.site.book import Book

ROOT = Path(__file__).parents[1]
BOOK = Book(ROOT)
PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
AXE = """([part, rules]) => axe.run(part || document,
    {resultTypes: ["violations"], preload: false, ...(rules && {runOnly: rules})})"""


@contextmanager
def chromium():
    """Start a browser; skip the test where there is none."""
    with ExitStack() as stack:
        try:
            browser = stack.enter_context(pdf.chromium())
        except ValueError as problem:
            if os.environ.get("REQUIRE_BROWSER"):
                raise
            pytest.skip(f"this needs Chromium: {problem}")
        yield browser


@contextmanager
def opener(chromium, address):
    contexts = []

    def open_page(name, viewport=LAPTOP, **options):
        context = chromium.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.errors, page.outside, page.finished = [], [], []
        page.on(
            "console",
            lambda message: page.errors.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("requestfinished", lambda request: page.finished.append(request))

        def stay(route):
            inside = route.request.url.startswith((address, "data:"))
            if not inside:
                page.outside.append(route.request.url)
            route.continue_() if inside else route.abort()

        context.route("**/*", stay)
        page.goto(f"{address}/{name}")
        if options.get("java_script_enabled", True):
            page.evaluate("document.fonts.ready")
        return page

    yield open_page
    for context in contexts:
        context.close()


def serious(page, part=None, rules=None):
    """Return what axe finds in a page, or in the part that a selector names."""
    page.evaluate(AXE_SCRIPT)
    return [
        (violation["id"], node["target"], node["failureSummary"])
        for violation in page.evaluate(AXE, [part, rules])["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


def show_answers(page):
    """Show what waits behind the questions of a chapter."""
    button = page.locator(".all-answers")
    if button.count():
        button.click()


def rows(page):
    return page.locator("table tbody tr:visible")

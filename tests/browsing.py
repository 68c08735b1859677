"""The built site in headless Chromium, for the tests in
`book/browser`: pages on a laptop or a phone, and what axe finds.
"""

from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
AXE = "rules => axe.run({resultTypes: ['violations'], preload: false, ...(rules && {runOnly: rules})})"


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


def serious(found):
    return [
        (violation["id"], node["target"], node["failureSummary"])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


def rows(page):
    return page.locator("table tbody tr:visible")

"""The chapters' pages in a browser, as a reader meets them: how long, of what, how heavy, and whether they jump while they load.

The built site is served here, compressed as on the web. A page is opened twice, each time with an empty cache: on a laptop, and
on a phone whose processor and network are slow (as Lighthouse's: a quarter of this machine's speed, 1.6 Mbit/s, 150 ms). Then it
is scrolled to its end, so that what loads late can move it, too.
"""

import gzip
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser

from evidence import Refusal, table
from lib.book import pdf, toc

SCREENS = {"1440": (1440, 900), "390": (390, 844)}
SLOW = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 750e3 / 8}
PACKED = (".html", ".css", ".js", ".json", ".svg", ".txt", ".map")

# What an article is made of, as rows of pixels: of what lies at the same height the later kind counts; nothing of these is text.
KINDS = {
    "output": ".cell_output",
    "code": ".cell_input, .cell details.hide, div.highlight",
    "figures": "figure, div.moving",
    "claims": "div.claim",
}
WATCH = """() => {
    window.shift = 0;
    new PerformanceObserver(list => { for (const move of list.getEntries()) window.shift += move.value; })
        .observe({type: "layout-shift", buffered: true});
}"""
SCROLL = """async () => {
    const pause = ms => new Promise(done => setTimeout(done, ms));
    for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) { scrollTo(0, y); await pause(50); }
    await pause(500);
    scrollTo(0, 0);
    return window.shift;
}"""
MEASURE = """kinds => {
    const SEEN = {visibilityProperty: true};  // a folded solution keeps its place, unseen
    const article = document.querySelector("article"), {top, height} = article.getBoundingClientRect();
    const rows = new Array(Math.round(height)).fill("text");
    for (const [kind, selector] of Object.entries(kinds))
        for (const part of article.querySelectorAll(selector)) {
            const box = part.getBoundingClientRect();
            const first = Math.max(0, Math.round(box.top - top));
            if (box.height && part.checkVisibility(SEEN)) rows.fill(kind, first, Math.round(box.bottom - top));
        }
    const share = kind => [kind, rows.filter(row => row === kind).length / rows.length];
    const cells = [...article.querySelectorAll(".cell_input")];
    const shown = [...article.querySelectorAll("figure img")].filter(image => image.naturalWidth);
    return {
        screens: document.documentElement.scrollHeight / innerHeight,
        shares: Object.fromEntries(["text", ...Object.keys(kinds)].map(share)),
        open: cells.filter(cell => cell.checkVisibility(SEEN) && !cell.closest("details:not([open])")).length,
        cells: cells.length,
        picture: Math.min(1, ...shown.map(image => image.clientWidth / image.naturalWidth)),
    };
}"""


class Server(SimpleHTTPRequestHandler):
    """Serve the site as web servers do: text is compressed."""

    def do_GET(self) -> None:
        """Send a file."""
        path = Path(self.translate_path(self.path))
        if path.suffix not in PACKED or not path.is_file():
            return super().do_GET()
        body = gzip.compress(path.read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def rows() -> dict[str, str]:
    """Name the chapters."""
    return {name: toc.title(table.ROOT, name) for name in toc.chapters(table.ROOT)}


def seconds(names: Sequence[str]) -> float | None:
    """Say how long it took the last time."""
    known = {row["chapter"]: row["seconds"] for row in table.known("pages").get("pages", [])}
    return table.total(known.get(name) for name in names)


def run(names: Sequence[str], site: Path) -> int:
    """Measure chapters of a built site, say each in a line, write the table."""
    missing = [name for name in names if not (site / "book" / f"{name}.html").is_file()]
    if missing:
        raise Refusal(f"{site} has no page {', '.join(missing)}: run `python -m lib build` first")
    whole, found = len(names) == len(rows()), []
    before = [] if whole else table.known("pages").get("pages", [])
    try:
        with served(site) as address, pdf.chromium() as browser:
            for name in names:
                found.append(measure(browser, name, f"{address}/book/{name}.html"))
                print(line(found[-1]), flush=True)
    except ValueError as problem:
        raise Refusal(str(problem)) from problem
    table.keep("pages", {"pages": table.merged(before, found, ["chapter"], lambda row: row["chapter"] in names)})
    return 0


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a folder on a port of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def measure(browser: Browser, name: str, address: str) -> dict:
    """Open a page on a laptop and on a phone; shares, cells and weight are the laptop's."""
    start, seen = time.monotonic(), {}
    for width, (across, down) in SCREENS.items():
        context = browser.new_context(viewport={"width": across, "height": down}, color_scheme="light")
        page, finished = context.new_page(), []
        page.on("requestfinished", lambda request, finished=finished: finished.append(request))
        if width == "390":
            control = context.new_cdp_session(page)
            control.send("Network.enable")
            control.send("Network.emulateNetworkConditions", SLOW)
            control.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        page.add_init_script(f"({WATCH})()")
        page.goto(address, timeout=120_000)
        page.evaluate("document.fonts.ready")
        page.wait_for_timeout(1500)
        kilobytes = sum(request.sizes()["responseBodySize"] for request in finished) / 1000
        shift = page.evaluate(SCROLL)
        seen[width] = page.evaluate(MEASURE, KINDS) | {"shift": shift, "kilobytes": kilobytes}
        context.close()
    laptop, phone = seen["1440"], seen["390"]
    return {
        "chapter": name,
        "screens": {width: round(each["screens"], 1) for width, each in seen.items()},
        "shares": {kind: round(share, 3) for kind, share in laptop["shares"].items()},
        "cells": {"open": laptop["open"], "folded": laptop["cells"] - laptop["open"]},
        "shift": {width: round(each["shift"], 3) for width, each in seen.items()},
        "kilobytes": round(laptop["kilobytes"]),
        "picture": round(phone["picture"], 2),  # how small the smallest is shown on the phone, 1 for as drawn
        "seconds": round(time.monotonic() - start, 1),
        "date": datetime.now(UTC).date().isoformat(),
    }


def line(row: dict) -> str:
    """Say what was measured."""
    screens, shift, cells = row["screens"], row["shift"], row["cells"]
    shares = ", ".join(f"{kind} {share:.0%}" for kind, share in row["shares"].items())
    return (
        f"{row['chapter']}: {screens['1440']} / {screens['390']} screens; {shares}; {cells['open']} open, {cells['folded']}"
        f" folded; shift {shift['1440']} / {shift['390']}; {row['kilobytes']} kB; pictures at {row['picture']}"
    )

"""The built site as a reader meets it, in headless Chromium: laptop
and phone, both themes, with and without JavaScript.

Without a Chromium these tests are skipped, unless REQUIRE_BROWSER is set.
"""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import browsing
import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("slow")


class Server(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address(site):
    """The site on a port of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium():
    with browsing.chromium() as browser:
        yield browser


@pytest.fixture
def visit(chromium, address):
    """Open a page; close what was opened."""
    with browsing.opener(chromium, address) as open_page:
        yield open_page

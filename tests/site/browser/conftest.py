"""The built site as a reader meets it, in headless Chromium: laptop and phone, both themes, with and without JavaScript.

The site is built from the committed notebooks, once for all workers, unless BOOK_SITE names the folder of one that stands.
Without a Chromium these tests are skipped, unless REQUIRE_BROWSER is set.
"""

import fcntl
import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from browsing import ROOT, opener

from lib.site import build, pdf


class Server(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, built from the committed notebooks."""
    if standing := os.environ.get("BOOK_SITE"):
        return Path(standing)
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder  # the workers share a folder
    with (folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "_build" / "html" / "places.js").is_file():  # which is written last
            build.build(ROOT, folder)
    return folder / "_build" / "html"


@pytest.fixture(scope="module")
def address(site):
    """The site on a port of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium():
    manager = pdf.chromium()
    try:
        browser = manager.__enter__()
    except ValueError as problem:
        if os.environ.get("REQUIRE_BROWSER"):
            raise
        pytest.skip(f"browser tests need Chromium: {problem}")
    yield browser
    manager.__exit__(None, None, None)


@pytest.fixture
def visit(chromium, address):
    """Open a page; close what was opened."""
    with opener(chromium, address) as open_page:
        yield open_page

"""The server of `make serve`: whom it refuses, and a cell that runs."""

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import live_site
import pytest
import small_book
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from lib.__main__ import main
from lib.site import live
from lib.site.jupyter_kernel import HOME

PAGE = "<html><head><title>One</title></head><body>One</body></html>"
CELLS = ["base = 20", "print(base + 1)", "print(2)\nwhile True: pass", "import os; os._exit(1)"]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A book with one executed chapter, and a page of its site."""
    root = small_book.write(tmp_path_factory.mktemp("live"))
    cells = [{"cell_type": "code", "source": source, "outputs": []} for source in CELLS]
    notebook = json.dumps({"metadata": {}, "cells": cells})
    (root / "book" / "one.ipynb").write_text(notebook)
    site = root / "_build" / "html"
    (site / "book").mkdir(parents=True)
    (site / "index.html").write_text(PAGE)
    (site / "book" / "one.html").write_text(PAGE)
    (site / "plain.txt").write_text("</head>")
    return root


@pytest.fixture(scope="module")
def addresses(book):
    with live_site.served(book, book / "_build" / "html") as found:
        yield found


def get(address, path="/", **headers):
    """Ask for a page; return the response, an error or not."""

    async def fetch():
        request = HTTPRequest(address + path, headers=headers, follow_redirects=False)
        return await AsyncHTTPClient(force_instance=True).fetch(request, raise_error=False)

    return asyncio.run(fetch())


def cookie(with_key):
    """Open the printed address; return what the browser keeps."""
    answer = get(with_key, "")
    assert answer.code == 302
    assert answer.headers["Location"] == "/"
    return answer.headers["Set-Cookie"]


def connect(address, page="one", **headers):
    url = f"{address}/live/{page}".replace("http", "ws")
    return websocket_connect(HTTPRequest(url, headers=headers))


def known(addresses):
    address, with_key = addresses
    return {"Origin": address, "Cookie": cookie(with_key).split(";")[0]}


def test_a_page_gets_one_small_script_and_no_file_changes(addresses, book):
    address, _ = addresses
    body = get(address, "/book/one.html").body.decode()
    assert body.count("<script") == 1
    assert "src=" not in body
    assert len(body) < 10_000
    assert get(address, "/plain.txt").body == b"</head>"
    assert (book / "_build" / "html" / "book" / "one.html").read_text() == PAGE
    assert get(address).headers["Cache-Control"] == "no-cache"


def test_the_key_becomes_a_cookie_that_no_script_reads(addresses):
    address, with_key = addresses
    kept = cookie(with_key)
    assert "HttpOnly" in kept
    assert "SameSite=Strict" in kept
    wrong = get(address, "/?key=wrong")
    assert wrong.code == 403
    assert "Set-Cookie" not in wrong.headers


def test_another_name_of_this_machine_is_refused(addresses):
    address, with_key = addresses
    for name in ("elsewhere.example", "localhost", "127.0.0.1:1"):
        assert get(address, "/", Host=name).code == 403
        assert get(with_key, "", Host=name).code == 403
    assert get(address.replace("127.0.0.1", "localhost")).code == 200


def test_only_this_machine_is_answered(addresses):
    port = int(addresses[0].rpartition(":")[2])
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=1):
        pass


@pytest.mark.parametrize(
    "change, page",
    [
        ({"Cookie": ""}, "one"),
        ({"Cookie": "live-PORT=wrong"}, "one"),
        ({"Origin": "http://elsewhere.example"}, "one"),
        ({"Origin": "http://127.0.0.1:1"}, "one"),
        ({"Origin": "http://localhost:PORT"}, "one"),
        ({"Origin": "https://127.0.0.1:PORT"}, "one"),
        ({"Origin": "null"}, "one"),
        ({"Origin": ""}, "one"),
        ({"Host": "elsewhere.example:PORT"}, "one"),
        ({"Host": "elsewhere.example", "Origin": "http://elsewhere.example"}, "one"),
        ({}, "../one"),
        ({}, "..%2F..%2Fbook%2Fone"),
        ({}, "nothing"),
    ],
)
def test_no_kernel_for_strangers_and_other_pages(addresses, change, page):
    port = addresses[0].rpartition(":")[2]
    headers = known(addresses) | {
        name: value.replace("PORT", port) for name, value in change.items()
    }

    async def knock():
        await connect(addresses[0], page, **headers)

    with pytest.raises(HTTPClientError) as refused:
        asyncio.run(knock())
    assert refused.value.code in (403, 404)


def test_the_printed_address_is_that_of_nobody_else(addresses):
    assert addresses[1].startswith("http://127.0.0.1:")  # localhost may be ::1


def test_a_page_built_anew_is_not_taken_for_the_old(addresses, book):
    path = book / "_build" / "html" / "book" / "two.html"
    path.write_text(PAGE)
    known = get(addresses[0], "/book/two.html").headers["Etag"]
    for text, status in ((PAGE, 304), (PAGE.replace("One", "Two"), 200), (PAGE, 304)):
        path.write_text(text)
        assert get(addresses[0], "/book/two.html", **{"If-None-Match": known}).code == status


@pytest.mark.parametrize("path", ["/%00", "/book/one.html%00", f"/{'x' * 300}"])
def test_a_name_that_no_file_can_have_is_not_found(addresses, path):
    assert get(addresses[0], path).code == 404


def test_files_beside_the_site_are_not_served(addresses):
    for path in ("/../../_toc.yml", "/..%2F..%2F_toc.yml", "//_toc.yml", "/book/../../../_toc.yml"):
        assert get(addresses[0], path).code in (403, 404)


class Talk:
    """A page that runs cells."""

    def __init__(self, page):
        self.page = page

    async def run(self, text, source=None, until="done"):
        """Run a cell; return what is said of it until it is done."""
        asked = {"ask": "run", "cell": 0, "text": text, "source": source or text}
        await self.page.write_message(json.dumps(asked))
        return await self.hear(until)

    async def hear(self, until="done"):
        heard = []
        while not heard or until not in heard[-1]:
            heard.append(json.loads(await asyncio.wait_for(self.page.read_message(), 60)))
        return heard

    async def ask(self, what):
        await self.page.write_message(json.dumps({"ask": what}))


def talk(addresses, what):
    headers = known(addresses)

    async def whole():
        page = await connect(addresses[0], **headers)
        try:
            return await what(Talk(page))
        finally:
            page.close()

    return asyncio.run(whole())


def text(heard):
    return "".join(one.get("text", one.get("error", "")) for one in heard)


def test_a_cell_runs_after_what_it_needs(addresses):
    async def course(page):
        first = await page.run(CELLS[1])
        assert text(first) == "21\n"
        assert first[0]["status"] == "starting Python"
        assert "after 1 earlier statement" in first[-1]["done"]
        await page.run(CELLS[0], "base = 40")
        edited = await page.run(CELLS[1])
        assert text(edited) == "41\n"
        assert "after" not in edited[-1]["done"]
        wrong = await page.run(CELLS[1], "1 / 0")
        assert "ZeroDivisionError" in text(wrong)
        assert "\x1b" not in text(wrong)
        assert wrong[-1]["done"].startswith("error")
        assert (await page.run("no cell"))[-1]["done"] == live.CHANGED

    talk(addresses, course)


def test_interrupt_restart_and_death(addresses):
    async def course(page):
        await page.run(CELLS[0], "base = 40")
        await page.run(CELLS[2], until="text")
        await page.ask("interrupt")
        assert (await page.hear())[-1]["done"].startswith("interrupted")
        await page.run(CELLS[2], until="text")
        await page.ask("restart")
        again = await page.run(CELLS[1])
        assert text(again) == "21\n"
        assert (await page.run(CELLS[3]))[-1]["done"].startswith(live.ENDED)
        assert text(await page.run(CELLS[1])) == "21\n"

    talk(addresses, course)


def test_a_flood_of_output_is_cut(addresses):
    async def course(page):
        heard = await page.run(CELLS[1], "for _ in range(300): print('x' * 10_000)")
        assert 1_900_000 < len(text(heard)) < 2_100_000
        assert "left out" in text(heard)

    talk(addresses, course)


def alive(process):
    """Whether a process runs, and is no zombie."""
    try:
        return ") Z" not in Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it may end between open and read
        return False


def gone(process, seconds=15):
    end = time.monotonic() + seconds
    while alive(process) and time.monotonic() < end:
        time.sleep(0.1)
    return not alive(process)


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this needs /proc")
PROCESS = "import os; print(os.getpid())"


@needs_proc
def test_a_kernel_ends_when_its_page_is_left(addresses):
    async def course(page):
        return int(text(await page.run(CELLS[1], PROCESS)))

    assert gone(talk(addresses, course))


def kernels():
    """Count the kernels that this process has started."""
    tasks = Path("/proc/self/task").glob("*/children")
    children = " ".join(path.read_text() for path in tasks).split()
    commands = [Path(f"/proc/{child}/cmdline") for child in children]
    return sum("ipykernel" in path.read_text() for path in commands if path.exists())


@needs_proc
@pytest.mark.parametrize("seconds", [0, 0.02, 0.3])
def test_a_page_that_is_left_at_once_leaves_no_kernel(addresses, seconds):
    async def course(page):
        await page.run(CELLS[1], until="status")
        await asyncio.sleep(seconds)

    talk(addresses, course)
    end = time.monotonic() + 15
    time.sleep(0.2)
    while kernels() and time.monotonic() < end:
        time.sleep(0.1)
    assert kernels() == 0


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_kernels_end_with_the_server(book, end):
    command = [sys.executable, "-m", "lib", "serve", "--port", str(free_port())]
    environment = os.environ | {"PYTHONPATH": str(HOME)}
    with subprocess.Popen(
        command, cwd=book, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        with_key = server.stdout.readline().split()[4].rstrip(";")
        address = with_key.split("/?")[0]
        headers = known((address, with_key))

        async def course():
            page = await connect(address, **headers)
            kernel = int(text(await Talk(page).run(CELLS[1], PROCESS)))
            assert alive(kernel)
            server.send_signal(end)
            return kernel

        assert gone(asyncio.run(course()))
        assert server.wait(20) == (0 if end == signal.SIGINT else -end)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def test_a_taken_port_and_a_missing_site_are_said(book, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(book)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    wanted = f"lib serve: port {port} is taken: make serve PORT={port + 1}\n"
    assert capsys.readouterr().err == wanted

    def refuse(port, address):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(live, "bind_sockets", refuse)
    assert main(["serve", "--port", "80"]) == 2
    wanted = "lib serve: port 80: Permission denied: make serve PORT=8000\n"
    assert capsys.readouterr().err == wanted
    monkeypatch.chdir(tmp_path)
    assert main(["serve"]) == 2
    assert capsys.readouterr().err == "lib serve: make book comes first\n"

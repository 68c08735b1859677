"""The site on this machine, whose open cells run: `python -m lib serve`.

Pages get a script with buttons. A page's first Run opens a WebSocket, and with it a kernel, which
ends when the page is left. Only this machine is answered, and only who opened the printed address
may run code: its key is kept in a cookie.
"""

import asyncio
import errno
import json
import re
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, suppress
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler, StaticFileHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from lib.site.book import Book
from lib.site.jupyter_kernel import Kernel, last_words
from lib.site.needed import Session

HERE = Path(__file__).parent
ANSI = re.compile(r"\x1b\[[0-9;]*m")
MOST = 2_000_000  # characters that a cell may write
ENDED = "Python ended, most likely for lack of memory"
CHANGED = "this cell has changed since the site was built: make book"
Say = Callable[..., None]


class Local(RequestHandler):
    """What every request must fulfil: the name of this machine in it."""

    def prepare(self) -> None:
        """Refuse names by which another site may reach this machine."""
        if self.request.host not in self.settings["hosts"]:
            raise HTTPError(403)

    def knows(self, key: str | None) -> bool:
        """Tell whether this is the key of the printed address."""
        return compare_digest((key or "").encode(), self.settings["key"].encode())


class Page(Local, StaticFileHandler):
    """A file of the site; a page gets the style and the script of the buttons."""

    def prepare(self) -> None:
        """Keep the key of the printed address in a cookie."""
        super().prepare()
        if key := self.get_query_argument("key", None):
            if not self.knows(key):
                raise HTTPError(403)
            self.set_cookie(self.settings["cookie"], key, httponly=True, samesite="Strict")
            self.redirect("/")

    def set_extra_headers(self, path: str) -> None:
        """Let the browser ask whether a page was built anew."""
        self.set_header("Cache-Control", "no-cache")

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        """Find nothing by a name that no file can have."""
        try:
            return super().validate_absolute_path(root, absolute_path)
        except (OSError, ValueError) as problem:
            raise HTTPError(404) from problem

    def compute_etag(self) -> str:
        """Name what is in the file now; Tornado remembers what was in it at first."""
        assert self.absolute_path is not None
        return f'"{self.get_content_version(self.absolute_path)}"'

    @classmethod
    def get_content(
        cls, abspath: str, start: int | None = None, end: int | None = None
    ) -> Generator[bytes]:
        """Read a file, a page with its additions."""
        content = Path(abspath).read_bytes()
        if abspath.endswith(".html"):
            style, script = ((HERE / name).read_bytes() for name in ("live.css", "live.js"))
            added = b'<style>%b</style><script type="module">%b</script></head>' % (style, script)
            content = content.replace(b"</head>", added, 1)
        yield content[start:end]

    def get_content_size(self) -> int:
        """Count the additions, too."""
        assert self.absolute_path is not None
        return sum(map(len, self.get_content(self.absolute_path)))


class Python:
    """A kernel, and what was run in it of a notebook."""

    def __init__(self, cells: Sequence[str]) -> None:
        self.session = Session(cells)
        self.kernel = Kernel()
        self.client: Any = None

    async def start(self, root: Path) -> None:
        """Start it in a folder."""
        await self.kernel.start_kernel(cwd=str(root))
        self.client = self.kernel.client()
        self.client.start_channels(hb=False)  # `execute` looks after it
        await self.client.wait_for_ready(timeout=60)

    async def end(self) -> None:
        """End it at once."""
        if self.client:
            self.client.stop_channels()
        await self.kernel.shutdown_kernel(now=True)

    async def execute(self, code: str, hear: Callable[[dict], None]) -> dict:
        """Run code and return the kernel's reply; a ChildProcessError if the kernel dies."""
        running = asyncio.ensure_future(
            self.client.execute_interactive(code, allow_stdin=False, output_hook=hear)
        )
        try:
            while not (await asyncio.wait([running], timeout=1))[0]:
                if not await self.kernel.is_alive():
                    raise ChildProcessError(ENDED + last_words())
        finally:
            running.cancel()
        return running.result()["content"]

    async def run(self, number: int, source: str, say: Say) -> None:
        """Run a cell, and before it what it needs of those before; say how it goes."""
        start = time.monotonic()
        after = ""
        if before := self.session.needed(number, source):
            statements = f"{len(before)} earlier statement{'s' * (len(before) > 1)}"
            say(status=f"running {statements} that this cell needs")
            code = "\n".join(one.text for one in before)
            reply = await self.execute(code, lambda message: None)
            if reply["status"] != "ok":
                why = ": ".join(filter(None, (reply["ename"], reply["evalue"])))
                say(done=f"stopped in {statements}: {why}")
                return
            self.session.note(before)
            after = f", after {statements}"
        say(status="running", clear=True)
        reply = await self.execute(source, outputs(say))
        self.session.enter(number, source)
        went = {"ok": "done", "KeyboardInterrupt": "interrupted"}
        how = went.get(reply.get("ename", reply["status"]), "error")
        say(done=f"{how} in {time.monotonic() - start:.1f} s{after}")


def outputs(say: Say) -> Callable[[dict], None]:
    """Return what hands a kernel's messages on as text, HTML or pictures, up to a limit."""
    left = MOST

    def hear(message: dict) -> None:
        nonlocal left
        kind, value = output(message["msg_type"], message["content"])
        if not kind or left < 0:
            return
        left -= len(value)
        if left >= 0:
            say(**{kind: value})
            return
        if kind in ("text", "error"):
            say(**{kind: value[:left]})
        say(error="\nThe rest of this output is left out.")

    return hear


def output(kind: str, content: dict) -> tuple[str, str]:
    """Return what the page shows of a message, "text", "error", "html" or "png", and its value."""
    if kind == "stream":
        return "text", ANSI.sub("", content["text"])
    if kind == "error":
        return "error", ANSI.sub("", "\n".join(content["traceback"]))
    data = content.get("data", {})
    for mime, name in (("text/html", "html"), ("image/svg+xml", "html"), ("image/png", "png")):
        if mime in data:
            return name, data[mime]
    return ("text", data["text/plain"] + "\n") if "text/plain" in data else ("", "")


class Live(Local, WebSocketHandler):
    """What a page asks for, and its kernel from the first Run until it is left."""

    def prepare(self) -> None:
        """Refuse who has not opened the printed address: `check_origin` is not always called.

        The page's notebook is read, as it is now.
        """
        super().prepare()
        origin = self.request.headers.get("Origin")
        known = self.knows(self.get_cookie(self.settings["cookie"]))
        if origin != f"http://{self.request.host}" or not known:
            raise HTTPError(403)
        book = Book(self.settings["root"])
        page = self.path_args[0]
        if page not in book.notebooks:
            raise HTTPError(404)
        cells = [cell for cell in book.notebook(page)["cells"] if cell["cell_type"] == "code"]
        self.cells = ["".join(cell["source"]) for cell in cells]
        self.python: Python | None = None
        self.tasks: set[asyncio.Task] = set()
        self.turn = asyncio.Lock()

    def on_message(self, message: str | bytes) -> None:
        """Do what the page asks for, while other cells run."""
        asked = json.loads(message)
        if asked["ask"] == "run":
            self.tasks.add(task := asyncio.ensure_future(self.run(**asked)))
            task.add_done_callback(self.tasks.discard)
        elif asked["ask"] == "restart":
            self.end()
        elif self.python:
            IOLoop.current().add_callback(self.python.kernel.interrupt_kernel)

    async def run(self, ask: str, cell: int, text: str, source: str) -> None:
        """Run a cell, found by its text in the book, in its turn."""

        def say(**what: Any) -> None:
            with suppress(WebSocketClosedError):
                self.write_message({"cell": cell} | what)

        texts = list(map(plain, self.cells))
        if plain(text) not in texts:
            say(done=CHANGED)
            return
        async with self.turn:
            try:
                if not self.python:
                    say(status="starting Python")
                    self.python = Python(self.cells)
                    self.settings["pages"].add(self)
                    await self.python.start(self.settings["root"])
                await self.python.run(texts.index(plain(text)), source, say)
            except (ChildProcessError, RuntimeError) as problem:
                say(done=str(problem))
                python, self.python = self.python, None
                if python:
                    await python.end()

    def end(self) -> None:
        """End what runs, and the kernel; what is asked for from now on gets another."""
        tasks, python = self.tasks, self.python
        self.tasks, self.python, self.turn = set(), None, asyncio.Lock()
        for task in tasks:
            task.cancel()
        self.settings["pages"].discard(self)
        ends = self.settings["ends"]
        ends.add(end := asyncio.ensure_future(finish(list(tasks), python)))
        end.add_done_callback(ends.discard)

    def on_close(self) -> None:
        """End the kernel with the page."""
        self.end()


async def finish(tasks: list[asyncio.Task], python: Python | None) -> None:
    """Wait for tasks that were cancelled, then end their kernel."""
    await asyncio.gather(*tasks, return_exceptions=True)
    if python:
        await python.end()


def plain(source: str) -> str:
    """Return code without the space around it and at the ends of lines, which HTML drops."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


@asynccontextmanager
async def serving(root: Path, site: Path, port: int) -> AsyncGenerator[str]:
    """Serve the site of the book in `root`, on any port if it is 0; yield the address with key.

    Raises
    ------
    ValueError
        If the port is taken, or not for us.
    """
    try:
        sockets = bind_sockets(port, "127.0.0.1")
    except OSError as problem:
        if problem.errno != errno.EADDRINUSE:
            raise ValueError(f"port {port}: {problem.strerror}: make serve PORT=8000") from problem
        raise ValueError(f"port {port} is taken: make serve PORT={port + 1}") from problem
    port = sockets[0].getsockname()[1]
    key = token_urlsafe()
    pages: set[Live] = set()
    ends: set[asyncio.Future] = set()
    application = Application(
        [
            (r"/live/(.+)", Live),
            (r"/(.*)", Page, {"path": site, "default_filename": "index.html"}),
        ],
        hosts=(f"localhost:{port}", f"127.0.0.1:{port}"),
        cookie=f"live-{port}",
        key=key,
        root=root,
        pages=pages,
        ends=ends,
        log_function=lambda handler: None,
    )
    server = HTTPServer(application)
    server.add_sockets(sockets)
    try:
        # Not localhost: a browser may take that for ::1, where a stranger could wait for the key.
        yield f"http://127.0.0.1:{port}/?key={key}"
    finally:
        server.stop()
        for page in list(pages):
            page.end()
        await asyncio.gather(*ends)


def serve(root: Path, site: Path, port: int) -> None:
    """Serve the site until Ctrl-C."""

    async def hold() -> None:
        async with serving(root, site, port) as address:
            print(f"read the book at {address}; Ctrl-C ends it", flush=True)
            await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(hold())

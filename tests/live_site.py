"""The site with its kernels, served in a thread for tests."""

import asyncio
import queue
import threading
from contextlib import contextmanager
from pathlib import Path

from lib.site import live


@contextmanager
def served(root: Path, site: Path):
    """Serve a site; yield its address without and with the key."""
    said = queue.Queue()

    async def hold():
        stop = asyncio.Event()
        async with live.serving(root, site, 0) as address:
            said.put((address, asyncio.get_running_loop(), stop))
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(hold()))
    thread.start()
    address, loop, stop = said.get(timeout=60)
    try:
        yield address.split("/?")[0], address
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        assert not thread.is_alive()

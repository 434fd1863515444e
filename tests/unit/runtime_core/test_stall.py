"""A loop that stands still is told, with the place; one that is merely busy is not."""

import asyncio
import threading
import time
from datetime import timedelta

from pykb.runtime import _watchdog as watchdog
from pykb.testing import eventually

SHORT = timedelta(milliseconds=100)


async def test_a_coroutine_that_blocks_is_named_while_it_blocks(running, caplog):
    """The log has the line that holds up the loop before it goes on, and afterwards how long it took."""
    stood = []
    running(watchdog.StallWatch(limit=SHORT, observer=stood.append).run())
    told = threading.Event()

    def blocks_the_loop():
        # Ends when it was noticed, however slow this machine is.
        deadline = time.monotonic() + 60
        while not told.is_set() and time.monotonic() < deadline:
            time.sleep(0.01)
            if any("blocked" in record.getMessage() for record in caplog.records):
                told.set()

    await asyncio.sleep(0.05)
    blocks_the_loop()
    assert told.is_set()
    await eventually(lambda: bool(stood))
    blocked = next(record for record in caplog.records if "is blocked" in record.getMessage())
    assert "blocks_the_loop" in blocked.at
    assert "asyncio.to_thread" in blocked.help
    assert stood[0] >= SHORT.total_seconds()
    after = next(record for record in caplog.records if "continues" in record.getMessage())
    assert after.at == blocked.at


async def test_the_watch_ends_with_its_task():
    """No thread is left behind."""
    others = set(threading.enumerate())  # of tests before, which may still be ending
    task = asyncio.create_task(watchdog.StallWatch(limit=SHORT).run())
    await eventually(lambda: bool(set(threading.enumerate()) - others))
    (watcher,) = set(threading.enumerate()) - others
    assert watcher.name == "stall-watch"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await eventually(lambda: not watcher.is_alive())

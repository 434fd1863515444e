"""What is still to be sent when a client is closed: tasks in the background that get a moment to finish."""

from __future__ import annotations

import asyncio
import weakref
from datetime import timedelta
from typing import Any

from pykb.runtime.client.connection import Connection

LIMIT = timedelta(seconds=2)
"""How long closing waits for them."""

_tasks: weakref.WeakKeyDictionary[Connection, set[asyncio.Task[Any]]] = weakref.WeakKeyDictionary()


def keep(connection: Connection, task: asyncio.Task[Any]) -> None:
    """Have a task finish before the connection is closed."""
    tasks = _tasks.setdefault(connection, set())
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def settle(connection: Connection) -> None:
    """Wait for the tasks of a connection, for no longer than :data:`LIMIT`; what is not done by then is cancelled."""
    tasks = {task for task in _tasks.get(connection, ()) if task.get_loop() is asyncio.get_running_loop()}
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=LIMIT.total_seconds())
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late)

"""Background tasks that get a short time to finish when a client is closed."""

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
    """Let a task finish before the connection is closed."""
    tasks = _tasks.setdefault(connection, set())
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def settle(connection: Connection) -> None:
    """Wait for the tasks of a connection, at most for :data:`LIMIT`, then cancel the rest."""
    tasks = {task for task in _tasks.get(connection, ()) if task.get_loop() is asyncio.get_running_loop()}
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=LIMIT.total_seconds())
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late)

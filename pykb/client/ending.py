"""How tasks and connections are ended."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any


async def end_tasks(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks, and wait until they have ended. What they ended with is dropped."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def until_cancelled() -> None:
    """Wait until the running task is cancelled."""
    await asyncio.get_running_loop().create_future()


def abort(transport: asyncio.WriteTransport) -> None:
    """Close a connection at once, even if it is closed already.

    In early releases of Python 3.11, such as Debian's 3.11.2, asyncio's TLS raises an AttributeError if the connection
    was closed twice before.
    """
    with contextlib.suppress(AttributeError):
        transport.abort()

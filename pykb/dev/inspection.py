"""Shows the page for a manager that this program did not start: ``pykb inspect``."""

from __future__ import annotations

from collections.abc import Callable

from pykb.dev._signals import interrupted
from pykb.dev.page.history import History
from pykb.dev.page.server import Page


async def show_recording(history: History, port: int, say: Callable[[str], None]) -> None:
    """Show a history that is over, until SIGINT, SIGTERM or SIGHUP.

    Args:
        history: What the page shows.
        port: The port of the page. 0 is a free one.
        say: Called with the line that has the address.

    Raises:
        EnvironmentProblem: The port is in use.
    """
    with interrupted() as stop:
        async with Page(history, port=port).served() as url:
            say(f"page: {url}")
            await stop.wait()

"""Shows the page for a manager that this program did not start: ``pykb inspect``."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from pykb.client.ending import end_tasks
from pykb.client.errors import ServerUnreachable
from pykb.dev._signals import interrupted
from pykb.dev.page.history import History, take
from pykb.dev.page.objects import Cluster
from pykb.dev.page.recording import recorded
from pykb.dev.page.server import Page
from pykb.dev.pods import Subject
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.rest import Rest

_SILENCE = timedelta(seconds=60)
"""How long the records may be silent. The manager sends an empty line every 15 seconds."""

_POLITE = timedelta(seconds=5)
"""Between two lists of the objects: it is a cluster that others use."""

_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(seconds=30)


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


class Inspection:
    """Follows a manager in a cluster.

    Args:
        subject: What is shown.
        rest: Reads the objects of the cluster.
        project: The name of the project, for the page.
        say: Called with each line for the terminal.
    """

    def __init__(self, subject: Subject, rest: Rest, project: str, say: Callable[[str], None]) -> None:
        self._subject = subject
        self._rest = rest
        self._say = say
        self._about = {"project": project, "cluster": rest.server}
        self._history = History(**self._about, source=f"{subject.kind} {subject.name}")
        self._connected = asyncio.Event()

    async def show(self, port: int, kinds: Callable[[], Iterable[tuple[str, str]]], record: Path | None) -> None:
        """Show the page until SIGINT, SIGTERM or SIGHUP.

        Args:
            port: The port of the page. 0 is a free one.
            kinds: Gives the API versions and kinds of the project.
            record: A new file that gets what the page shows.

        Raises:
            EnvironmentProblem: The manager is not there or may not be read, the port is in use, or the file exists or
                cannot be made.
        """
        with interrupted() as stop:
            async with contextlib.AsyncExitStack() as stack:
                following = asyncio.create_task(self._follow())
                stack.push_async_callback(end_tasks, following)
                connecting = asyncio.create_task(self._connected.wait())
                stopping = asyncio.create_task(stop.wait())
                stack.push_async_callback(end_tasks, connecting, stopping)
                await asyncio.wait({following, connecting, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if self._connected.is_set():
                    page = Page(self._history, Cluster(lambda: self._rest), kinds, pause=_POLITE, port=port)
                    self._say(f"page: {await stack.enter_async_context(page.served())}")
                    if record is not None:
                        stack.enter_context(recorded(self._history, record, self._say_recording_ended))
                    await asyncio.wait({following, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if following.done():
                    following.result()

    async def _follow(self) -> None:
        """Connect, and again whenever the connection ends. Only the first failure is raised."""
        pause = _PAUSE
        while True:
            reason = "the connection has ended"
            try:
                async with self._subject.connected() as (title, chunks):
                    self._begin(title)
                    pause = _PAUSE
                    await take(self._history, chunks, _SILENCE)
            except ServerUnreachable:
                pass
            except EnvironmentProblem as problem:
                if not self._connected.is_set():
                    raise
                reason = problem.diagnostic.message
            self._note("lost", reason)
            self._say(f"{reason}; connecting again")
            await asyncio.sleep(pause.total_seconds())
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _begin(self, title: str) -> None:
        self._history.add("about", {**self._about, "source": title})
        self._note("connected", title)
        self._say(f"shows {title}")
        self._connected.set()

    def _note(self, state: str, reason: str) -> None:
        told: dict[str, Any] = {"at": time.time(), "state": state, "reason": reason}
        self._history.add("manager", {**told, "took": 0, "files": [], "crds": [], "log": []})

    def _say_recording_ended(self, reason: str) -> None:
        self._say(f"the recording has ended: {reason}")

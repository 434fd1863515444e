"""The channel between a parent and one of its processes: a socket pair on which the parent asks.

A question is a line, and the answer is a line of JSON. The channel closes when either process ends,
so each learns of the other's end, even if the other was killed. Here is also what differs in such a
process.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from pykb.runtime.serving import BindAddress

if TYPE_CHECKING:
    from pykb.runtime.manager.manager import Manager
    from pykb.runtime.manager.options import ManagerOptions


_VARIABLE = "PYKB_PROCESS"
_LONGEST = 64 * 1024 * 1024
"""The longest answer in bytes. Metrics have a line for each bucket of each histogram."""

METRICS, HEALTHY, READY = "metrics", "healthy", "ready"
"""The questions: the scrape as text, and whether the checks pass."""

Answers = Mapping[str, Callable[[], Awaitable[Any]]]
"""How a process answers, by question."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of this process among those of its parent."""

    number: int
    """From 1."""
    channel: int
    """The file descriptor of the channel."""

    def environment(self) -> dict[str, str]:
        """The environment variable by which a new process learns its place."""
        return {_VARIABLE: f"{self.number}:{self.channel}"}

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> Place | None:
        """Read the variable and remove it, so that programs started by this process do not get it."""
        number, _, channel = environ.pop(_VARIABLE, "").partition(":")
        return cls(int(number), int(channel)) if channel else None


@cache
def own_place() -> Place | None:
    """The place of this process; ``None`` if no parent has started it."""
    return Place.of(os.environ)


class Channel:
    """The parent's end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._turn = asyncio.Lock()
        self._asked = 0

    @classmethod
    async def open(cls, own: socket.socket) -> Self:
        """Make a channel of one of two connected sockets."""
        return cls(*await asyncio.open_connection(sock=own, limit=_LONGEST))

    async def ask(self, question: str, limit: timedelta) -> Any:
        """Ask the process.

        Raises:
            OSError: It has ended, or does not answer within the limit.
        """
        async with asyncio.timeout(limit.total_seconds()), self._turn:
            self._asked += 1
            self._writer.write(f"{self._asked} {question}\n".encode())
            await self._writer.drain()
            while line := await self._reader.readline():
                number, answer = json.loads(line)
                if number == self._asked:  # not a late one
                    return answer
            raise ConnectionResetError("the process has ended")

    def close(self) -> None:
        """Close it. A process that still runs stops."""
        self._writer.close()


async def answer(place: Place, answers: Answers) -> None:
    """Answer the parent's questions until it has ended or closed the channel."""
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=place.channel))
    try:
        while line := await reader.readline():
            number, question = line.decode().split()
            answered = (int(number), await answers[question]())
            writer.write(json.dumps(answered).encode() + b"\n")
            await writer.drain()
    except ConnectionError:
        return
    finally:
        writer.close()


def options_in(place: Place, options: ManagerOptions) -> ManagerOptions:
    """The options of one process. The parent serves probes and metrics; debug servers have ports in a row."""
    pprof = BindAddress.parse(options.pprof_bind_address)
    if pprof is not None and pprof.port:
        host = f"[{pprof.host}]" if ":" in (pprof.host or "") else pprof.host or ""
        options = replace(options, pprof_bind_address=f"{host}:{pprof.port + place.number - 1}")
    return replace(options, processes=1, health_probe_bind_address="0", metrics_bind_address="0")


async def answer_parent(place: Place, manager: Manager) -> None:
    """Answer the parent. Stop when it has ended."""

    async def scrape() -> str:
        return (await manager.metrics.scrape())[0].decode()

    await answer(place, {METRICS: scrape, HEALTHY: manager.healthz.pass_all, READY: manager.readyz.pass_all})
    # As if it had passed on the signal. If this process stops already, it ends at once.
    os.kill(os.getpid(), signal.SIGTERM)

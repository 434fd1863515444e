"""How many reviews are answered at once, so that their objects fit into memory.

Anybody who reaches the port may send reviews, and a review takes many times its size as Python
objects: measured from 7 times for a list of strings to 260 times for a list of empty objects. What
a review takes is estimated before it is read, by counting characters. Reviews that fit into memory
together are answered at once. The others take turns, and those that are too many are asked to come
back. The API server does so by itself (``Retry-After``, up to ten times).

The bounds fit into the memory limit of the scaffolded manager, 256 MiB, of which an idle manager
takes about 60 MiB. They bound CPU time, too: reading objects costs about 6 s per GiB.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from pykb.client.clock import Clock
from pykb.serving import HttpError

TOGETHER = 32 * 1024 * 1024
"""What reviews may take that are answered at the same time: about 300 of 2 kB, or one of 350 kB."""

AT_ONCE = 8 * 1024 * 1024
"""What reviews may take that are answered before the event loop looks for other work: about 50 ms."""

LARGEST = 96 * 1024 * 1024
"""What one review may take. A dense object of etcd's 1.5 MiB takes 77 MiB, and half a second."""

WAITING = 16 * 1024 * 1024
"""The bytes of reviews that wait for their turn."""

LONGEST_PAUSE = 1.0
"""The longest pause in seconds after a review that was answered in its turn."""


def memory_of(content: bytes) -> int:
    """Return about the most memory in bytes that a review takes until it is answered.

    Most is taken by defaulters, which have the object as JSON values and as an instance, each before and
    after. The characters inside of strings are counted, too, since they often are JSON themselves.
    """
    size = len(content)
    values = size - len(content.translate(None, b'",'))
    containers = size - len(content.translate(None, b"{["))
    return 4 * size + 100 * values + 820 * containers


class Turns:
    """Decides when a review may be read and answered."""

    def __init__(self, clock: Clock, cpu_time: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._cpu_time = cpu_time
        self._taken = 0
        self._taken_at_once = 0
        self._waiting = 0
        self._turn = asyncio.Lock()  # serves in the order of arrival
        self._free_at = float("-inf")

    @asynccontextmanager
    async def taken(self, content: bytes) -> AsyncIterator[None]:
        """Wait until the review may be answered, which the block does.

        Raises:
            HttpError: The review is too large, or too many wait.
        """
        memory = memory_of(content)
        if memory > LARGEST:
            raise HttpError(413, f"the body has too many values: they would take {memory} bytes of {LARGEST}\n")
        await self._let_others_pass(memory)
        if self._taken + 2 * memory <= TOGETHER:  # as much again stays free, so larger ones leave room for smaller ones
            self._taken += memory
            try:
                yield
            finally:
                self._taken -= memory
            return
        async with self._in_turn(len(content)):
            yield

    async def _let_others_pass(self, memory: int) -> None:
        """Wait for the next run of the event loop if this one has done enough. It first looks for other work."""
        while self._taken_at_once and self._taken_at_once + memory > AT_ONCE:  # noqa: ASYNC110 - an event would wake all
            await asyncio.sleep(0)
        if not self._taken_at_once:
            asyncio.get_running_loop().call_soon(self._begin_run)
        self._taken_at_once += memory

    def _begin_run(self) -> None:
        self._taken_at_once = 0

    @asynccontextmanager
    async def _in_turn(self, size: int) -> AsyncIterator[None]:
        if self._waiting and self._waiting + 2 * size > WAITING:  # one that is alone never gets the same answer again
            raise HttpError(503, "too many requests wait for their turn\n", {"Retry-After": "1"})
        self._waiting += size
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= size
        began = self._cpu_time()
        try:
            while (left := self._free_at - self._clock.now()) > 0:
                await self._clock.sleep(timedelta(seconds=left))
            began = self._cpu_time()
            yield
        finally:
            # The event loop is free for others, such as probes, for as long as it was busy.
            self._free_at = self._clock.now() + min(self._cpu_time() - began, LONGEST_PAUSE)
            self._turn.release()

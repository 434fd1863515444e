"""What is virtual, and what is not."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import time
import weakref
from datetime import UTC, date, datetime

import pytest
from pydantic import BaseModel, TypeAdapter

from pykb.explore._time import VirtualTime

DAY = datetime(2030, 1, 2, tzinfo=UTC)


def test_classes_are_completed_in_virtual_time():
    """Pydantic reads the types of fields late, when a class is first used."""

    class Lease(BaseModel):
        renewed: datetime
        day: date

    real = datetime, date
    with VirtualTime():
        made = [TypeAdapter(of).validate_python(DAY) for of in (*real, datetime, date)]
        Lease.model_rebuild(force=True)
    assert made == [DAY, DAY.date()] * 2
    assert Lease(renewed=DAY, day=DAY.date()).model_dump() == {"renewed": DAY, "day": DAY.date()}


def test_limits_are_those_of_the_real_clock():
    """Which counts from the start of the machine: hours that pass in a world must not look like its time."""
    virtual = VirtualTime()

    async def main():
        await asyncio.sleep(2 * limit)
        return virtual.watch.is_over

    limit = time.monotonic() + 3600
    with virtual, virtual.watch:
        virtual.watch.until = limit
        assert not virtual.run(main, 0)


def test_what_does_not_end_is_never_destroyed(monkeypatch):
    """It would run on at any later moment, in the middle of another history or of another test."""
    said = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)

    async def stubborn():
        while True:
            with contextlib.suppress(BaseException):
                await asyncio.sleep(1)

    async def main():
        tasks.add(weakref.ref(asyncio.create_task(stubborn())))
        await asyncio.sleep(1)

    tasks = set()
    virtual = VirtualTime()
    with virtual.watch:
        virtual.run(main, 0)
    gc.collect()
    assert said == []
    assert [task().done() for task in tasks] == [False]


@pytest.mark.parametrize("ends_with", [2, None])
def test_what_waits_for_nothing_does_not_end_the_exploration(monkeypatch, ends_with):
    """A task that swallows its cancellation and then waits for what never comes: after a crash, kopf has such ones."""
    said = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    cancelled = []

    async def stubborn():
        while len(cancelled) != ends_with:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                cancelled.append(1)

    async def main():
        tasks.append(weakref.ref(asyncio.create_task(stubborn())))
        await asyncio.sleep(1)
        return "whole"

    tasks: list[weakref.ref[asyncio.Task[None]]] = []
    virtual = VirtualTime()
    with virtual.watch:
        assert virtual.run(main, 0) == "whole"
    gc.collect()
    assert said == []
    [task] = tasks
    assert task() is None or task().done() == (ends_with is not None)

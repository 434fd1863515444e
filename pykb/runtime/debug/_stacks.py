"""Stacks of tasks and threads: each call as function, file and line, innermost first."""

from __future__ import annotations

import asyncio
import gc
import inspect
import sys
import threading
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, NamedTuple

FRAMES = 64
"""How many calls of a stack are shown, from the innermost."""

GROUPS = 200
"""How many different stacks are shown at once."""

NAMES = 10
"""How many names are shown of tasks with the same stack."""

Stack = tuple[str, ...]


class Group(NamedTuple):
    """Tasks or threads with the same stack."""

    names: list[str]
    stack: Stack

    @property
    def title(self) -> str:
        """Their number and their first names."""
        more = len(self.names) - NAMES
        return f"{len(self.names)}: {', '.join(self.names[:NAMES])}" + (f", and {more} more" if more > 0 else "")


def grouped(stacks: Iterable[tuple[str, Stack]]) -> list[Group]:
    """Group equal stacks, so that a thousand tasks take a few lines. The largest groups come first."""
    by_stack: dict[Stack, list[str]] = {}
    for name, stack in stacks:
        by_stack.setdefault(stack, []).append(name)
    groups = [Group(sorted(names), stack) for stack, names in by_stack.items()]
    return sorted(groups, key=lambda group: (-len(group.names), group.names))


def frame_places(frame: FrameType | None) -> Iterator[str]:
    """The calls of a thread, innermost first. Source lines are not read: that could wait for a disk."""
    while frame is not None:
        yield _place(frame)
        frame = frame.f_back


def threads() -> Iterator[tuple[str, Stack]]:
    """Name and stack of every thread that runs Python."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - documented, and the only way
        yield names.get(ident, f"thread {ident}"), _first(frame_places(frame))


def tasks(loop: asyncio.AbstractEventLoop) -> Iterator[tuple[asyncio.Task[Any], Stack]]:
    """Every task of a loop with its chain of awaits. May be called from another thread."""
    for task in asyncio.all_tasks(loop):
        yield task, task_stack(task)


def task_stack(task: asyncio.Task[Any]) -> Stack:
    """The chain of awaits of a task, innermost first."""
    awaited: object = task.get_coro()
    if getattr(awaited, "cr_running", False):
        return _running(awaited.cr_frame)  # type: ignore[attr-defined]
    chain: list[str] = []
    while awaited is not None:
        frame, awaited = _step(awaited)
        if frame is not None:
            chain.append(_place(frame))
    waits = _waiter(task)
    return _first(iter([*waits, *reversed(chain)]))


def _running(outermost: FrameType | None) -> Stack:
    """The calls of a running coroutine. Its awaits are not visible, but the stack of its thread is."""
    for frame in sys._current_frames().values():  # noqa: SLF001 - documented, and the only way
        calls: list[FrameType] = []
        inner: FrameType | None = frame
        while inner is not None and inner is not outermost:
            calls.append(inner)
            inner = inner.f_back
        if inner is not None:
            return _first(_place(each) for each in (*calls, inner))
    return ()


def _step(awaited: object) -> tuple[FrameType | None, object]:
    """The frame of an awaitable, and the object that it awaits."""
    for prefix, then in (("cr", "cr_await"), ("gi", "gi_yieldfrom"), ("ag", "ag_await")):
        if hasattr(awaited, then):
            return getattr(awaited, f"{prefix}_frame"), getattr(awaited, then)
    # Python does not expose the object behind a step of an async generator, but the garbage
    # collector does.
    if type(awaited).__name__ in ("async_generator_asend", "async_generator_athrow", "coroutine_wrapper"):
        return None, next((each for each in gc.get_referents(awaited) if _has_frame(each)), None)
    return None, None


def _has_frame(found: object) -> bool:
    return inspect.iscoroutine(found) or inspect.isasyncgen(found)


def _waiter(task: asyncio.Task[Any]) -> Stack:
    """The task that this one waits for, if any."""
    waiter = getattr(task, "_fut_waiter", None)
    return (f"task `{waiter.get_name()}`",) if isinstance(waiter, asyncio.Task) else ()


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_qualname} ({frame.f_code.co_filename}:{frame.f_lineno})"


def _first(places: Iterator[str]) -> Stack:
    return tuple(place for place, _ in zip(places, range(FRAMES), strict=False))

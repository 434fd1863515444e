"""Reports what a manager is doing: stacks of tasks and threads, in groups, as text or in the log.

A stack has each call as function, file and line, innermost first. The log is for a manager without
a port or with a blocked event loop.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pykb.runtime.controller.controller import Controller, Running

logger = logging.getLogger(__name__)
FRAMES = 64
"""How many calls of a stack are shown, from the innermost."""

GROUPS = 200
"""How many different stacks are shown at once."""

NAMES = 10
"""How many names are shown of tasks with the same stack."""

Stack = tuple[str, ...]
TEXT_LIMIT = 1024 * 1024
"""The maximum number of characters in an answer."""

_one_at_a_time = threading.Lock()


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


def task_groups(loop: asyncio.AbstractEventLoop, controllers: Iterable[Controller[Any]]) -> list[Group]:
    """All tasks of a loop. Tasks of workers have their request and its running time."""
    working = {
        running.task: f"{running.request}, {seconds:.1f} s"
        for controller in controllers
        for running, seconds in controller.running_now()
    }

    def name(task: asyncio.Task[object]) -> str:
        return f"{task.get_name()} ({working[task]})" if task in working else task.get_name()

    return grouped((name(task), stack) for task, stack in tasks(loop))


def thread_groups() -> list[Group]:
    """All threads, including the calling one."""
    return grouped(threads())


def reconciles(controller: Controller[Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The running reconciles of a controller, longest first: request, time and stack."""
    frames = sys._current_frames()  # noqa: SLF001 - documented, and the only way
    for running, seconds in sorted(controller.running_now(), key=lambda each: -each[1]):
        yield f"{running.request}  {seconds:.1f} s", _stack(running, frames.get(running.thread))


def _stack(running: Running[Any], frame: FrameType | None) -> tuple[str, ...]:
    """The stack of a plain function is in its thread. Its task only waits for it."""
    return tuple(frame_places(frame)) or (task_stack(running.task) if running.task is not None else ())


def _queue_line(controller: Controller[Any]) -> str:
    """One line about the queue of a controller."""
    queue = controller.queue
    ready, workers = sum(queue.ready_by_priority().values()), controller.options.max_concurrent_reconciles
    busy = len(controller.running_now())
    return f"{busy} of {workers} workers busy, {ready} requests ready, {len(queue) - ready} not due yet"


def controllers_text(controllers: Iterable[Controller[Any]]) -> str:
    """Queues and running reconciles of all controllers."""
    lines = []
    for controller in controllers:
        lines.append(f"controller {controller.name}: {_queue_line(controller)}")
        for title, stack in reconciles(controller):
            lines += [f"  {title}", *(f"      {place}" for place in stack), ""]
    return bounded("\n".join(lines) or "no controllers") + "\n"


def groups_text(groups: list[Group]) -> str:
    """Format stacks for people."""
    parts = ["\n".join((group.title, *(f"    {place}" for place in group.stack))) for group in groups[:GROUPS]]
    if len(groups) > GROUPS:
        parts.append(f"and {len(groups) - GROUPS} other stacks")
    return bounded("\n\n".join(parts)) + "\n"


def bounded(text: str) -> str:
    """Cut a text to the maximum size of an answer."""
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}\n(cut off here)"


def memory_text() -> str:
    """The memory of the process and the statistics of its garbage collector."""
    lines = [f"{name}: {value}" for name, value in _resident()]
    lines += [
        f"garbage collector: {'on' if gc.isenabled() else 'off'}, thresholds {gc.get_threshold()}",
        f"allocations since the last collection, by generation: {gc.get_count()}",
        f"objects that are never looked at (frozen): {gc.get_freeze_count()}",
    ]
    for number, of in enumerate(gc.get_stats()):
        lines.append(
            f"generation {number}: {of['collections']} collections, {of['collected']} objects collected,"
            f" {of['uncollectable']} not collectable"
        )
    lines.append(f"threads: {threading.active_count()}")
    lines.append(f"tracemalloc: {'on' if tracemalloc.is_tracing() else 'off'}")
    return "\n".join(lines) + "\n"


def _resident() -> Iterator[tuple[str, str]]:
    words = {"VmRSS": "resident memory", "VmHWM": "most resident memory", "VmSwap": "swapped out"}
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123 - no regular file
            for line in status:
                name, _, value = line.partition(":")
                if name in words:
                    yield words[name], value.strip()
    except OSError:  # only Linux has it
        return


def dump_to_log(loop: asyncio.AbstractEventLoop, controllers: Callable[[], Iterable[Controller[Any]]]) -> None:
    """Log all stacks, whatever the log level is. Must run in its own thread.

    It does nothing while another dump is being written.
    """
    if not _one_at_a_time.acquire(blocking=False):
        return
    try:
        found = list(controllers())
        for controller in found:
            _log("controller", controller=controller.name, work=_queue_line(controller))
            for title, stack in reconciles(controller):
                _log("reconcile", controller=controller.name, running=title, at=_line(stack))
        for kind, groups in (("tasks", task_groups(loop, found)), ("threads", thread_groups())):
            for group in groups[:GROUPS]:
                _log(kind, which=group.title, at=_line(group.stack))
    except Exception:
        logger.exception("dump failed")
    finally:
        _one_at_a_time.release()
    _log("dump complete")


def _line(stack: Stack) -> str:
    return " < ".join(stack)


def _log(message: str, **fields: str) -> None:
    # Ignores the level: the dump was requested, even if only errors are logged.
    logger.handle(logger.makeRecord(logger.name, logging.INFO, __file__, 0, message, (), None, extra=fields))

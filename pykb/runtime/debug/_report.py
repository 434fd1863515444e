"""Reports what a manager is doing, as groups of stacks and as text."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import tracemalloc
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from pykb.runtime.debug._stacks import GROUPS, Group, frame_places, grouped, task_stack, tasks, threads

if TYPE_CHECKING:
    from pykb.runtime.controller.controller import Controller, Running

TEXT_LIMIT = 1024 * 1024
"""The maximum number of characters in an answer."""


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


def queue_line(controller: Controller[Any]) -> str:
    """One line about the queue of a controller."""
    queue = controller.queue
    ready, workers = sum(queue.ready_by_priority().values()), controller.options.max_concurrent_reconciles
    busy = len(controller.running_now())
    return f"{busy} of {workers} workers busy, {ready} requests ready, {len(queue) - ready} not due yet"


def controllers_text(controllers: Iterable[Controller[Any]]) -> str:
    """Queues and running reconciles of all controllers."""
    lines = []
    for controller in controllers:
        lines.append(f"controller {controller.name}: {queue_line(controller)}")
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

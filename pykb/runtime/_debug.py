"""Inspects a running manager: its tasks, threads and controllers, its CPU time and memory. Imported on first use.

It shows places in code, names and numbers: as text, in the log, or over HTTP by the debug server.
It never shows the values of variables, and so no objects and no secrets.

The flag and the paths below ``/debug/pprof/`` are controller-runtime's. Their content is Python's.
``/loglevel`` answers like zap's ``AtomicLevel``. Source:
https://pkg.go.dev/go.uber.org/zap#AtomicLevel.ServeHTTP
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import inspect
import json
import logging
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

from pykb.client.clock import Clock
from pykb.runtime._logging import log_levels, set_log_level
from pykb.serving import BindAddress, Handler, HttpError, HttpRequest, HttpResponse, Middleware, Routes

if TYPE_CHECKING:
    from pykb.runtime.controller.controller import Controller, Running

# Reports what a manager is doing: stacks of tasks and threads, in groups, as text or in the log.
#
# A stack has each call as function, file and line, innermost first. The log is for a manager without
# a port or with a blocked event loop.


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


INTERVAL = 0.01
"""Seconds between two samples of the threads."""

DIFFERENT = 10_000
"""The maximum number of different stacks in a profile."""

OTHERS = "(others)"

TRACED_FRAMES = 5
TRACED_BYTES = 64 * 1024 * 1024
"""The memory that tracemalloc may use itself. A measurement ends at this limit."""

LARGEST = 50
"""How many allocating places are shown."""

Measurement = Callable[[threading.Event], str]
CpuTime = Callable[[int | None], int | None]
"""The CPU time of a thread in nanoseconds, by its native id. ``None`` where the system does not report it."""

SECONDS = 10.0
MOST_SECONDS = 60.0

ROOT = "/debug/pprof/"
_INDEX = """\
/debug/pprof/controllers            queues, and the reconciles that run: for what, since when, where they stand
/debug/pprof/tasks                  every asyncio task with its chain of awaits, the innermost call first
/debug/pprof/threads                every thread with its calls
/debug/pprof/profile?seconds=10     CPU time in microseconds by stack, for flame graphs; with &wall=true all time
/debug/pprof/memory                 resident memory, garbage collector
/debug/pprof/heap?seconds=10        which lines allocate what stays (slows the program down meanwhile)
/loglevel                           GET it; PUT level=debug, or logger=kopf&level=info
"""


def started(measurement: Measurement, ended: threading.Event) -> concurrent.futures.Future[str]:
    """Start a measurement. Its text is ready some time after ``ended`` is set."""
    future: concurrent.futures.Future[str] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()  # from now on it cannot be cancelled

    def run() -> None:
        try:
            future.set_result(measurement(ended))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is for the one who asked
            future.set_exception(error)

    threading.Thread(target=run, name="debug measurement", daemon=True).start()
    return future


class Profile:
    """Samples all threads a hundred times per second, and counts their stacks.

    The text has one line for each different stack: the calls, outermost first, separated by ``;``,
    and the microseconds. Flame graph programs and speedscope can read it.
    """

    def __init__(self, *, wall: bool, clock: Clock, cpu_time: CpuTime) -> None:
        """Count CPU time, or with ``wall`` all time, including waiting threads."""
        self._wall = wall
        self._cpu_time = cpu_time
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._used: dict[int, int] = {}
        self._looked = self._clock.now()

    def __call__(self, ended: threading.Event) -> str:
        """Sample until ``ended`` is set."""
        self._weights()  # earlier use does not matter
        while not ended.wait(INTERVAL):
            self._look()
        return self.text()

    def _look(self) -> None:
        weights = self._weights()
        for ident, frame in sys._current_frames().items():  # noqa: SLF001 - documented, and the only way
            name, weight = weights.get(ident, ("", 0))
            if not weight:
                continue
            places = [place.replace(";", ":") for place in frame_places(frame)]
            stack = ";".join((name.replace(";", ":"), *reversed(places)))
            if stack not in self._counts and len(self._counts) >= DIFFERENT:
                stack = OTHERS
            self._counts[stack] += weight

    def _weights(self) -> dict[int, tuple[str, int]]:
        """Name and microseconds of each thread since the last sample."""
        now, before = self._clock.now(), self._looked
        self._looked = now
        passed = int((now - before) * 1e6)
        found: dict[int, tuple[str, int]] = {}
        for thread in threading.enumerate():
            if thread.ident is None or thread.ident == threading.get_ident():
                continue
            used = None if self._wall else self._cpu_time(thread.native_id)
            if used is None:
                found[thread.ident] = (thread.name, passed)
                continue
            # The identifier may belong to a thread that has ended.
            more = max(0, used - self._used.get(thread.ident, used))
            found[thread.ident] = (thread.name, more // 1000)
            self._used[thread.ident] = used
        return found

    def text(self) -> str:
        """The counts, largest first."""
        return "".join(f"{stack} {count}\n" for stack, count in self._counts.most_common())


def thread_cpu_time(native_id: int | None) -> int | None:
    """The CPU time of a thread in nanoseconds, or ``None`` if the system does not report it (only Linux does)."""
    try:
        # The C library's thread clock cannot be used: it crashes if the thread ends at that moment.
        with open(f"/proc/self/task/{native_id}/schedstat", "rb") as file:  # noqa: PTH123 - a hundred times a second
            return int(file.read().split()[0])
    except (OSError, IndexError, ValueError):
        return None


def heap_growth(ended: threading.Event) -> str:
    """Measure which lines allocated memory that remains at the end. Slows the program down meanwhile."""
    was_on = tracemalloc.is_tracing()
    if not was_on:
        tracemalloc.start(TRACED_FRAMES)
    try:
        before = tracemalloc.take_snapshot()
        cut = False
        while not cut and not ended.wait(10 * INTERVAL):
            cut = not was_on and tracemalloc.get_tracemalloc_memory() > TRACED_BYTES
        after = tracemalloc.take_snapshot()
    finally:
        if not was_on:
            tracemalloc.stop()
    own = [tracemalloc.Filter(inclusive=False, filename_pattern=name) for name in (tracemalloc.__file__, __file__)]
    growth = after.filter_traces(own).compare_to(before.filter_traces(own), "traceback")
    grown = sorted((each for each in growth if each.size_diff > 0), key=lambda each: -each.size_diff)
    lines = [f"{sum(each.size_diff for each in grown)} bytes more in {len(grown)} places"]
    if cut:
        lines.append(f"ended early: the trace itself took more than {TRACED_BYTES} bytes")
    for each in grown[:LARGEST]:
        lines.append(f"\n+{each.size_diff} bytes in {each.count_diff:+} blocks")
        lines += [f"    {frame.filename}:{frame.lineno}" for frame in reversed(each.traceback)]
    return "\n".join(lines) + "\n"


@dataclass(slots=True, eq=False)
class DebugEndpoints:
    """Answers requests about one manager."""

    controllers: Callable[[], Iterable[Controller[Any]]]
    clock: Clock
    cpu_time: CpuTime = thread_cpu_time
    _measuring: threading.Lock = field(default_factory=threading.Lock)

    def app(self, middlewares: Sequence[Middleware] = ()) -> Handler:
        """Return the handler of all paths."""
        routes = Routes(middlewares)
        pages: dict[str, Callable[[], str]] = {
            "": lambda: _INDEX,
            "controllers": lambda: controllers_text(self.controllers()),
            "tasks": lambda: groups_text(task_groups(asyncio.get_running_loop(), self.controllers())),
            "threads": lambda: groups_text(thread_groups()),
            "memory": memory_text,
        }
        for name, text in pages.items():
            routes.add(ROOT + name, _page(text))
        routes.add(ROOT + "profile", self._profile)
        routes.add(ROOT + "heap", self._heap)
        routes.add("/loglevel", _log_level)
        routes.add("/loglevel", _change_log_level, method="PUT")
        return routes

    async def _profile(self, request: HttpRequest) -> HttpResponse:
        wall = request.first("wall", "false") == "true"
        return await self._measured(request, Profile(wall=wall, clock=self.clock, cpu_time=self.cpu_time))

    async def _heap(self, request: HttpRequest) -> HttpResponse:
        return await self._measured(request, heap_growth)

    async def _measured(self, request: HttpRequest, measurement: Measurement) -> HttpResponse:
        seconds = _seconds(request)
        if not self._measuring.acquire(blocking=False):
            raise HttpError(409, "another measurement is running; ask again when it is done\n")
        ended = threading.Event()
        future = started(measurement, ended)
        # Even if no client waits any more: two at once would measure each other.
        future.add_done_callback(lambda _: self._measuring.release())
        try:
            await self.clock.sleep(timedelta(seconds=seconds))
        finally:
            ended.set()
        text: str = await asyncio.wrap_future(future)
        return HttpResponse.text(text)


async def only_from_here(request: HttpRequest, handler: Handler) -> HttpResponse:
    """Refuse requests with other host names: a page in a browser could make its own name resolve to this machine."""
    try:
        local = BindAddress(request.host, 0).is_loopback
    except ValueError:
        local = False
    if not local:
        raise HttpError(403, "ask for it as `localhost`\n")
    return await handler(request)


def _page(text: Callable[[], str]) -> Handler:
    async def answer(_: HttpRequest) -> HttpResponse:
        return HttpResponse.text(text())

    return answer


def _seconds(request: HttpRequest) -> float:
    text = request.first("seconds", f"{SECONDS:g}")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MOST_SECONDS:  # NaN fails both comparisons
        raise HttpError(400, f"seconds: `{text}` is not a number above 0 and up to {MOST_SECONDS:g}\n")
    return seconds


async def _log_level(_: HttpRequest) -> HttpResponse:
    levels = log_levels()
    return HttpResponse.json({"level": levels.pop(""), "loggers": levels})


async def _change_log_level(request: HttpRequest) -> HttpResponse:
    try:
        asked = _asked(request.body.decode("utf-8", "replace"))
        set_log_level(asked.get("level", ""), asked.get("logger", ""))
    except ValueError as error:
        raise HttpError(400, f"{error}\n") from None
    logger.info("log level changed", extra={"to": asked["level"], "of": asked.get("logger") or "all"})
    return await _log_level(request)


def _asked(body: str) -> dict[str, str]:
    """Read the level from a body: JSON, a form, or only the level.

    Raises:
        ValueError: The body has none of these forms.
    """
    text = body.strip()
    found: dict[str, Any]
    if text.startswith("{"):
        found = json.loads(text)
    elif "=" in text:
        found = dict(parse_qsl(text))
    else:
        found = {"level": text}
    if not set(found) <= {"level", "logger"} or not all(isinstance(value, str) for value in found.values()):
        raise ValueError("expected `level`, and `logger` or none, as a form or as JSON")
    return found

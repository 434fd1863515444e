"""The debug server of a manager: stacks, queues, profiles, memory and the log level over HTTP.

The flag and the paths below ``/debug/pprof/`` are controller-runtime's. Their content is Python's.
``/loglevel`` answers like zap's ``AtomicLevel``. Source:
https://pkg.go.dev/go.uber.org/zap#AtomicLevel.ServeHTTP
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from pykb.client.clock import Clock
from pykb.runtime._logging import log_levels, set_log_level
from pykb.runtime.debug.report import (
    controllers_text,
    frame_places,
    groups_text,
    memory_text,
    task_groups,
    thread_groups,
)
from pykb.serving import BindAddress, Handler, HttpError, HttpRequest, HttpResponse, Limits, Middleware, Routes

if TYPE_CHECKING:
    from pykb.runtime.controller.controller import Controller

logger = logging.getLogger(__name__)
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

LIMITS = Limits(connections=32, incomplete=16, received=64 * 1024)
"""Enough for a few engineers."""

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

    def __init__(self, *, wall: bool, clock: Clock) -> None:
        """Count CPU time, or with ``wall`` all time, including waiting threads."""
        self._wall = wall
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
            used = None if self._wall else _cpu_time(thread.native_id)
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


def _cpu_time(native_id: int | None) -> int | None:
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
        return await self._measured(request, Profile(wall=wall, clock=self.clock))

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

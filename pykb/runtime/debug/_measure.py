"""Measurements that take time: a CPU profile, and the lines that allocate lasting memory.

Each measurement runs in its own thread until it is ended. The pools' threads may all be busy, and a
measurement may be needed to find out why.
"""

from __future__ import annotations

import concurrent.futures
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable

from pykb.runtime.clock import Clock, SystemClock
from pykb.runtime.debug._stacks import frame_places

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

    def __init__(self, *, wall: bool = False, clock: Clock | None = None) -> None:
        """Count CPU time, or with ``wall`` all time, including waiting threads."""
        self._wall = wall
        self._clock: Clock = clock or SystemClock()
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

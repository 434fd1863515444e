"""What takes a while to find out: where CPU time goes, and which lines allocate what stays.

Each measurement runs in a thread of its own until it is ended. The threads of the pools may all be busy when somebody
wants to know why.
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
"""Seconds between two looks at the threads."""

DIFFERENT = 10_000
"""Different stacks that a profile keeps apart."""

OTHERS = "(others)"

TRACED_FRAMES = 5
TRACED_BYTES = 64 * 1024 * 1024
"""What tracemalloc may take for itself; a measurement ends there."""

LARGEST = 50
"""Places shown of those that allocate."""

Measurement = Callable[[threading.Event], str]


def started(measurement: Measurement, ended: threading.Event) -> concurrent.futures.Future[str]:
    """Begin a measurement; it gives its text some time after ``ended`` is set."""
    future: concurrent.futures.Future[str] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()  # from now on nobody can cancel it

    def run() -> None:
        try:
            future.set_result(measurement(ended))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is for the one who asked
            future.set_exception(error)

    threading.Thread(target=run, name="debug measurement", daemon=True).start()
    return future


class Profile:
    """Looks at all threads a hundred times a second, and counts what each was doing.

    The text has one line for each different stack: calls from the outermost on, separated by ``;``, and microseconds.
    Flame graph programs and speedscope read it.
    """

    def __init__(self, *, wall: bool = False, clock: Clock | None = None) -> None:
        """Count CPU time, or (with ``wall``) all time, of waiting threads too."""
        self._wall = wall
        self._clock: Clock = clock or SystemClock()
        self._counts: Counter[str] = Counter()
        self._used: dict[int, int] = {}
        self._looked = self._clock.now()

    def __call__(self, ended: threading.Event) -> str:
        """Look on until ``ended`` is set."""
        self._weights()  # what was used before is not of interest
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
        """Name and microseconds of each thread since the last look."""
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
            # An identifier may be that of a thread that has ended.
            more = max(0, used - self._used.get(thread.ident, used))
            found[thread.ident] = (thread.name, more // 1000)
            self._used[thread.ident] = used
        return found

    def text(self) -> str:
        """What was counted, the most first."""
        return "".join(f"{stack} {count}\n" for stack, count in self._counts.most_common())


def _cpu_time(native_id: int | None) -> int | None:
    """Nanoseconds that a thread has computed; ``None`` where the system does not say (only Linux does)."""
    try:
        # The C library's clock of a thread is no way: it crashes when the thread ends at that moment.
        with open(f"/proc/self/task/{native_id}/schedstat", "rb") as file:  # noqa: PTH123 - a hundred times a second
            return int(file.read().split()[0])
    except (OSError, IndexError, ValueError):
        return None


def heap_growth(ended: threading.Event) -> str:
    """Which lines allocated what is still there at the end; slows the program down meanwhile."""
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

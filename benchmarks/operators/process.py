"""Runs an operator and reads its cost from /proc, which only Linux has."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
ENDING = 40.0
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of the operators. They use bytecode, as in images. Without it, most of a start is compilation."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used so far: CPU seconds; MiB at most, now, and now in its share of what it shares."""

    cpu: float
    peak: float
    rss: float
    pss: float


class Operator:
    """A running operator that prints ``done`` when its work is done."""

    def __init__(self, name: str, process: subprocess.Popen[str], errors: Path) -> None:
        self.name = name
        self.started = time.perf_counter()
        self.lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = process
        self._errors = errors
        threading.Thread(target=self._read, daemon=True).start()

    def wait_until_done(self, *, timeout: float) -> float:
        """Seconds from the start until the work was done.

        Raises:
            RuntimeError: It ended, or was not done in time. The message has the end of its output.
        """
        deadline = time.perf_counter() + timeout
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, deadline - time.perf_counter()))
            except queue.Empty:
                raise RuntimeError(f"{self.name}: not done within {timeout:g} s\n{self._tail()}") from None
            if line is None:
                raise RuntimeError(f"{self.name}: ended before it was done\n{self._tail()}")
            if line == "done":
                return time.perf_counter() - self.started

    def counts(self) -> tuple[int, int]:
        """Of an operator that has ended: how many reconciles it began, and how many of its writes conflicted.

        Raises:
            RuntimeError: It did not say so.
        """
        while (line := self.lines.get()) is not None:
            match line.split():
                case ["counts", reconciles, conflicts]:
                    return int(reconciles), int(conflicts)
        raise RuntimeError(f"{self.name}: ended without its counts\n{self._tail()}")

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def usage(self) -> Usage:
        """The resources used until now."""
        return usage_of(self._process.pid)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.lines.put(line.strip())
        self.lines.put(None)

    def _tail(self) -> str:
        if not self._errors.exists():  # the operator has ended
            return ""
        return self._errors.read_text(encoding="utf-8", errors="replace")[-2000:]


@contextlib.contextmanager
def running(name: str, argv: tuple[str, ...]) -> Iterator[Operator]:
    """Run an operator inside the ``with`` block."""
    if sys.platform != "linux":
        raise SystemExit("the operators are measured by /proc, which only Linux has")
    with tempfile.TemporaryDirectory() as folder:
        errors = Path(folder) / "stderr"
        with errors.open("wb") as file:
            process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=file, text=True, env=ENVIRONMENT)
        try:
            yield Operator(name, process, errors)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def usage_of(pid: int) -> Usage:
    """The resources that a process has used so far."""
    folder = Path("/proc") / str(pid)
    sizes = _sizes(folder / "status") | _sizes(folder / "smaps_rollup")
    return Usage(cpu_of(pid), sizes["VmHWM"], sizes["Rss"], sizes["Pss"])


def cpu_of(pid: int) -> float:
    """The CPU seconds that a process has used so far."""
    # The program's name is in parentheses and may contain blanks.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _sizes(path: Path) -> dict[str, float]:
    """The lines of a file that are sizes, in MiB."""
    pairs = (line.split(":", 1) for line in path.read_text().splitlines() if line.endswith("kB"))
    return {name: int(value.split()[0]) / 1024 for name, value in pairs}

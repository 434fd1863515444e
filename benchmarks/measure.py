"""Runs commands in turn and reports their cost as measured by the operating system."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one run of a command: wall time and CPU time with children, in seconds, and peak memory in MiB."""

    wall: float
    cpu: float
    memory: float


@dataclass(frozen=True, slots=True)
class Command:
    """A command under measurement."""

    name: str
    argv: tuple[str, ...]
    cwd: Path | None = None
    before: Callable[[], None] | None = None  # runs before each run, outside the measurement


def run(command: Command) -> Cost:
    """Run a command once.

    Raises:
        RuntimeError: The command failed, so a measurement would be worthless.
    """
    if command.before:
        command.before()
    start = time.perf_counter()
    process = subprocess.Popen(command.argv, cwd=command.cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command.name}: exit {process.returncode}\n{error.decode(errors='replace')}")
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale)


def in_turn(commands: Sequence[Command], *, rounds: int) -> dict[str, Cost]:
    """Medians over several rounds, A B C A B C ..., so that drift of the machine affects all commands equally."""
    for command in commands:
        run(command)
    costs: dict[str, list[Cost]] = {command.name: [] for command in commands}
    for _ in range(rounds):
        for command in commands:
            costs[command.name].append(run(command))
    return {
        name: Cost(
            statistics.median(c.wall for c in found),
            statistics.median(c.cpu for c in found),
            statistics.median(c.memory for c in found),
        )
        for name, found in costs.items()
    }


def table(costs: dict[str, Cost], *, against: str) -> str:
    """The medians and their ratios to one of the commands, as text."""
    base = costs[against]
    width = max(map(len, costs))
    lines = [f"{'':{width}}   wall s    x    CPU s    x      MiB    x"]
    lines += [
        f"{name:{width}} {c.wall:8.3f} {c.wall / base.wall:5.1f} {c.cpu:8.3f} {c.cpu / base.cpu:5.1f} "
        f"{c.memory:8.1f} {c.memory / base.memory:5.1f}"
        for name, c in costs.items()
    ]
    return "\n".join(lines)

"""What an operator did, line by line, in a file that survives its being killed.

Times are of the machine's monotonic clock, so that those of several processes can be compared.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Line:
    """One thing that happened.

    Attributes:
        at: When, in seconds of the monotonic clock.
        pid: In which process.
        do: ``begin``, perhaps ``hang``, and then ``end``, ``raise`` or ``cancel`` of a reconcile; ``ready`` of the process.
        about: The object's key, or what ``do`` says.
        error: The type of the exception.
    """

    at: float
    pid: int
    do: str
    about: str
    error: str = ""


class Journal:
    """The writing end; one write a line, which the system keeps even if the process dies the moment after."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, do: str, about: str = "", error: str = "") -> None:
        """Add a line."""
        line = json.dumps([time.monotonic(), os.getpid(), do, about, error])
        os.write(self._file, line.encode() + b"\n")


def read(path: Path) -> Iterator[Line]:
    """The lines of a file, in order."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield Line(*json.loads(line))


def overlaps(lines: list[Line]) -> int:
    """How often an object was worked on twice at once, in one process or by two that should not both be active."""
    count = 0
    last_begin: dict[int, float] = {}
    first_begin: dict[int, float] = {}
    working: dict[int, set[str]] = {}
    for line in sorted(lines, key=lambda line: line.at):
        here = working.setdefault(line.pid, set())
        if line.do == "hang":
            continue
        if line.do != "begin":
            here.discard(line.about)
            continue
        count += line.about in here
        here.add(line.about)
        first_begin.setdefault(line.pid, line.at)
        last_begin[line.pid] = line.at
    for pid, first in first_begin.items():
        # A process is active from its first reconcile on; whoever was active before it must begin none any more.
        count += sum(1 for other, begun in first_begin.items() if begun < first < last_begin[other] and other != pid)
    return count

"""What an operator did, line by line, in a file that survives its being killed.

Times are of the machine's monotonic clock, so that those of several processes can be compared.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path


@dataclass(frozen=True)
class Line:
    """One thing that happened.

    Attributes:
        at: When, in seconds of the monotonic clock.
        pid: In which process.
        do: ``begin``, perhaps ``object`` and ``hang``, and then ``end``, ``raise`` or ``cancel`` of a reconcile; ``member``
            and ``ready`` of the process; ``killed`` or ``frozen``, which the tests note.
        about: The object's key, or what ``do`` says.
        error: The type of the exception; the uid for ``object``.
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

    def note(self, do: str, about: str = "", error: str = "", *, pid: int = 0) -> None:
        """Add a line, about this process unless another one is given."""
        line = json.dumps([time.monotonic(), pid or os.getpid(), do, about, error])
        os.write(self._file, line.encode() + b"\n")


class JournalReader:
    """The reading end. Who waits for a line asks often, so it reads each line once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[Line] = []
        self._position = 0

    @property
    def lines(self) -> list[Line]:
        """The lines that are whole, in order."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._position)
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._lines.extend(Line(*json.loads(line)) for line in whole.splitlines())
            self._position += len(whole)
        return list(self._lines)


def overlaps(lines: list[Line]) -> int:
    """How often an object was worked on twice at once, in one process or by two that should not both be active."""
    count = 0
    last_begin: dict[int, float] = {}
    first_begin: dict[int, float] = {}
    working: dict[int, set[str]] = {}
    for line in sorted(lines, key=lambda line: line.at):
        here = working.setdefault(line.pid, set())
        if line.do in ("hang", "object", "member", "killed", "frozen"):
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


def shared_overlaps(lines: list[Line]) -> int:
    """How often two processes that share the objects worked on the same one at once.

    A process works on an object from the begin of a reconcile to its end, whatever the end is, or until the process is
    killed or frozen. One that thaws cannot work: :mod:`tests.chaos.holders` judges what it writes. An object that is
    deleted and made again is another one, with another uid.
    """
    begun: dict[tuple[int, str], tuple[float, str]] = {}
    worked: dict[str, list[tuple[float, float, int]]] = {}

    def ended(pid: int, about: str, at: float) -> None:
        since, uid = begun.pop((pid, about), (at, ""))
        if uid:
            worked.setdefault(uid, []).append((since, at, pid))

    for line in sorted(lines, key=lambda line: line.at):
        match line.do:
            case "begin":
                begun[line.pid, line.about] = line.at, ""
            case "object":
                if (line.pid, line.about) in begun:  # else it was frozen
                    begun[line.pid, line.about] = begun[line.pid, line.about][0], line.error
            case "end" | "raise" | "cancel":
                ended(line.pid, line.about, line.at)
            case "killed" | "frozen":
                for pid, about in list(begun):
                    if pid == line.pid:
                        ended(pid, about, line.at)
    return sum(
        one[2] != two[2] and one[0] < two[1] and two[0] < one[1]
        for times in worked.values()
        for one, two in combinations(times, 2)
    )


def modes_at_once(lines: list[Line]) -> int:
    """How often a process began to work while one that divides the objects differently was at work on any of them.

    ``mode`` says how a process divides them. Nothing is left out for uids, so reconciles of objects that are gone count.
    """
    mode: dict[int, str] = {}
    working: Counter[str] = Counter()
    count = 0
    for line in sorted(lines, key=lambda line: line.at):
        match line.do:
            case "mode":
                mode[line.pid] = line.about
            case "begin":
                count += sum(number > 0 for other, number in working.items() if other != mode[line.pid])
                working[mode[line.pid]] += 1
            case "end" | "raise" | "cancel":
                working[mode[line.pid]] -= 1
    return count

"""Records the events of the page in a file, and reads them again: ``--record FILE`` and ``pykb inspect FILE``.

Each line is an event in JSON, as managers send it. The first line says what the file is.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import BinaryIO

import orjson

from pykb._regular_file import open_file, real_path
from pykb.dev.page import history as bounds
from pykb.dev.page._events import DROPPED, EVENTS, LONGEST_LINE, read_event
from pykb.dev.page.history import Entry, History
from pykb.diagnostics import Diagnostic, EnvironmentProblem, Severity
from pykb.diagnostics.codes.environment import RECORDING
from pykb.diagnostics.model import Span
from pykb.files.durable import Folder

_VERSION = 1
_HEADER = {"recording": {"version": float, "at": float}}
_MAKES = ("pykb dev --record FILE     # makes a recording",)
_MANAGER = "pykb inspect deployment/NAME     # shows a manager in a cluster; or pod/NAME"


def _most_bytes() -> int:
    """The largest recording. A history keeps less than half of that."""
    return 8 * bounds.MOST_BYTES


class _Recording:
    """A file with the events of a history.

    When it has become too large, it gets what the history still keeps. So it always has the last events.

    Attributes:
        failed: Called with the reason when the file cannot be written any more.
    """

    def __init__(self, history: History, folder: Folder, name: str, failed: Callable[[str], None]) -> None:
        self._history = history
        self._folder = folder
        self._name = name
        self._failed = failed
        self._size = 0
        self._file = -1

    def begin(self) -> None:
        """Make the file.

        Raises:
            OSError: It cannot be made, or there is one.
        """
        self._folder.write(self._name, content := self._beginning())
        self._open(len(content))
        self._history.write = self.write

    def write(self, entry: Entry) -> None:
        """Add an event."""
        line = entry.line()
        if len(line) > LONGEST_LINE:
            line = DROPPED
        try:
            if self._size + len(line) > _most_bytes():
                content = self._beginning()
                self._folder.put(self._name, content)
                self._open(len(content))
            self._append(line)
        except OSError as error:
            self.close()
            self._failed(error.strerror or str(error))

    def close(self) -> None:
        """Write no more."""
        self._history.write = None
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self, size: int) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._file = os.open(self._name, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW, dir_fd=self._folder.handle)
        self._size = size

    def _append(self, line: bytes) -> None:
        try:
            view = memoryview(line)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            os.ftruncate(self._file, self._size)  # whole lines only
            raise
        self._size += len(line)

    def _beginning(self) -> bytes:
        header = {"event": "recording", "version": _VERSION, "at": time.time()}
        return b"".join([orjson.dumps(header) + b"\n", *(each.line() for each in self._history.snapshot())])


@contextlib.contextmanager
def recorded(history: History, path: Path, failed: Callable[[str], None]) -> Iterator[None]:
    """Record a history in a new file that only this user can read.

    Args:
        history: The history.
        path: The file.
        failed: Called with the reason if it cannot be written any more.

    Raises:
        EnvironmentProblem: The file exists, or cannot be made.
    """
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(Folder.open(real_path(path.parent)))
            recording = _Recording(history, folder, path.name, failed)
            recording.begin()
        except FileExistsError:
            remove = f"rm {shlex.quote(str(path))}"
            raise RECORDING.problem(f"`{path}` exists", "record to another file, or remove this one", remove) from None
        except OSError as error:
            raise RECORDING.problem(f"`{path}` cannot be made: {error.strerror or error}") from error
        stack.callback(recording.close)
        yield


def read_recording(path: Path) -> tuple[History, list[Diagnostic]]:
    """Read a recording as a history that is over, and what is to be said of it.

    Raises:
        EnvironmentProblem: It cannot be read, is not a recording, or is damaged.
    """
    try:
        return _read(path)
    except FileNotFoundError as error:
        raise RECORDING.problem(f"there is no file `{path}`", *_MAKES, _MANAGER) from error
    except OSError as error:
        raise RECORDING.problem(f"`{path}` cannot be read: {error.strerror or error}") from error


def _read(path: Path) -> tuple[History, list[Diagnostic]]:
    history = History()
    notes: list[Diagnostic] = []
    began = until = 0.0
    with open_file(path, most=_most_bytes(), anything=True) as file:
        for number, line in enumerate(_lines(file, path), 1):
            try:
                event, told = read_event(line, EVENTS if number > 1 else _HEADER)
            except ValueError as error:
                if number == 1:
                    raise _not_one(path) from None
                span = Span(str(path), number, 1)
                if not line.endswith(b"\n"):
                    cut = "the last line is cut off, and left out"
                    notes.append(RECORDING.at(span, cut, severity=Severity.WARNING))
                    break
                raise _damaged(path, number, str(error)) from None
            if event == "recording" and told["version"] > _VERSION:
                raise RECORDING.problem(f"`{path}` is of a newer pykb", "read it with the version that recorded it")
            if event == "recording":
                began = told["at"]
                continue
            until = max(until, told.get("at", 0.0) + told.get("seconds", 0.0))
            history.add(event, told)
    if not began:
        raise _not_one(path)
    history.end(path.name, until or began)
    return history, notes


def _lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    size = 0
    for number in count(1):
        line = file.readline(LONGEST_LINE + 1)
        size += len(line)
        if len(line) > LONGEST_LINE:
            raise _damaged(path, number, f"it is longer than {LONGEST_LINE} bytes") if number > 1 else _not_one(path)
        if size > _most_bytes():
            raise RECORDING.problem(f"`{path}` is larger than any recording: {_most_bytes()} bytes", *_MAKES)
        if not line:
            return
        yield line


def _not_one(path: Path) -> EnvironmentProblem:
    return RECORDING.problem(f"`{path}` is not a recording", *_MAKES)


def _damaged(path: Path, number: int, why: str) -> EnvironmentProblem:
    remove = f"sed --in-place {number}d {shlex.quote(str(path))}     # leaves this line out"
    return RECORDING.problem(f"this line of the recording is damaged: {why}", remove, span=Span(str(path), number, 1))

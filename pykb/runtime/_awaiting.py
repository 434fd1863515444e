"""Detects calls that were not awaited: a bare `self.client.update(app)` does nothing and must not look like a success.

Python warns when such a coroutine is destroyed, but only once for each line. Here each case is
logged as an error, and the reconcile that made the call fails. A program without such calls pays
nothing.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import sys
import threading
import warnings
import weakref
from collections import deque
from itertools import islice
from pathlib import Path
from types import CoroutineType
from typing import Any, TextIO

from pykb.runtime.records.context import current_reconcile

logger = logging.getLogger(__name__)

_MESSAGE = re.compile(r"coroutine '(?P<name>[^']+)' was never awaited")
_ORIGIN = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_OURS = (str(Path(__file__).parents[1]), str(Path(threading.__file__).parent))


def watch_for_not_awaited() -> None:
    """Start reporting coroutines in this process that were never awaited."""
    before = warnings.showwarning
    if getattr(before, "reports_not_awaited", False):
        return

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        match = _MESSAGE.match(str(message))
        if match is None or not issubclass(category, RuntimeWarning):
            before(message, category, filename, lineno, file, line)
            return
        _report(match["name"], _place(str(message), filename, lineno))

    show.reports_not_awaited = True  # type: ignore[attr-defined] # to find ourselves again
    warnings.showwarning = show
    # By default a line warns only once. The second try of a reconcile would then pass.
    warnings.filterwarnings("always", message=_MESSAGE.pattern, category=RuntimeWarning)


class KeptCoroutines:
    """Finds coroutines that an object keeps in its attributes and that nobody has awaited.

    They are not destroyed, so Python does not warn of them.
    """

    def __init__(self, owner: object) -> None:
        self._attributes: dict[str, object] = getattr(owner, "__dict__", {})
        self._reported: weakref.WeakSet[CoroutineType[Any, Any, Any]] = weakref.WeakSet()

    def report(self) -> None:
        """Log each of them once, and let the running reconcile fail."""
        found = [value for value in list(self._attributes.values()) if type(value) in _LOOKED_INTO]
        for value in found:
            if type(value) is CoroutineType:
                self._look_at(value)
            else:
                self._look_into(value)

    def _look_into(self, values: Any) -> None:
        latest = islice(reversed(values.values() if isinstance(values, dict) else values), _LOOKED_AT)
        for each in list(latest):
            if type(each) is CoroutineType:
                self._look_at(each)

    def _look_at(self, found: Any) -> None:
        if inspect.getcoroutinestate(found) != inspect.CORO_CREATED or found in self._reported:
            return
        self._reported.add(found)
        origin = found.cr_origin
        _report(found.__qualname__, f"{origin[0][0]}:{origin[0][1]}" if origin else "")


def close_unbegun(task: asyncio.Task[Any]) -> None:
    """Close the coroutines that a task was to await, if it has not begun.

    Call this before a cancellation that may come before the task's first step. The task would never await them then,
    and Python would warn of them as of a forgotten ``await``. Each task of kopf is such a wrapper.
    """
    coroutine = task.get_coro()
    if inspect.iscoroutine(coroutine) and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
        for argument in inspect.getcoroutinelocals(coroutine).values():
            if inspect.iscoroutine(argument):
                argument.close()


_LOOKED_INTO = frozenset((CoroutineType, list, dict, tuple, deque))
_LOOKED_AT = 8
"""Of a list, the latest values. A reconciler may keep thousands."""


def _report(name: str, place: str) -> None:
    if sys.get_coroutine_origin_tracking_depth() == 0:
        # A coroutine kept in a variable is destroyed elsewhere. Origin tracking records where the
        # next ones are made.
        sys.set_coroutine_origin_tracking_depth(1)
    shown = {"call": name} | ({"at": place} if place else {})
    help_ = "write `await` before it; in a plain `def`, call `client.sync` or `await_in_thread`"
    logger.error("a call was not awaited, so it did nothing", extra={**shown, "help": help_})
    context = current_reconcile.get()
    if context is not None and not context.not_awaited:
        what = f"`{name}` was called and not awaited, so it did nothing"
        context.not_awaited = f"{what} (at {place})" if place else what


def _place(message: str, filename: str, lineno: int) -> str:
    """Where the coroutine was made, else where it was destroyed, if that is in the program's own code."""
    origin = _ORIGIN.search(message)
    if origin is not None:
        return f"{origin['file']}:{origin['line']}"
    return "" if filename.startswith(_OURS) else f"{filename}:{lineno}"

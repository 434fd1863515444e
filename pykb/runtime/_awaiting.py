"""Detects calls that were not awaited: a bare `self.client.update(app)` does nothing and must not look like a success.

Python warns when such a coroutine is destroyed, but only once for each line. Here each case is
logged as an error, and the reconcile that made the call fails. A program without such calls pays
nothing.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import warnings
from pathlib import Path
from typing import TextIO

from pykb.runtime._logging import current_reconcile

logger = logging.getLogger(__name__)

_MESSAGE = re.compile(r"coroutine '(?P<name>[^']+)' was never awaited")
_ORIGIN = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_OURS = (str(Path(__file__).parents[1]), str(Path(threading.__file__).parent))


class NotAwaited(RuntimeError):  # noqa: N818 - what happened
    """A reconcile called a coroutine function and did not await it. The call had no effect."""


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
        found = _MESSAGE.match(str(message))
        if found is None or not issubclass(category, RuntimeWarning):
            before(message, category, filename, lineno, file, line)
            return
        _report(found["name"], _place(str(message), filename, lineno))

    show.reports_not_awaited = True  # type: ignore[attr-defined] # to find ourselves again
    warnings.showwarning = show
    # By default a line warns only once. The second try of a reconcile would then pass.
    warnings.filterwarnings("always", message=_MESSAGE.pattern, category=RuntimeWarning)


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

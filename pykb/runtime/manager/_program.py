"""Runs a manager as a program, with its own event loop, its garbage collection and a guaranteed end."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Callable, Coroutine

from pykb.diagnostics import EnvironmentProblem
from pykb.runtime.manager._signals import handlers_kept
from pykb.runtime.manager.ending import Ending

THRESHOLDS = (10_000, 20, 50)
"""The thresholds for collecting the young, the middle and the old generation.

Python's own (700, 10, 10) suit programs that make few objects. Parsing one page of a list makes a
hundred thousand, and none is part of a cycle. Scanning them repeatedly takes a fifth of the CPU
time of a first list.
"""


def settle() -> None:
    """Make the program's own objects permanent, and raise the collector's thresholds.

    Call it in the entry point of a program, when everything is imported. Modules and classes live
    as long as the process, so they need not be scanned again.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


def run_program(main: Callable[[], Coroutine[None, None, None]], ending: Ending, logger: logging.Logger) -> None:
    """Run a manager's coroutine function as the whole program, and log its error.

    Args:
        main: The function.
        ending: Ends a process that hangs.
        logger: Logs the error.

    Raises:
        SystemExit: With 1, after an error.
    """
    settle()
    ending.start()
    try:
        with handlers_kept(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(main())
    except EnvironmentProblem as problem:
        diagnostic = problem.diagnostic
        for text in (*diagnostic.notes, *diagnostic.help):
            logger.info(text)
        logger.error("manager failed", extra={"error": diagnostic.message})  # noqa: TRY400 - the message says it all
        raise SystemExit(1) from None
    except Exception:
        logger.exception("manager failed")
        raise SystemExit(1) from None
    finally:
        ending.leave()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop

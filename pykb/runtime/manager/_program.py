"""Runs a manager as a program, with its own event loop and a guaranteed end."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine

from pykb.diagnostics import EnvironmentProblem
from pykb.runtime.manager._signals import handlers_kept
from pykb.runtime.manager.ending import Ending


def run_program(main: Callable[[], Coroutine[None, None, None]], ending: Ending, logger: logging.Logger) -> None:
    """Run a manager's coroutine function as the whole program, and log its error.

    Args:
        main: The function.
        ending: Ends a process that hangs.
        logger: Logs the error.

    Raises:
        SystemExit: With 1, after an error.
    """
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

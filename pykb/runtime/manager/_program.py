"""What a program has that a manager in somebody's event loop has not: a loop of its own, and an end in any case."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine

from pykb.diagnostics import EnvironmentProblem
from pykb.runtime.manager._signals import handlers_kept
from pykb.runtime.manager.ending import Ending


def run_program(main: Callable[[], Coroutine[None, None, None]], ending: Ending, logger: logging.Logger) -> None:
    """Run a manager's coroutine function as that of the whole program, and log what it fails with.

    Args:
        main: The function.
        ending: Ends the process that hangs.
        logger: Says what went wrong.

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

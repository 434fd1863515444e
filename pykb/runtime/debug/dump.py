"""Logs tasks, threads and reconciles, for a manager without a port or with a blocked event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pykb.runtime.debug._report import queue_line, reconciles, task_groups, thread_groups
from pykb.runtime.debug._stacks import GROUPS, Stack

if TYPE_CHECKING:
    from pykb.runtime.controller.controller import Controller

logger = logging.getLogger(__name__)

_one_at_a_time = threading.Lock()


def dump_to_log(loop: asyncio.AbstractEventLoop, controllers: Callable[[], Iterable[Controller[Any]]]) -> None:
    """Log all stacks, whatever the log level is. Must run in its own thread.

    It does nothing while another dump is being written.
    """
    if not _one_at_a_time.acquire(blocking=False):
        return
    try:
        found = list(controllers())
        for controller in found:
            _log("controller", controller=controller.name, work=queue_line(controller))
            for title, stack in reconciles(controller):
                _log("reconcile", controller=controller.name, running=title, at=_line(stack))
        for kind, groups in (("tasks", task_groups(loop, found)), ("threads", thread_groups())):
            for group in groups[:GROUPS]:
                _log(kind, which=group.title, at=_line(group.stack))
    except Exception:
        logger.exception("dump failed")
    finally:
        _one_at_a_time.release()
    _log("dump complete")


def _line(stack: Stack) -> str:
    return " < ".join(stack)


def _log(message: str, **fields: str) -> None:
    # Ignores the level: the dump was requested, even if only errors are logged.
    logger.handle(logger.makeRecord(logger.name, logging.INFO, __file__, 0, message, (), None, extra=fields))

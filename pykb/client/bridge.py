"""Runs plain functions in threads and gives them a way back to the event loop.

A client belongs to the event loop of its manager, and its calls are coroutines. A thread has no
event loop. It hands the work to the manager's loop and waits for the result, through
:func:`await_in_thread` or through ``client.sync``, which is built on it.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future, wait
from typing import Any, TypeVar

from pykb.client.guard import call_for_future, running_loop

T = TypeVar("T")

_LOOK = 1.0
"""Seconds between checks that the event loop is still open. A closed loop never answers."""


class Bridge:
    """Runs coroutines for threads, in the event loop that it was made in."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._waiting: set[Future[Any]] = set()
        self._closed = False

    def enter(self, context: contextvars.Context) -> None:
        """Let threads that run in a context use this bridge."""
        context.run(_bridge.set, self)

    def call(self, pool: Executor | None, function: Callable[[], T]) -> asyncio.Future[T]:
        """Call a plain function in a thread, with the caller's context and this bridge."""
        context = contextvars.copy_context()
        self.enter(context)
        return self.loop.run_in_executor(pool, context.run, call_for_future, function)

    def close(self) -> None:
        """Cancel what threads wait for now or ask for later. They get ``CancelledError``."""
        with self._lock:
            self._closed = True
            waiting = list(self._waiting)
        for future in waiting:
            future.cancel()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the event loop and wait for its result. Called from a thread."""
        future = self._submit(coroutine)
        try:
            while not wait((future,), _LOOK).done:
                if self.loop.is_closed():
                    if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                        coroutine.close()
                    raise _broken_off()
            if future.cancelled():
                raise _broken_off()
            return future.result()
        finally:
            self._waiting.discard(future)

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._closed or self.loop.is_closed():
                coroutine.close()
                raise _broken_off()
            waiting_thread.set(threading.get_ident())
            # The task has a copy of this thread's context: the fence of the leader, the fields of the log.
            future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
            self._waiting.add(future)
            return future


_bridge: contextvars.ContextVar[Bridge | None] = contextvars.ContextVar("bridge", default=None)

waiting_thread: contextvars.ContextVar[int | None] = contextvars.ContextVar("waiting_thread", default=None)
"""The thread that waits for the running coroutine."""


async def call_in_thread(function: Callable[[], T], pool: Executor | None = None) -> T:
    """Call a plain function in a thread where ``client.sync`` and :func:`await_in_thread` work.

    A manager calls plain reconcilers and webhooks this way. A test can do the same::

        await call_in_thread(lambda: reconciler.reconcile(request))

    Args:
        function: The function.
        pool: The pool that provides the thread. Defaults to the event loop's own pool.

    Raises:
        Exception: Whatever the function raises.
    """
    bridge = Bridge()
    try:
        return await bridge.call(pool, function)
    except asyncio.CancelledError:
        bridge.close()
        raise


def await_in_thread(coroutine: Coroutine[Any, Any, T]) -> T:
    """Wait in a thread for the result of a coroutine, which runs in the manager's event loop.

    For plain functions that a manager calls (reconcilers, webhooks, kopf handlers), and for ``asyncio.to_thread``::

        class AppReconciler(Reconciler):
            def reconcile(self, request: Request) -> None:
                app = self.client.sync.get(App, request)
                await_in_thread(ensure_applied(self.client, service_of(app), owner=app))

    Args:
        coroutine: The call, not awaited.

    Raises:
        RuntimeError: This is the event loop's thread (use ``await`` there), or no manager started
            the thread.
        asyncio.CancelledError: The call was cancelled: the manager stops, or a time limit has
            passed.
        Exception: Whatever the coroutine raises.
    """
    if running_loop() is not None:
        coroutine.close()
        raise RuntimeError(
            f"`{_name(coroutine)}` would block the event loop: in `async def`, write `await` without `sync`"
        )
    bridge = _bridge.get()
    if bridge is None:
        coroutine.close()
        raise RuntimeError(
            f"`{_name(coroutine)}`: this thread knows of no manager's event loop; call the function by"
            " `await call_in_thread(function)`, or have your thread run `contextvars.copy_context().run(function)`"
        )
    return bridge.wait(coroutine)


def loop_of_thread() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that works for this thread, or ``None`` if no manager started the thread."""
    bridge = _bridge.get()
    return None if bridge is None else bridge.loop


def _name(coroutine: object) -> str:
    return getattr(coroutine, "__qualname__", type(coroutine).__name__)


def _broken_off() -> asyncio.CancelledError:
    return asyncio.CancelledError("stopped: the manager stops, or a time limit has passed")

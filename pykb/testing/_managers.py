"""Runs managers in tests, and waits until a cluster reaches a state."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, overload

from pykb.client.clock import Clock, SystemClock
from pykb.client.errors import NotFound
from pykb.runtime.manager.manager import Manager
from pykb.runtime.options import ManagerOptions
from pykb.runtime.requests.reconcile import Reconciler
from pykb.testing._webhooks import options_for_webhooks, webhooks_in_effect

T = TypeVar("T")

RETRIED = (AssertionError, NotFound)
Registration = type[Reconciler] | Callable[[Manager], None]
"""A reconciler's class, or a function that takes the manager and registers things (a project's own ``register``)."""


@overload
async def eventually(
    check: Callable[[], Awaitable[T]],
    timeout: timedelta = ...,  # noqa: ASYNC109
    interval: timedelta = ...,
    *,
    clock: Clock | None = ...,
) -> T: ...
@overload
async def eventually(
    check: Callable[[], T],
    timeout: timedelta = ...,  # noqa: ASYNC109
    interval: timedelta = ...,
    *,
    clock: Clock | None = ...,
) -> T: ...
async def eventually(
    check: Callable[[], Awaitable[T] | T],
    timeout: timedelta = timedelta(seconds=30),  # noqa: ASYNC109 - the time for all tries, not for one
    interval: timedelta = timedelta(milliseconds=50),
    *,
    clock: Clock | None = None,
) -> T:
    """Call ``check`` until it passes, and return its result.

    It does not pass if it raises ``AssertionError`` or ``NotFound``, or returns ``False``. Any
    other error ends the wait::

        async def is_running() -> None:
            machine = await client.get(VirtulMachine, "default/vm")
            assert machine.status.phase == "Running"

        await eventually(is_running)

    Args:
        check: A function, async or not.
        timeout: How long to try. A try that is still running is then cancelled.
        interval: How long to wait between tries.
        clock: The clock for waiting. Defaults to the system's clock.

    Raises:
        AssertionError: It did not pass in time. The message has the reason of the last try.
    """
    clock = clock or SystemClock()
    deadline = clock.now() + timeout.total_seconds()
    while True:
        last: BaseException | None = None
        try:
            async with asyncio.timeout(timeout.total_seconds() if isinstance(clock, SystemClock) else None):
                answer = check()
                result: T = await answer if inspect.isawaitable(answer) else answer
            if result is not False:
                return result
        except (*RETRIED, TimeoutError) as error:
            last = error
        if clock.now() >= deadline:
            reason = str(last) if last else "it returned False"
            raise AssertionError(f"not within {timeout.total_seconds():g} s: {reason}") from last
        await clock.sleep(interval)


@contextlib.asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[Manager]:
    """Run a manager during a block. Before the block begins, the manager has listed what it watches.

    ::

        client = fake_client(kinds=[VirtulMachine])
        manager = Manager(client=client)
        VirtulMachineReconciler(manager.client).setup(manager)
        async with running(manager):
            await client.create(machine)
            await eventually(lambda: client.get(Deployment, "default/vm"))

    Raises:
        Exception: The error of the manager, before or during the block.
    """
    async with _started(manager) as task:
        await _ready(manager, task)
        yield manager


@contextlib.asynccontextmanager
async def _started(manager: Manager) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(manager.start(), name="manager under test")
    try:
        yield task
    finally:
        manager.stop()
        await task


async def _first(awaited: Coroutine[Any, Any, object], task: asyncio.Task[None]) -> None:
    """Wait for an awaitable or for the manager's end."""
    waiting = asyncio.create_task(awaited)
    try:
        await asyncio.wait({waiting, task}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


async def _ready(manager: Manager, task: asyncio.Task[None]) -> None:
    """Wait until a manager leads or has its share, has its first lists, and serves its webhooks.

    Raises:
        NoKindMatch: The API server does not serve a kind that the manager watches.
        Exception: The manager's error. It explains more than the error that would follow in the
            block.
    """
    if manager.sharding is None:
        await _first(manager.elected.wait(), task)

    def synced() -> None:
        if task.done():
            return
        for unserved in manager.cache.unserved.values():
            raise unserved  # at once: the test would wait in vain
        if manager.cache.unsynced:
            raise AssertionError(f"no list arrived yet of {', '.join(map(str, manager.cache.unsynced))}")
        if manager.sharding is not None:
            try:
                manager.sharding.check_ready()
            except RuntimeError as error:
                raise AssertionError(str(error)) from None
        if _serves_webhooks(manager) and not manager.webhook_server.is_listening:
            raise AssertionError("the webhook server does not listen")

    await eventually(synced)
    if task.done():
        task.result()


def _serves_webhooks(manager: Manager) -> bool:
    return manager.options.webhooks and bool(manager.webhook_server.paths)


@dataclass(frozen=True, slots=True)
class RunManager:
    """Makes and runs managers for tests.

    ::

        async def test_a_machine_gets_a_deployment(run_manager: RunManager, client: Client, namespace: str) -> None:
            async with run_manager(VirtulMachineReconciler):
                machine = VirtulMachine(metadata=ObjectMeta(name="vm", namespace=namespace), spec=VirtulMachineSpec())
                await client.create(machine)
                await eventually(lambda: client.get(Deployment, f"{namespace}/vm"))

    Attributes:
        kubeconfig: The cluster.
        project: The folder of the project under test, whose ``config/webhook/manifests.yaml`` lists its webhooks.
    """

    kubeconfig: Path
    project: Path = Path()

    @contextlib.asynccontextmanager
    async def __call__(
        self, *registrations: Registration, options: ManagerOptions | None = None
    ) -> AsyncIterator[Manager]:
        """Run these reconcilers during an ``async with`` block.

        Webhooks registered with the manager are served at a free port of this machine. The API
        server calls them during the whole block. Admission webhooks are configured as in the
        project's manifest, for the registered paths only. Conversion is configured for the kinds
        with converters.

        Args:
            registrations: Classes of reconcilers, or functions that take the manager.
            options: The options of the manager. By default, it serves neither probes nor metrics,
                so that tests can run in parallel. The address of the webhooks is always replaced.

        Raises:
            EnvironmentProblem: A webhook is not in the manifest, or the cluster cannot call it.
        """
        chosen = options or ManagerOptions(health_probe_bind_address="0", metrics_bind_address="0")
        with options_for_webhooks(replace(chosen, kubeconfig=self.kubeconfig)) as used:
            manager = Manager(used)
            for registration in registrations:
                if isinstance(registration, type):
                    registration(manager.client).setup(manager)
                else:
                    registration(manager)
            paths = manager.webhook_server.paths if _serves_webhooks(manager) else frozenset()
            async with _started(manager) as task, contextlib.AsyncExitStack() as stack:
                if paths:
                    await _first(manager.webhook_server.listening(), task)
                if paths and manager.webhook_server.is_listening:  # otherwise the manager has ended already
                    called = webhooks_in_effect(manager, paths, self.kubeconfig, self.project)
                    await stack.enter_async_context(called)
                await _ready(manager, task)  # only now: its lists may need its conversion
                yield manager

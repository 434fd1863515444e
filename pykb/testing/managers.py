"""Reconcilers that run while a test looks on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.runtime.manager import Manager
from pykb.runtime.options import ManagerOptions
from pykb.runtime.reconcile import Reconciler
from pykb.testing.waiting import eventually

Registration = type[Reconciler] | Callable[[Manager], None]
"""A reconciler's class, or a function that registers whatever it likes (a project's own ``register``)."""


@contextlib.asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[Manager]:
    """Run a manager for the length of a block; it has listed what it watches when the block begins.

    Raises:
        Exception: What the manager failed with, before or during the block.
    """
    task = asyncio.create_task(manager.start(), name="manager under test")
    try:
        await _ready(manager, task)
        yield manager
    finally:
        manager.stop()
        await task


async def _ready(manager: Manager, task: asyncio.Task[None]) -> None:
    elected = asyncio.create_task(manager.elected.wait())
    try:
        await asyncio.wait({elected, task}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        elected.cancel()

    def synced() -> bool:
        return task.done() or not manager.cache.unsynced

    await eventually(synced)


@dataclass(frozen=True, slots=True)
class RunManager:
    """Makes managers for tests and runs them.

    Attributes:
        kubeconfig: The cluster.
    """

    kubeconfig: Path

    @contextlib.asynccontextmanager
    async def __call__(
        self, *registrations: Registration, options: ManagerOptions | None = None
    ) -> AsyncIterator[Manager]:
        """Run these reconcilers for the length of an ``async with`` block.

        Args:
            registrations: Classes of reconcilers, or functions that take the manager.
            options: How the manager works; without any it serves neither probes nor metrics, so that tests can run
                side by
                side.
        """
        chosen = options or ManagerOptions(health_probe_bind_address="0", metrics_bind_address="0")
        manager = Manager(replace(chosen, kubeconfig=self.kubeconfig))
        for registration in registrations:
            if isinstance(registration, type):
                registration(manager.client).setup(manager)
            else:
                registration(manager)
        async with running(manager):
            yield manager

"""Runnables, which run as long as the manager, in groups that start and stop in order, or while a lease is held."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from pykb.client.bridge import Bridge
from pykb.client.client import Client
from pykb.client.clock import Clock
from pykb.client.ending import end_tasks, until_cancelled
from pykb.client.guard import ends_task
from pykb.runtime._metrics import Metrics
from pykb.runtime._watchdog import Ending
from pykb.runtime.options import ManagerOptions

if TYPE_CHECKING:
    from pykb.runtime._election import Work
    from pykb.runtime.sharding.sharding import Sharding


logger = logging.getLogger(__name__)


@runtime_checkable
class Runnable(Protocol):
    """Something that runs until it is cancelled.

    ::

        class Sweeper:
            async def run(self) -> None:
                while True:
                    await sweep(manager.client)
                    await asyncio.sleep(3600)

        manager.add(Sweeper())

    It may end by itself. If it ends with an error, so does the manager, in order; after ``sys.exit(3)`` with
    this code. Only the leader runs it,
    unless its attribute ``needs_leader_election`` is false. Then every replica runs it.
    """

    async def run(self) -> None:
        """Run until cancelled."""


RunFunction: TypeAlias = Callable[[], Awaitable[object]]


def function_of(runnable: Runnable | RunFunction) -> RunFunction:
    """The coroutine function of what a user adds.

    Raises:
        TypeError: It has none.
    """
    given: object = runnable
    if inspect.iscoroutine(given):
        given.close()
        raise TypeError("`add` needs the function, not its call: `manager.add(main)`, not `manager.add(main())`")
    if not callable(given) and not isinstance(given, Runnable):
        raise TypeError(f"`{type(given).__name__}` cannot run: it has no `async def run(self)`")
    return runnable.run if isinstance(runnable, Runnable) else runnable


class RunnableGroup:
    """Runnables that start and stop together. Those added while the group runs start at once."""

    def __init__(self, name: str, failed: Callable[[BaseException], None]) -> None:
        self.name = name
        self._failed = failed
        self._waiting: list[tuple[str, RunFunction]] = []
        self._tasks: dict[asyncio.Task[None], RunFunction] = {}
        self._removed: set[asyncio.Task[None]] = set()
        self._running = False
        self._context = contextvars.Context()

    def add(self, function: RunFunction, *, name: str) -> None:
        """Add a runnable to the group."""
        if self._running:
            self._spawn(function, name)
        else:
            self._waiting.append((name, function))

    def __contains__(self, function: RunFunction) -> bool:
        waiting = [each for _, each in self._waiting]
        return function in (*waiting, *self._tasks.values())

    async def remove(self, function: RunFunction) -> None:
        """Stop a runnable, if it is in the group, and wait until it has ended."""
        self._waiting = [(name, each) for name, each in self._waiting if each != function]
        tasks = {task for task, each in self._tasks.items() if each == function}
        if not tasks:
            return
        if self._running:  # else, `stop` has cancelled it, and a second cancellation would cut short what it does
            self._removed |= tasks
            for task in tasks:
                task.cancel()
        await asyncio.wait(tasks)

    def start(self) -> None:
        """Start the runnables that were added."""
        self._running = True
        self._context = contextvars.copy_context()
        Bridge().enter(self._context)  # for threads that kopf or `asyncio.to_thread` starts
        waiting, self._waiting = self._waiting, []
        for name, function in waiting:
            self._spawn(function, name)

    async def stop(self, deadline: float) -> bool:
        """Cancel all and wait until ``deadline`` (a time of the event loop). Return whether all have ended.

        A runnable that has not ended by then is cancelled once more and left behind.
        """
        self._running = False
        tasks = set(self._tasks)
        if not tasks:
            return True
        for task in tasks - self._removed:
            task.cancel()
        left = deadline - asyncio.get_running_loop().time()
        _, pending = await asyncio.wait(tasks, timeout=max(0.0, left))
        if not pending:
            return True
        for task in pending:
            task.cancel()
        # The second cancellation stops the draining. The runnable gets a short time to clean up.
        _, pending = await asyncio.wait(pending, timeout=LAST_MOMENT.total_seconds())
        names = ", ".join(sorted(task.get_name() for task in tasks))
        logger.error("not stopped in time", extra={"group": self.name, "runnables": names})
        return False

    def _spawn(self, function: RunFunction, name: str) -> None:
        task: asyncio.Task[None] = asyncio.create_task(
            self._run(function, name),
            name=name,
            # A runnable added later runs in the group's context, not in its caller's.
            context=self._context.copy(),
        )
        self._tasks[task] = function
        task.add_done_callback(self._ended)

    async def _run(self, function: RunFunction, name: str) -> None:
        task = asyncio.current_task()
        try:
            await _awaited(function, name)
        except Exception:
            raise
        except BaseException as error:
            if ends_task(error, task, is_cancelled=not self._running or task in self._removed):
                raise
            if isinstance(error, asyncio.CancelledError):
                # Nobody else would notice that it does not run any more.
                raise RuntimeError(f"runnable `{name}` was cancelled by the program, not by the manager") from error  # noqa: TRY004 - it is no wrong type
            # The event loop would end at once by `SystemExit`. The manager stops in order, and raises it then.
            self._failed(error)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task)
        was_removed = task in self._removed
        self._removed.discard(task)
        if task.cancelled():
            if self._running and not was_removed:  # it has cancelled itself, and ended before it noticed
                name = task.get_name()
                self._failed(RuntimeError(f"runnable `{name}` was cancelled by the program, not by the manager"))
            return
        error = task.exception()
        # A task group wraps even a single error. People need to see the error itself.
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if error is not None:
            self._failed(error)


async def unless(stopping: asyncio.Event, awaitable: Awaitable[object]) -> None:
    """Wait for something, but no longer than until the event is set. Then it is cancelled."""
    task = asyncio.ensure_future(awaitable)
    stop = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        await end_tasks(task, stop)


LAST_MOMENT = timedelta(seconds=1)


async def _awaited(function: RunFunction, name: str) -> None:
    running: object = function()
    if not inspect.isawaitable(running):
        raise TypeError(f"runnable `{name}` must be a coroutine function: write `async def`")
    await running


@dataclass(slots=True, eq=False)
class Leases:
    """The leases of one manager. A manager without any imports neither the election nor the sharding.

    Attributes:
        options: The options of the manager.
        clock: Measures the age of leases.
        metrics: Report whether this process leads.
        ending: Ends a process that hangs when its lease has expired.
        client: Makes a client for one lease.
        own_namespace: Returns the namespace of the program.
        grace: How long running work may take to finish. Less after a lease was lost.
        late: Whether something did not stop in time. Then no lease is released.
    """

    options: ManagerOptions
    clock: Clock
    metrics: Metrics
    ending: Ending
    client: Callable[[], AbstractAsyncContextManager[Client]]
    own_namespace: Callable[[], Awaitable[str]]
    grace: timedelta = field(init=False)
    late: bool = False

    def __post_init__(self) -> None:
        self.grace = self.options.graceful_shutdown_timeout

    async def stop(self, group: RunnableGroup, deadline: float) -> None:
        """Stop a group."""
        if not await group.stop(deadline):
            self.late = True

    async def elect(self, group: RunnableGroup, start: Callable[[], None], sharding: Sharding | None) -> None:
        """Run a group while this process leads, with the same identity in all Leases.

        Without shards, no replica with shards may work meanwhile.

        Raises:
            LeadershipLost: The lease was lost.
        """
        from pykb.client.events import EventRecorder
        from pykb.runtime._election import LeaderElectionOptions, LeaderElector, default_identity
        from pykb.runtime.sharding._modes import Group, GroupOptions

        if sharding is not None:
            await sharding.works.wait()
        options, clock = self.options, self.clock
        name, identity = options.leader_election_id, default_identity() if sharding is None else sharding.identity
        gauge = self.metrics.leader.labels(name)

        async def hold(client: Client, own_namespace: str, work: Work) -> None:
            election = LeaderElectionOptions(
                name,
                options.leader_election_namespace or own_namespace or "default",
                identity,
                lease_duration=options.lease_duration,
                renew_deadline=options.renew_deadline,
                retry_period=options.retry_period,
                release_on_stop=options.release_on_cancel,
            )
            elector = LeaderElector(
                client,
                election,
                clock=clock,
                recorder=EventRecorder(client, "leader-election"),
                observer=lambda leads: gauge.set(int(leads)),
                end_within=work.end_within,
                idle=work.idle,
            )
            if sharding is not None:
                await elector.run(work.lead)
                return
            place = GroupOptions(
                name,
                election.namespace,
                identity,
                lease_duration=options.lease_duration,
                period=options.retry_period,
            )
            await Group(client, place, clock=clock).work(elector, work.lead)

        await self._run(group, start, hold, "the lease")

    async def share(self, group: RunnableGroup, sharding: Sharding) -> None:
        """Run a group while this process takes part in sharing the objects."""
        await self._run(group, group.start, sharding.run, "the lease of this member")

    async def _run(
        self,
        group: RunnableGroup,
        start: Callable[[], None],
        hold: Callable[[Client, str, Work], Awaitable[None]],
        lease: str,
    ) -> None:
        from pykb.runtime._election import LeadershipLost, Work

        async def lead() -> None:
            start()
            try:
                await until_cancelled()
            finally:
                # After a normal stop, nothing is left to stop. After a loss, another replica may
                # already work, so cancel at once.
                await self.stop(group, asyncio.get_running_loop().time())

        work = Work(lead, idle=lambda: not self.late, ending=self.ending, lease=lease)
        try:
            async with self.client() as client:
                await hold(client, await self.own_namespace(), work)
        except LeadershipLost:
            self.grace = min(self.grace, self._left_after_loss)
            raise

    @property
    def _left_after_loss(self) -> timedelta:
        return self.options.lease_duration - self.options.renew_deadline

"""The worker loop: takes requests from a queue, calls the reconciler and handles the result."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypedDict, cast

from pykb.api.safe_text import error_text, without_values
from pykb.client.bridge import Bridge
from pykb.client.clock import Clock, SystemClock
from pykb.client.ending import end_tasks
from pykb.client.errors import ApiError
from pykb.client.guard import ends_task, take_back_cancellation
from pykb.client.options import check_durations, check_function
from pykb.client.task import check_fence, reset
from pykb.meta.gvk import GroupKind
from pykb.runtime._awaiting import KeptCoroutines, watch_for_not_awaited
from pykb.runtime._metrics import ControllerMetrics, Metrics
from pykb.runtime.controller._source import KindSource, Source, all_synced
from pykb.runtime.records.context import ReconcileContext, current_reconcile, when_all_seen
from pykb.runtime.records.recording import Recorder
from pykb.runtime.requests.queue import QueueShutDown, RateLimiter, Work, WorkQueue
from pykb.runtime.requests.reconcile import (
    SAYS_ENOUGH,
    NotAwaited,
    ReconcileTimeout,
    Request,
    RequestT,
    RequestT_contra,
    Result,
    TerminalError,
)

logger = logging.getLogger(__name__)

SLICE = 0.001
"""Seconds of work after which a worker lets other tasks run.

A reconciler that only reads the cache never waits. It would keep watches and the renewal of the lease from running
until the queue is empty.
"""

BUGS = (
    *(TypeError, AttributeError, NameError, LookupError, AssertionError, ArithmeticError, RecursionError),
    *(NotImplementedError, NotAwaited),
)
"""Exceptions that indicate a bug. They are counted like panics in Go and retried like any error.

So are those that are no ``Exception``: ``SystemExit``, groups of them, a panic of Rust.
"""


Admission: TypeAlias = Callable[[Any], AbstractAsyncContextManager[bool]]


class Reconciles(Protocol[RequestT_contra]):
    """The interface that a controller calls: :class:`~pykb.runtime.requests.reconcile.Reconciler` or a similar class.

    Another class needs an attribute ``request_type`` if its requests are not objects.
    """

    def reconcile(self, request: RequestT_contra, /) -> object:
        """See :meth:`pykb.runtime.requests.reconcile.Reconciler.reconcile`."""


@dataclass(frozen=True, slots=True)
class ControllerOptions(Generic[RequestT]):
    """Options of a controller; see :meth:`ControllerBuilder.with_options`.

    Attributes:
        max_concurrent_reconciles: How many requests are reconciled at once, never two for the same
            object.
        rate_limiter: Makes the queue's rate limiter. Defaults to delays of 5 ms to 1000 s per
            request.
        timeout: The longest time for one reconcile. A longer one fails like any other error.
        max_retries: How often a failing request is retried. Then it is dropped until its object
            changes or is resynced (every 10 hours, unless ``InformerOptions.resync`` differs).
            ``None`` means without limit.
        needs_leader_election: Whether only the leader runs it.
        sharded: Whether all replicas run it, each for its share of objects, if the manager has
            ``shards``. Otherwise the leader runs it, as do controllers without ``for_``.
        log_fields: Returns additional fields for each log record of a reconcile
            (controller-runtime's ``LogConstructor``). Called when a record is written.
    """

    max_concurrent_reconciles: int = 1
    rate_limiter: Callable[[], RateLimiter[RequestT]] | None = None
    timeout: timedelta | None = None
    max_retries: int | None = None
    needs_leader_election: bool = True
    sharded: bool = True
    log_fields: Callable[[RequestT], Mapping[str, object]] | None = None

    def __post_init__(self) -> None:
        if self.max_concurrent_reconciles < 1:
            raise ValueError(f"at least one worker is needed, got {self.max_concurrent_reconciles}")
        check_durations(timeout=self.timeout)
        if self.rate_limiter is not None:
            check_function("`rate_limiter`, which makes the limiter,", self.rate_limiter)
        if self.log_fields is not None:
            check_function("`log_fields`", self.log_fields, "the request", plain=True)


class ControllerChanges(TypedDict, Generic[RequestT], total=False):
    """Single options by name, as in :class:`ControllerOptions`."""

    # It repeats the fields, for the reason that `ManagerOverrides` names. A test compares the two.

    max_concurrent_reconciles: int
    rate_limiter: Callable[[], RateLimiter[RequestT]] | None
    timeout: timedelta | None
    max_retries: int | None
    needs_leader_election: bool
    sharded: bool
    log_fields: Callable[[RequestT], Mapping[str, object]] | None


@dataclass(slots=True)
class Running(Generic[RequestT]):
    """A running call of a reconciler.

    Attributes:
        request: Its request.
        task: The task of the worker.
        since: Its start, on the controller's clock.
        thread: The thread of a plain function; 0 for none.
    """

    request: RequestT
    task: asyncio.Task[Any] | None
    since: float
    thread: int = 0


class Controller(Generic[RequestT]):
    """Sources, a queue and workers for one reconciler. The manager runs it."""

    def __init__(
        self,
        name: str,
        reconciler: Reconciles[RequestT],
        options: ControllerOptions[RequestT] | None = None,
        *,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.options: ControllerOptions[RequestT] = options or ControllerOptions()
        self.needs_leader_election = self.options.needs_leader_election
        self.sharded = False
        """Whether all replicas run it, each for its share of objects. The manager's sharding sets it."""
        self._reconciler = reconciler
        self._function: object = None
        self._is_async = False
        self._clock: Clock = clock or SystemClock()
        workers = self.options.max_concurrent_reconciles
        self._metrics: ControllerMetrics = (metrics or Metrics()).controller(name, lambda: self.queue, workers=workers)
        limiter = self.options.rate_limiter() if self.options.rate_limiter else None
        self.queue: WorkQueue[RequestT] = WorkQueue(
            request_type=request_type_of(reconciler), rate_limiter=limiter, clock=self._clock, observer=self._metrics
        )
        self._sources: list[Source[RequestT]] = []
        self._running: dict[RequestT, Running[RequestT]] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._tasks: list[asyncio.Task[None]] | None = None
        self._task_added: asyncio.Future[None] | None = None
        self._ending = False
        self._kept = KeptCoroutines(reconciler)
        self.recorder = Recorder(self.queue, self._clock, self._metrics.loops.inc)
        """Records reconciles for listeners, and finds hot loops."""
        self.admit: Admission | None = None
        """Says whether this replica reconciles a request, and is entered while it does."""

    def watch(self, source: Source[RequestT]) -> None:
        """Add a source of requests, even while the controller runs.

        ::

            controller = ControllerBuilder(manager).for_(VirtulMachine).complete(reconciler)
            controller.watch(KindSource(manager.cache, ConfigMap, EnqueueRequestForObject()))

        Raises:
            RuntimeError: The controller runs and is sharded: the replicas share what it watches.
        """
        if self._tasks is not None and self.sharded:
            raise RuntimeError(f"`{self.name}` is sharded: it gets its sources before the manager starts")
        self._sources.append(source)
        if self._tasks is not None:
            self._tasks.append(self._feeding(source))
            if self._task_added is not None and not self._task_added.done():
                self._task_added.set_result(None)

    @property
    def kinds(self) -> frozenset[GroupKind]:
        """The kinds that it is for: a request is the name of one of their objects."""
        sources = [source for source in self._sources if isinstance(source, KindSource)]
        return frozenset(source.informer.gvk.group_kind for source in sources if source.is_for_objects)

    async def release(self) -> None:
        """Give the mirrors of its sources back after :meth:`run` has ended for good."""
        for source in self._sources:
            if isinstance(source, KindSource):
                await source.release()

    def running_now(self) -> list[tuple[Running[RequestT], float]]:
        """The running calls, and for how many seconds each has run. May be called from any thread."""
        now = self._clock.now()
        return [(running, now - running.since) for running in list(self._running.values())]

    async def run(self) -> None:
        """Run until cancelled, then let running calls finish. A second cancellation cancels them.

        Raises:
            CacheSyncTimeout: The first list of a watched kind did not arrive in time.
        """
        watch_for_not_awaited()
        tasks = self._tasks = [self._feeding(source) for source in self._sources]
        try:
            await all_synced(self._sources, tasks)
            logger.info(
                "controller started",
                extra={"controller": self.name, "workers": self.options.max_concurrent_reconciles},
            )
            workers = [
                asyncio.create_task(self._work(), name=f"{self.name} worker")
                for _ in range(self.options.max_concurrent_reconciles)
            ]
            tasks += workers
            await self._until_one_fails(tasks)
        finally:
            self.queue.shut_down()
            try:
                await self.queue.drained()
            finally:
                self._ending, self._tasks = True, None
                await end_tasks(*tasks)
                if self._pool is not None:
                    self._pool.shutdown(wait=False, cancel_futures=True)
                logger.info("controller stopped", extra={"controller": self.name})

    def _feeding(self, source: Source[RequestT]) -> asyncio.Task[None]:
        return asyncio.create_task(self._feed(source), name=f"{self.name} source")

    async def _until_one_fails(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait for the first error. Sources may end; workers end only when the queue is shut down."""
        checked: set[asyncio.Task[None]] = set()
        while pending := set(tasks) - checked:
            added = self._task_added = asyncio.get_running_loop().create_future()
            await asyncio.wait({added, *pending}, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                if task.done():
                    task.result()
                    checked.add(task)

    async def _feed(self, source: Source[RequestT]) -> None:
        """Run a source. If its code ends it, that is an error, which ends the controller: it would miss events."""
        task = asyncio.current_task()
        try:
            await source.run(self.queue)
        except Exception:
            raise
        except BaseException as error:
            if ends_task(error, task, is_cancelled=self._ending):
                raise
            raise RuntimeError(f"a source of controller `{self.name}` ended by {error_text(error)}") from error

    async def _work(self) -> None:
        while True:
            try:
                await self._work_on()
            except QueueShutDown:
                return
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if self._ending or task is None:
                    raise
                # Code that it called has kept this task, and cancelled it later.
                logger.warning("worker was cancelled by the program, continues", extra={"controller": self.name})
                await take_back_cancellation(task)

    async def _work_on(self) -> None:
        yielded = self._clock.now()
        while True:
            work = await self.queue.get()
            unseen: list[asyncio.Future[None]] = []
            try:
                check_fence()  # a leader that has lost its lease starts no more reconciles
                unseen = await (self._handle(work) if self.admit is None else self._handle_admitted(work, self.admit))
            finally:
                self.queue.done(work.key, hold=bool(unseen))
            if unseen:
                when_all_seen(unseen, self._clock, partial(self.queue.release, work.key))
            if self._clock.now() - yielded > SLICE:
                await asyncio.sleep(0)
                yielded = self._clock.now()

    async def _handle_admitted(self, work: Work[RequestT], admit: Admission) -> list[asyncio.Future[None]]:
        async with admit(work.key) as is_ours:
            if is_ours:
                return await self._handle(work)
        self.recorder.dropped(work.key)
        return []

    async def _handle(self, work: Work[RequestT]) -> list[asyncio.Future[None]]:
        """Reconcile, and return what the caches lack of its writes."""
        request = work.key
        log_fields = self.options.log_fields
        fields = None if log_fields is None else partial(log_fields, request)
        context = ReconcileContext(self.name, "", request, fields)
        result: Result | None = None
        failure: BaseException | None = None
        token = current_reconcile.set(context)
        started = self._clock.now()
        self._metrics.active.inc()
        task = asyncio.current_task()
        self._running[request] = Running(request, task, started)
        try:
            if self.queue.tracker is not None:
                self.recorder.begin(context)
            result = await self._call(request)
            if task is not None and task.cancelling() and not self._ending:
                raise asyncio.CancelledError("it cancelled its own task")  # noqa: TRY301 - a failure like any other
            if len(self._running) == 1:  # another one may be about to await what it keeps
                self._kept.report()
            if context.not_awaited:
                raise NotAwaited(context.not_awaited)  # noqa: TRY301
        except BaseException as error:
            if ends_task(error, task, is_cancelled=self._ending):
                raise
            failure = error
            self._failed(work, error)
        else:
            self._succeeded(work, result)
        finally:
            del self._running[request]
            self._metrics.active.dec()
            seconds = self._clock.now() - started
            self._metrics.seconds.observe(seconds)
            self.recorder.end(context, result, failure, seconds)
            reset(current_reconcile, token)
        if task is not None and task.cancelling() and not self._ending:
            await take_back_cancellation(task)
        return [future for future in context.unseen if not future.done()]

    async def _call(self, request: RequestT) -> Result:
        reconcile = self._reconciler.reconcile
        running: Awaitable[object]
        function = getattr(reconcile, "__func__", reconcile)
        if function is not self._function:  # to look at a function costs more than to call it
            self._function, self._is_async = function, inspect.iscoroutinefunction(reconcile)
        if self._is_async:
            running = cast("Awaitable[object]", reconcile(request))
        else:
            answer = await self._call_in_thread(request)
            # A plain method that returns a coroutine (a wrapper) is awaited here like an async one.
            if not inspect.isawaitable(answer):
                return _checked(answer)
            running = answer
        limit = self.options.timeout
        if limit is None:
            return _checked(await running)
        try:
            async with asyncio.timeout(limit.total_seconds()) as timeout:
                return _checked(await running)
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise ReconcileTimeout(f"not done within {limit.total_seconds():g} s") from error

    async def _call_in_thread(self, request: RequestT) -> object:
        if self._pool is None:
            workers = self.options.max_concurrent_reconciles
            self._pool = ThreadPoolExecutor(workers, thread_name_prefix=f"{self.name}-")
        bridge = Bridge()
        running = bridge.call(self._pool, partial(self._reconcile_here, self._running[request]))
        limit = self.options.timeout
        try:
            done, _ = await asyncio.wait({running}, timeout=limit.total_seconds() if limit else None)
            if not done:
                # Only its calls of the client can be cancelled. The object must not get a second
                # thread, so wait and report the timeout late.
                bridge.close()
                await asyncio.gather(running, return_exceptions=True)
                raise ReconcileTimeout(f"took longer than {limit.total_seconds() if limit else 0:g} s")
        except asyncio.CancelledError:
            running.cancel()
            bridge.close()
            raise
        return running.result()

    def _reconcile_here(self, running: Running[RequestT]) -> object:
        running.thread = threading.get_ident()
        return self._reconciler.reconcile(running.request)

    def _succeeded(self, work: Work[RequestT], result: Result) -> None:
        self.queue.forget(work.key)
        if result.requeue_after is not None and result.requeue_after > timedelta():
            priority = work.priority if result.priority is None else result.priority
            self.queue.add(work.key, after=result.requeue_after, priority=priority)
            self._metrics.results["requeue_after"].inc()
            return
        self._metrics.results["success"].inc()

    def _failed(self, work: Work[RequestT], error: BaseException) -> None:
        self._metrics.errors.inc()
        self._metrics.results["error"].inc()
        if isinstance(error, ReconcileTimeout):
            self._metrics.timeouts.inc()
        if _is_bug(error):
            self._metrics.panics.inc()
        trace = None if isinstance(error, SAYS_ENOUGH) else without_values(error)
        shown: dict[str, object] = {"error": error_text(error)}
        log = logger.debug if self.recorder.logs_errors else logger.error
        if isinstance(error, TerminalError):
            self._metrics.terminal.inc()
            self.queue.forget(work.key)
            log("reconcile failed, will not retry", extra=shown, exc_info=trace)
            return
        retries = self.options.max_retries
        if retries is not None and self.queue.failures(work.key) >= retries:
            self.queue.forget(work.key)
            log("reconcile failed, giving up", extra={"retries": retries, **shown}, exc_info=trace)
            return
        asked = error.retry_after if isinstance(error, ApiError) else None
        self.queue.add_rate_limited(work.key, priority=work.priority, at_least=asked or timedelta())
        failures = self.queue.failures(work.key)
        log("reconcile failed, will retry", extra={"failures": failures, **shown}, exc_info=trace)


def request_type_of(reconciler: Reconciles[Any]) -> type[Any]:
    """The type of a reconciler's requests.

    Raises:
        TypeError: They cannot be keys of a queue.
    """
    found: type[Any] = getattr(reconciler, "request_type", Request)
    hashed: object = found.__hash__
    if hashed is None:
        called = found.__name__
        raise TypeError(
            f"requests are keys of a queue, and a `{called}` has no hash: `@dataclass(frozen=True)` gives it"
        )
    return found


def _is_bug(error: BaseException) -> bool:
    if isinstance(error, asyncio.CancelledError):
        return False
    # These become a `RuntimeError` where they leave a coroutine or a thread.
    ends = isinstance(error.__cause__, (StopIteration, StopAsyncIteration, GeneratorExit))
    return isinstance(error, BUGS) or not isinstance(error, Exception) or (ends and isinstance(error, RuntimeError))


_DONE = Result()


def _checked(answer: object) -> Result:
    if answer is None:
        return _DONE
    if not isinstance(answer, Result):
        raise TypeError(f"a reconciler must return a Result or None, got {type(answer).__name__}")
    return answer

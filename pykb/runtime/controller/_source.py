"""Sources of a controller's events: kinds in the cluster, a channel of the program, or a function."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, overload

from pykb.api.object import Object, Unstructured
from pykb.api.safe_text import error_text, without_values
from pykb.api.unreadable import UnreadableObject
from pykb.client.clock import Clock, SystemClock
from pykb.client.codec import Kind
from pykb.client.ending import end_tasks, until_cancelled
from pykb.client.guard import ends_task, is_end, outside_task, take_back_cancellation
from pykb.client.options import checked_predicates
from pykb.meta.gvk import GroupVersionKind, NamespacedName
from pykb.runtime.cache.event import Event, EventFilter, EventFilters, EventType
from pykb.runtime.cache.informer import Informer, Registration
from pykb.runtime.cache.informer_cache import InformerCache
from pykb.runtime.cache.reflector import LONGEST_PAUSE
from pykb.runtime.controller._handler import EnqueueRequestForObject, EnqueueRequestForOwner, EventHandler, Queue
from pykb.runtime.records.recording import waking
from pykb.runtime.requests.reconcile import RequestT

logger = logging.getLogger(__name__)

FIRST_RETRY = timedelta(milliseconds=5)


ObjectT = TypeVar("ObjectT", bound=Object)
Wire: TypeAlias = dict[str, Any]


class Source(Protocol[RequestT]):
    """Adds requests to a queue until it is cancelled."""

    async def run(self, queue: Queue[RequestT], /) -> None:
        """Feed the queue until cancelled."""

    async def wait_for_sync(self) -> None:
        """Wait until everything that existed at the start was added to the queue.

        Raises:
            CacheSyncTimeout: It took too long.
        """


async def all_synced(sources: list[Source[Any]], running: list[asyncio.Task[None]]) -> None:
    """Wait for the first lists of sources that run. Raises the error of one that failed."""

    async def sync() -> None:
        await asyncio.gather(*(source.wait_for_sync() for source in sources))

    syncing = asyncio.create_task(sync())
    pending = set(running)
    try:
        while not syncing.done():
            done, _ = await asyncio.wait({syncing, *pending}, return_when=asyncio.FIRST_COMPLETED)
            for task in pending & done:
                task.result()  # a source that failed never gets there
            pending -= done
        syncing.result()
    finally:
        await end_tasks(syncing)


@dataclass(slots=True, eq=False)
class Dispatcher:
    """Passes events to a handler. A handler that waits or must be retried gets its own task."""

    handler: EventHandler[Any, Any]
    predicates: Sequence[EventFilter[Any]]
    queue: Queue[Any]
    tasks: asyncio.TaskGroup
    clock: Clock = field(default_factory=SystemClock)
    _failed: dict[tuple[str, str], list[Event[Any]]] = field(default_factory=dict)
    """The first and the last failed event of each object."""
    _ended: bool = False

    def end(self) -> None:
        """Note that its tasks are to end, so that their cancellation is not a failure of the handler."""
        self._ended = True

    def __call__(self, event: Event[Any]) -> None:
        """Filter and handle one event."""
        outside_task(self._dispatch, event)

    def _dispatch(self, event: Event[Any]) -> None:
        for passes in self.predicates:
            if not self._passes(passes, event):
                return
        try:
            waiting = self._handle(event)
            if waiting is not None and not inspect.isawaitable(waiting):
                raise TypeError(f"an event handler must return None or an awaitable, got `{type(waiting).__name__}`")  # noqa: TRY301 - a failure like any other
        except BaseException as error:
            if is_end(error):
                raise
            self._report("event handler failed, will retry", event, error)
            self._try_later(event)
            return
        if waiting is not None:
            self.tasks.create_task(self._finish(event, waiting))

    def _report(self, message: str, event: Event[Any], error: BaseException, **shown: object) -> None:
        self.queue.handler_failed()
        shown |= {"event": repr(event), "error": error_text(error)}
        logger.error(message, extra=shown, exc_info=without_values(error))

    def _handle(self, event: Event[Any]) -> Awaitable[None] | None:
        if self.queue.tracker is None:
            return self.handler.handle(event, self.queue)
        token = waking.set(event)
        try:
            return self.handler.handle(event, self.queue)
        finally:
            waking.reset(token)

    async def _finish(self, event: Event[Any], waiting: Awaitable[None]) -> None:
        task = asyncio.current_task()
        try:
            await self._finished(event, waiting)
        except BaseException as error:
            if ends_task(error, task, is_cancelled=self._ended):
                raise
            self._report("event handler failed, will retry", event, error)
            self._try_later(event)

    async def _finished(self, event: Event[Any], waiting: Awaitable[None]) -> None:
        """Wait for the handler. If it has cancelled the running task, that is a failure, and the task continues."""
        waking.set(event)
        task = asyncio.current_task()
        try:
            await waiting
            if task is not None and task.cancelling() and not self._ended:
                raise asyncio.CancelledError("it cancelled its own task")
        finally:
            if task is not None and task.cancelling() and not self._ended:
                await take_back_cancellation(task)

    def _passes(self, predicate: EventFilter[Any], event: Event[Any]) -> bool:
        """Call a predicate. If it fails, the event passes: an extra reconcile is better than a missing one."""
        try:
            answer: object = predicate(event)
            if inspect.iscoroutine(answer):
                answer.close()
                raise TypeError("a predicate must be a plain function, but this one is async: nothing awaits it")  # noqa: TRY301
            return bool(answer)
        except UnreadableObject as error:
            shown = {"event": repr(event), "error": error_text(error)}
            logger.warning("predicate cannot decide, event passes", extra=shown)
        except BaseException as error:
            if is_end(error):
                raise
            called = getattr(predicate, "__qualname__", type(predicate).__qualname__)
            self._report("predicate failed, event passes", event, error, predicate=called)
        return True

    def _try_later(self, event: Event[Any]) -> None:
        key = (event.namespace, event.name)
        failed = self._failed.get(key)
        if failed is None:
            self._failed[key] = [event]
            self.tasks.create_task(self._retry(key))
        else:
            # Events between the first and the last are not needed any more, and could use much
            # memory.
            failed[1:] = [event]

    async def _retry(self, key: tuple[str, str]) -> None:
        """Retry until the handler succeeds, so that no event is lost."""
        pause, task = FIRST_RETRY, asyncio.current_task()
        while events := tuple(self._failed[key]):
            await self.clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            events = tuple(self._failed[key])
            try:
                for event in events:
                    waking.set(event)
                    waiting = outside_task(self.handler.handle, event, self.queue)
                    if waiting is not None:
                        await self._finished(event, waiting)
            except BaseException as error:
                if ends_task(error, task, is_cancelled=self._ended):
                    raise
                self.queue.handler_failed()
                shown = {"event": repr(events[-1]), "error": error_text(error)}
                logger.error("event handler failed again, will retry", extra=shown)  # noqa: TRY400 - the first failure has the trace
            else:
                self._failed[key] = [event for event in self._failed[key] if event not in events]
        del self._failed[key]


class KindSource(Generic[RequestT]):
    """The events of a kind, from the shared cache.

    ::

        other = InformerCache.of(Client.from_kubeconfig("other-cluster.yaml"))
        manager.add(other)
        source = KindSource(other, ConfigMap, EnqueueRequestForObject())
        ControllerBuilder(manager).for_(VirtulMachine).watches_raw(source).complete(reconciler)
    """

    @overload
    def __init__(
        self,
        cache: InformerCache,
        kind: type[ObjectT],
        handler: EventHandler[ObjectT, RequestT],
        predicates: EventFilters[ObjectT] = (),
        *,
        metadata_only: Literal[False] = False,
        owner: Kind | None = None,
        clock: Clock | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        cache: InformerCache,
        kind: GroupVersionKind,
        handler: EventHandler[Unstructured, RequestT],
        predicates: EventFilters[Unstructured] = (),
        *,
        metadata_only: bool = False,
        owner: Kind | None = None,
        clock: Clock | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        cache: InformerCache,
        kind: Kind,
        handler: EventHandler[Unstructured, RequestT],
        predicates: EventFilters[Unstructured] = (),
        *,
        metadata_only: bool,
        owner: Kind | None = None,
        clock: Clock | None = None,
    ) -> None: ...
    def __init__(
        self,
        cache: InformerCache,
        kind: Kind,
        handler: EventHandler[Any, RequestT],
        predicates: EventFilters[Any] = (),
        *,
        metadata_only: bool = False,
        owner: Kind | None = None,
        clock: Clock | None = None,
    ) -> None:
        # The informer is made now, so that its cache is warm before the controller starts (long
        # before, on a standby).
        self.informer: Informer[Any] = cache.acquire(kind, self, metadata_only=metadata_only)
        """The mirror."""
        self._cache = cache
        self._handler: EventHandler[Any, Any] = handler
        self._predicates = checked_predicates(predicates)
        self._owner = owner
        self._clock: Clock = clock or SystemClock()
        self._listening = asyncio.Event()

    @property
    def is_for_objects(self) -> bool:
        """Whether each object wakes the reconcile of itself."""
        return isinstance(self._handler, EnqueueRequestForObject)

    async def run(self, queue: Queue[RequestT]) -> None:
        """Feed the queue until cancelled."""
        if self._owner is not None and isinstance(self._handler, EnqueueRequestForOwner):
            self._handler.owner_namespaced = (await self._cache.mapping(self._owner)).namespaced
        async with asyncio.TaskGroup() as tasks:
            dispatch = Dispatcher(self._handler, self._predicates, queue, tasks, clock=self._clock)
            registration: Registration | None = None
            try:
                registration = await self.informer.listen(dispatch)
                self._listening.set()
                await until_cancelled()
            finally:
                dispatch.end()
                if registration is not None:
                    registration.remove()

    async def wait_for_sync(self) -> None:
        """Wait for the first list."""
        limit = self._cache.options.sync_timeout
        await self.informer.wait_for_sync(limit)
        await self._listening.wait()

    async def release(self) -> None:
        """Give the mirror back after :meth:`run` has ended for good."""
        await self._cache.release(self.informer, self)


class Channel:
    """Events from outside the cluster. The program sends them, and the controllers that watch the channel get them.

    ::

        alarms = Channel()
        source = ChannelSource(alarms, EnqueueRequestForObject())
        ControllerBuilder(manager).for_(VirtulMachine).watches_raw(source).complete(reconciler)
        alarms.send({"metadata": {"namespace": "default", "name": "vm"}})
    """

    def __init__(self) -> None:
        self._listeners: list[Callable[[Event[Wire]], None]] = []
        self._unheard: list[Event[Wire]] = []

    def send(self, obj: Wire) -> None:
        """Send a generic event for an object (at least ``metadata.name``). It is kept until a controller listens."""
        event: Event[Wire] = Event(EventType.GENERIC, obj, parse=lambda raw: raw)
        if not self._listeners:
            self._unheard.append(event)
        for listener in self._listeners:
            listener(event)

    def send_key(self, key: NamespacedName) -> None:
        """Send a generic event for an object given by its key."""
        self.send({"metadata": {"namespace": key.namespace, "name": key.name}})

    def listen(self, listener: Callable[[Event[Wire]], None]) -> Callable[[], None]:
        """Call a function for each event. Returns a function that stops this."""
        self._listeners.append(listener)
        unheard, self._unheard = self._unheard, []
        for event in unheard:
            listener(event)
        return lambda: self._listeners.remove(listener)


class ChannelSource(Generic[RequestT]):
    """The events of a :class:`Channel`.

    ::

        alarms = Channel()
        source = ChannelSource(alarms, EnqueueRequestForObject())
        ControllerBuilder(manager).for_(VirtulMachine).watches_raw(source).complete(reconciler)
        alarms.send_key(object_key(machine))
    """

    def __init__(
        self, channel: Channel, handler: EventHandler[Wire, RequestT], predicates: EventFilters[Wire] = ()
    ) -> None:
        self._channel = channel
        self._handler = handler
        self._predicates = checked_predicates(predicates)

    async def run(self, queue: Queue[RequestT]) -> None:
        """Feed the queue until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            dispatch = Dispatcher(self._handler, self._predicates, queue, tasks)
            stop = self._channel.listen(dispatch)
            try:
                await until_cancelled()
            finally:
                dispatch.end()
                stop()

    async def wait_for_sync(self) -> None:
        """Nothing to wait for."""


class FuncSource(Generic[RequestT]):
    """A coroutine function that feeds the queue until it is cancelled.

    ::

        async def poll(queue: WorkQueue[Request]) -> None:
            while True:
                for name in await changed_disks():
                    queue.add(Request("default", name))
                await asyncio.sleep(30)

        ControllerBuilder(manager).for_(VirtulMachine).watches_raw(FuncSource(poll)).complete(reconciler)
    """

    def __init__(self, function: Callable[[Queue[RequestT]], Awaitable[None]]) -> None:
        self._function = function

    async def run(self, queue: Queue[RequestT]) -> None:
        """Feed the queue until cancelled, or until the function returns."""
        await self._function(queue)

    async def wait_for_sync(self) -> None:
        """Nothing to wait for."""

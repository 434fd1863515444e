"""Handlers, which map events to requests.

A handler adds requests to the controller's queue. Objects of the first list and updates without a
change get low priority, as in controller-runtime.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Generic, Protocol, TypeAlias

from typing_extensions import TypeVar  # Python's own has no defaults before 3.13

from pykb.api.unreadable import UnreadableObject
from pykb.client.options import check_function
from pykb.meta.gvk import GroupKind, GroupVersion, NamespacedName
from pykb.runtime.cache.event import Event
from pykb.runtime.requests.queue import LOW_PRIORITY, WorkQueue
from pykb.runtime.requests.reconcile import Request, RequestT

Queue: TypeAlias = WorkQueue[RequestT]

T = TypeVar("T", default=Any)
T_contra = TypeVar("T_contra", default=Any, contravariant=True)
Requests: TypeAlias = Iterable[RequestT | NamespacedName] | None
MapFunction: TypeAlias = Callable[[T], Requests[RequestT] | Awaitable[Requests[RequestT]]]
"""Returns the requests for an object of another kind, or ``None``.

It may be plain or async, and may read through the client. Any :class:`~pykb.meta.gvk.NamespacedName` works as a
``Request``.
"""

_Answer: TypeAlias = Requests[Any] | Awaitable[Requests[Any]]

PART = 500
"""Requests added without a pause. Adding them takes about a millisecond."""

ASKED_AT_ONCE = 32
"""Concurrent calls of one async map function. A client does not have more connections."""


class EventHandler(Protocol[T_contra, RequestT]):
    """Turns events into requests.

    ::

        class Later:
            def handle(self, event: Event[Pod], queue: WorkQueue[Request]) -> None:
                queue.add(Request(event.namespace, event.name), after=timedelta(seconds=30))

        later = Later()  # a Pod wakes the machine of its name
        ControllerBuilder(manager).for_(VirtulMachine).watches(Pod, later).complete(reconciler)
    """

    def handle(self, event: Event[T_contra], queue: Queue[RequestT], /) -> Awaitable[None] | None:
        """Add the requests for an event to the queue.

        If it returns an awaitable, the caller awaits it outside the informer's loop. If it or the
        awaitable raises, it is called again later with the same event, so no event is lost.
        """


def priority_of(event: Event[Any]) -> int:
    """The priority of the requests for an event."""
    return LOW_PRIORITY if event.initial or event.unchanged else 0


class EnqueueRequestForObject:
    """Adds a request for the object itself.

    ::

        handler = EnqueueRequestForObject()  # a ConfigMap wakes the machine of its name
        ControllerBuilder(manager).for_(VirtulMachine).watches(ConfigMap, handler).complete(reconciler)
    """

    def handle(self, event: Event[Any], queue: Queue) -> None:
        """Add the object."""
        queue.add(Request(event.namespace, event.name), priority=priority_of(event))


class EnqueueRequestForOwner:
    """Adds a request for the object's owner. For an update, also for its previous owner.

    ::

        owners = EnqueueRequestForOwner(VirtulMachine.gvk.group_kind)
        ControllerBuilder(manager).for_(VirtulMachine).watches(Pod, owners).complete(reconciler)  # as `owns(Pod)`
    """

    def __init__(self, owner: GroupKind, *, owner_namespaced: bool = True, only_controller: bool = True) -> None:
        self._owner = owner
        self.owner_namespaced = owner_namespaced
        self._only_controller = only_controller

    def handle(self, event: Event[Any], queue: Queue) -> None:
        """Add the present and previous owners."""
        priority = priority_of(event)
        for raw in (event.raw,) if event.raw_old is event.raw else (event.raw_old, event.raw):
            for reference in raw["metadata"].get("ownerReferences") or ():
                if self._concerns(reference):
                    namespace = event.namespace if self.owner_namespaced else ""
                    queue.add(Request(namespace, reference["name"]), priority=priority)

    def _concerns(self, reference: dict[str, Any]) -> bool:
        # The version is ignored: the owner may have been written in another version of the same
        # kind.
        group = GroupVersion.parse(reference["apiVersion"]).group
        if reference["kind"] != self._owner.kind or group != self._owner.group:
            return False
        return bool(reference.get("controller")) or not self._only_controller


class EnqueueRequestsFromMap(Generic[T, RequestT]):
    """Adds the requests that a function returns. For an update, it is called with the old and with the new object.

    Only the first part of a large result is added at once. The rest follows in parts, and other
    tasks run in between. The function is not called for another object meanwhile: the results for a
    whole list could take its size squared.

    ::

        async def machines_of(secret: Secret) -> list[Request]:
            secret_key = object_key(secret)
            machines = await manager.client.list(VirtulMachine, namespace=secret_key.namespace)
            users = [object_key(machine) for machine in machines if machine.spec.secret == secret_key.name]
            return [Request(user.namespace, user.name) for user in users]

        ControllerBuilder(manager).for_(VirtulMachine).watches(Secret, machines_of).complete(reconciler)
    """

    def __init__(self, function: MapFunction[T, RequestT]) -> None:
        check_function("a map function", function, "the object")
        self._function = function
        self._adding = asyncio.Lock()
        self._in_line = 0
        self._asking = asyncio.Semaphore(ASKED_AT_ONCE)

    def handle(self, event: Event[T], queue: Queue[RequestT]) -> Awaitable[None] | None:
        """Add the requests that the function returns."""
        if self._in_line:
            return self._in_turn(event, queue)
        found = self._ask(event)
        if _is_async(found):
            return self._gather(found, event, queue)
        requests = _requests(found, queue.request_type)
        return self._add_rest(requests, event, queue) if _add_part(requests, event, queue) else None

    def _ask(self, event: Event[T]) -> list[_Answer]:
        return [self._function(obj) for obj in _readable(event)]

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        self._in_line += 1  # a lock is briefly free between its waiters
        try:
            async with self._adding:
                yield
        finally:
            self._in_line -= 1

    async def _in_turn(self, event: Event[T], queue: Queue[RequestT]) -> None:
        async with self._turn():
            found = self._ask(event)
            if not _is_async(found):
                await _add_all(_requests(found, queue.request_type), event, queue)
                return
        await self._gather(found, event, queue)

    async def _add_rest(self, requests: Iterator[Any], event: Event[T], queue: Queue[RequestT]) -> None:
        async with self._turn():
            await _add_all(requests, event, queue)

    async def _gather(self, found: list[_Answer], event: Event[T], queue: Queue[RequestT]) -> None:
        left = list(found)
        try:
            async with self._asking:
                while left:
                    answer = left.pop(0)
                    given = await answer if inspect.isawaitable(answer) else answer
                    requests = _requests([given], queue.request_type)
                    if _add_part(requests, event, queue):
                        await self._add_rest(requests, event, queue)
        finally:
            for answer in left:  # one failed: all of them are called again later
                if inspect.iscoroutine(answer):
                    answer.close()


def _readable(event: Event[Any]) -> Iterator[Any]:
    """The objects of an event, without one that does not fit its class. That one was reported and will never fit."""
    if event.raw_old is not event.raw:
        with contextlib.suppress(UnreadableObject):
            yield event.old
    with contextlib.suppress(UnreadableObject):
        yield event.object


def _requests(found: Iterable[object], wanted: type[Any]) -> Iterator[Any]:
    """The requests in a map function's results, checked one by one: a result may be a generator."""
    for answer in found:
        if answer is None:
            continue
        if isinstance(answer, str) or not isinstance(answer, Iterable):
            raise TypeError(f"a map function must give a list of requests, got `{type(answer).__name__}`")
        for request in answer:
            if isinstance(request, wanted):
                yield request
            elif wanted is Request and isinstance(request, NamespacedName):
                yield Request(request.namespace, request.name)
            else:
                if inspect.iscoroutine(request):
                    request.close()
                called = f"requests (`{wanted.__name__}`)"
                raise TypeError(f"a map function must give {called}, got `{type(request).__name__}` among them")


def _is_async(found: list[Any]) -> bool:
    return any(inspect.isawaitable(answer) for answer in found)


async def _add_all(requests: Iterator[Any], event: Event[Any], queue: Queue[Any]) -> None:
    more = True
    while more:
        more = _add_part(requests, event, queue)
        await asyncio.sleep(0)


def _add_part(requests: Iterator[Any], event: Event[Any], queue: Queue[Any]) -> bool:
    """Add the next requests. Return whether there may be more."""
    priority, count = priority_of(event), 0
    for request in islice(requests, PART):
        queue.add(request, priority=priority)
        count += 1
    return count == PART


class FuncHandler(Generic[T, RequestT]):
    """A plain function as a handler.

    ::

        def wake(event: Event[Pod], queue: WorkQueue[Request]) -> None:
            machine = (event.object.metadata.labels or {}).get("machine")
            if machine and event.type is EventType.DELETE:
                queue.add(Request(event.namespace, machine))

        ControllerBuilder(manager).for_(VirtulMachine).watches(Pod, FuncHandler(wake)).complete(reconciler)
    """

    def __init__(self, function: Callable[[Event[T], Queue[RequestT]], Awaitable[None] | None]) -> None:
        check_function("an event handler", function, "the event", "the queue")
        self._function = function

    def handle(self, event: Event[T], queue: Queue[RequestT]) -> Awaitable[None] | None:
        """Call the function."""
        return self._function(event, queue)

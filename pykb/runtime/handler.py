"""From events to requests: whom an event wakes.

A handler puts requests on the controller's queue. What nobody waits for (objects of the first list, updates that
changed nothing) is put there with low priority, as controller-runtime does.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias, TypeVar

from pykb.api.unreadable import UnreadableObject
from pykb.meta.gvk import GroupKind, GroupVersion, NamespacedName
from pykb.runtime.event import Event
from pykb.runtime.queue import LOW_PRIORITY, WorkQueue
from pykb.runtime.reconcile import Request

Queue: TypeAlias = WorkQueue[Request]

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
Requests: TypeAlias = Iterable[NamespacedName] | None
MapFunction: TypeAlias = Callable[[T], Requests | Awaitable[Requests]]
"""Gives the requests that an object of another kind concerns; plain or async (it may read through the client);
``None`` for nobody."""


class EventHandler(Protocol):
    """Turns events into requests."""

    def handle(self, event: Event[Any], queue: Queue) -> Awaitable[None] | None:
        """Add to the queue what the event concerns.

        When it gives an awaitable, the caller awaits it off the informer's path; when it (or the awaitable) raises, it
        is called again later with the same event: a wake-up is never lost.
        """
        ...


def priority_of(event: Event[Any]) -> int:
    """The priority of what an event wakes."""
    return LOW_PRIORITY if event.initial or event.unchanged else 0


class EnqueueRequestForObject:
    """Wakes the object itself."""

    def handle(self, event: Event[Any], queue: Queue) -> None:
        """Add the object."""
        queue.add(Request(event.namespace, event.name), priority=priority_of(event))


class EnqueueRequestForOwner:
    """Wakes the owner of the object; at an update also the owner it had before."""

    def __init__(self, owner: GroupKind, *, owner_namespaced: bool = True, only_controller: bool = True) -> None:
        self._owner = owner
        self.owner_namespaced = owner_namespaced
        self._only_controller = only_controller

    def handle(self, event: Event[Any], queue: Queue) -> None:
        """Add the owners, past and present."""
        priority = priority_of(event)
        for raw in (event.raw,) if event.raw_old is event.raw else (event.raw_old, event.raw):
            for reference in raw["metadata"].get("ownerReferences") or ():
                if self._concerns(reference):
                    namespace = event.namespace if self.owner_namespaced else ""
                    queue.add(Request(namespace, reference["name"]), priority=priority)

    def _concerns(self, reference: dict[str, Any]) -> bool:
        # The version is left out: the owner may have been written in another version of the same kind.
        group = GroupVersion.parse(reference["apiVersion"]).group
        if reference["kind"] != self._owner.kind or group != self._owner.group:
            return False
        return bool(reference.get("controller")) or not self._only_controller


class EnqueueRequestsFromMap:
    """Wakes what a function finds; at an update it is asked for the old and for the new object."""

    def __init__(self, function: MapFunction[Any]) -> None:
        self._function = function

    def handle(self, event: Event[Any], queue: Queue) -> Awaitable[None] | None:
        """Add what the function gives."""
        found = [self._function(obj) for obj in _readable(event)]
        waiting = [answer for answer in found if inspect.isawaitable(answer)]
        if waiting:
            return self._gather(waiting, event, queue)
        for requests in found:
            _add(requests, event, queue)
        return None

    async def _gather(self, waiting: list[Awaitable[Requests]], event: Event[Any], queue: Queue) -> None:
        left = list(waiting)
        try:
            while left:
                _add(await left.pop(0), event, queue)
        finally:
            for answer in left:  # one failed: all of them are asked again later
                if inspect.iscoroutine(answer):
                    answer.close()


def _readable(event: Event[Any]) -> Iterator[Any]:
    """The objects of an event. One that does not fit its class is left out: it was reported, and will never fit."""
    if event.raw_old is not event.raw:
        with contextlib.suppress(UnreadableObject):
            yield event.old
    with contextlib.suppress(UnreadableObject):
        yield event.object


def _add(requests: object, event: Event[Any], queue: Queue) -> None:
    if requests is None:
        return
    if isinstance(requests, str) or not isinstance(requests, Iterable):
        raise TypeError(f"a map function must give a list of requests, got `{type(requests).__name__}`")
    priority = priority_of(event)
    for request in requests:
        if not isinstance(request, NamespacedName):
            raise TypeError(f"a map function must give requests, got `{type(request).__name__}` among them")
        queue.add(Request(request.namespace, request.name), priority=priority)


class FuncHandler:
    """A plain function as a handler."""

    def __init__(self, function: Callable[[Event[Any], Queue], Awaitable[None] | None]) -> None:
        self._function = function

    def handle(self, event: Event[Any], queue: Queue) -> Awaitable[None] | None:
        """Call the function."""
        return self._function(event, queue)

"""The contract between a controller and the code that its author writes."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Hashable
from dataclasses import dataclass
from datetime import timedelta
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, get_origin

from typing_extensions import TypeVar  # Python's own has no defaults before 3.13

from pykb.api.type_arguments import resolved
from pykb.meta.gvk import NamespacedName
from pykb.runtime.controller.given import check_durations

if TYPE_CHECKING:
    from pykb.runtime.client import Client
    from pykb.runtime.events.recorder import EventRecorder


class Request(NamespacedName):
    """Which object to look at: its identity and nothing else.

    It says neither what happened nor what the object looks like: many events become one request, and by the time it is
    worked on the object may have changed again, or be gone. It equals the :func:`~pykb.api.object_key` of the object.
    """

    __slots__ = ()


RequestT = TypeVar("RequestT", bound=Hashable, default=Request)
"""What a controller's queue holds: a :class:`Request`, or anything else that can be hashed (``Reconciler[Tenant]``)."""

RequestT_contra = TypeVar("RequestT_contra", bound=Hashable, default=Request, contravariant=True)


@dataclass(frozen=True, slots=True)
class Result:
    """What is to happen after a reconcile that did not raise.

    Attributes:
        requeue_after: Come back after this time at the latest, even if nothing happens to the object.
        priority: The queue's priority of that next run; the present one when ``None``.
    """

    requeue_after: timedelta | None = None
    priority: int | None = None

    def __post_init__(self) -> None:
        check_durations(requeue_after=self.requeue_after)
        priority: object = self.priority
        if priority is not None and not isinstance(priority, int):
            raise TypeError(f"`priority` is an int, got `{type(priority).__name__}`")


class TerminalError(Exception):
    """An error that trying again cannot mend: it is logged and counted, and the request is not retried.

    The object is looked at again when it changes.
    """


class Reconciler(ABC, Generic[RequestT]):
    """Moves the cluster towards what one object asks for.

    Subclasses implement :meth:`reconcile`, as a coroutine or as a plain method. That runs in a thread of a
    bounded pool, and uses ``self.client.sync`` (see :func:`~pykb.runtime._bridge.await_in_thread`). The contract:

    * **Level-based.** Look at how things are and bring them to how they should be; do not act on what happened. Events
      are merged, repeated after a restart, and can be missed altogether.
    * **Idempotent.** It may run at any time, any number of times, also when there is nothing to do.
    * **One at a time per object.** The same request is never worked on by two workers; different requests may be.
    * **An error wins.** When it raises, the request is retried with growing delays whatever would have been returned;
      :class:`TerminalError` is not retried.
    * **Success resets.** A return forgets earlier failures; ``Result(requeue_after=...)`` asks for another run.

    The request names an object unless the class says otherwise: a ``Reconciler[Tenant]`` reconciles tenants, which may
    be of any type that can be hashed.
    """

    request_type: ClassVar[type[Any]] = Request
    """The class of the requests, known from the type argument."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        (argument,) = resolved(cls, Reconciler)
        if not isinstance(argument, TypeVar):
            found = get_origin(argument) or argument  # of `str | int` it is a class too, but not that of a request
            cls.request_type = found if isinstance(found, type) and found is not UnionType else object

    def __init__(self, client: Client, *, recorder: EventRecorder | None = None) -> None:
        self.client = client
        self.logger = logging.getLogger(type(self).__module__)
        self._recorder = recorder

    @property
    def recorder(self) -> EventRecorder:
        """Writes Kubernetes events; made from the client when none was given."""
        if self._recorder is None:
            from pykb.runtime.events.recorder import EventRecorder

            self._recorder = EventRecorder(self.client, type(self).__name__)
        return self._recorder

    @abstractmethod
    def reconcile(self, request: RequestT, /) -> Awaitable[Result | None] | Result | None:
        """Bring what the request names to the state it should be in.

        Raises:
            Exception: Any error: the request is tried again later.
            TerminalError: Trying again is useless.
        """

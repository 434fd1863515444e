"""The contract between a controller and its reconciler."""

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
from pykb.api.unreadable import UnreadableObject
from pykb.client.errors import ApiError, ServerUnreachable
from pykb.client.options import check_durations
from pykb.client.owner import NotControlled
from pykb.meta.gvk import NamespacedName

if TYPE_CHECKING:
    from pykb.client.client import Client
    from pykb.client.events import EventRecorder


class Request(NamespacedName):
    """A request to reconcile an object. It holds only the object's key.

    ::

        request = Request("default", "vm")
        assert request == object_key(machine)
        await VirtulMachineReconciler(client).reconcile(request)

    It contains neither the event nor the object. Many events become one request, and the object may
    change again or be deleted before the reconcile. It equals the :func:`~pykb.api.object_key` of
    the object.
    """

    __slots__ = ()


RequestT = TypeVar("RequestT", bound=Hashable, default=Request)
"""The items of a controller's queue: a :class:`Request`, or any other hashable type (``Reconciler[Tenant]``)."""

RequestT_contra = TypeVar("RequestT_contra", bound=Hashable, default=Request, contravariant=True)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a reconcile that did not raise.

    ::

        async def reconcile(self, request: Request) -> Result:
            machine = await self.client.find(VirtulMachine, request)
            if machine is None or machine.status.phase == "Running":
                return Result()
            return Result(requeue_after=timedelta(seconds=10))

    Attributes:
        requeue_after: Reconcile again after this time at the latest, even without an event.
        priority: The priority of the next reconcile in the queue. Defaults to the present priority.
    """

    requeue_after: timedelta | None = None
    priority: int | None = None

    def __post_init__(self) -> None:
        check_durations(requeue_after=self.requeue_after)
        priority: object = self.priority
        if priority is not None and not isinstance(priority, int):
            raise TypeError(f"`priority` is an int, got `{type(priority).__name__}`")


class TerminalError(Exception):
    """An error that a retry cannot fix. It is logged and counted, and the request is not retried.

    ::

        if machine.spec.cpu > 64:
            raise TerminalError(f"no host has {machine.spec.cpu} CPUs")

    The object is reconciled again when it changes.
    """


class NotAwaited(RuntimeError):  # noqa: N818 - what happened
    """A reconcile called a coroutine function and did not await it. The call had no effect."""


class ReconcileTimeout(Exception):  # noqa: N818 - asyncio's is TimeoutError, this is ours
    """A reconcile took longer than its timeout."""


class Reconciler(ABC, Generic[RequestT]):
    """Brings the cluster to the desired state of one object.

    Subclasses implement :meth:`reconcile`, as a coroutine or as a plain method. A plain method runs
    in a thread of a bounded pool and uses ``self.client.sync`` (see
    :func:`~pykb.client.bridge.await_in_thread`). The contract:

    * **Level-based.** Read the actual state and bring it to the desired state. Do not react to
      single events. Events are merged, repeated after a restart, and can be missed altogether.
    * **Idempotent.** It may run at any time and any number of times, even when there is nothing to
      do.
    * **One at a time per object.** Two workers never have the same request. Different requests may
      run at once.
    * **Errors are retried.** When it raises, the request is retried with growing delays.
      :class:`TerminalError` is not retried.
    * **Success resets.** A return resets the count of failures. ``Result(requeue_after=...)``
      schedules another reconcile.

    By default, a request names an object. A ``Reconciler[Tenant]`` reconciles tenants, which may be
    of any hashable type.

    ::

        class VirtulMachineReconciler(Reconciler):
            async def reconcile(self, request: Request) -> Result:
                machine = await self.client.find(VirtulMachine, request)
                if machine is None:
                    return Result()  # it was deleted
                await ensure_applied(self.client, deployment_of(machine), owner=machine)
                return Result(requeue_after=timedelta(minutes=10))

            def setup(self, manager: Manager) -> None:
                ControllerBuilder(manager).for_(VirtulMachine).owns(Deployment).complete(self)
    """

    request_type: ClassVar[type[Any]] = Request
    """The class of the requests, from the type argument."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        (argument,) = resolved(cls, Reconciler)
        if not isinstance(argument, TypeVar):
            found = get_origin(argument) or argument  # for `str | int` it is a class, but not a class of requests
            cls.request_type = found if isinstance(found, type) and found is not UnionType else object

    def __init__(self, client: Client, *, recorder: EventRecorder | None = None) -> None:
        self.client = client
        self.logger = logging.getLogger(type(self).__module__)
        self._recorder = recorder

    @property
    def recorder(self) -> EventRecorder:
        """Writes Kubernetes events. Made from the client unless given."""
        if self._recorder is None:
            from pykb.client.events import EventRecorder

            self._recorder = EventRecorder(self.client, type(self).__name__)
        return self._recorder

    @abstractmethod
    def reconcile(self, request: RequestT, /) -> Awaitable[Result | None] | Result | None:
        """Bring the requested object to its desired state.

        Raises:
            Exception: Any error. The request is retried later.
            TerminalError: A retry would not help.
        """


SAYS_ENOUGH = (ApiError, ServerUnreachable, NotAwaited, NotControlled, ReconcileTimeout, UnreadableObject)
"""The message says enough. A traceback is for unexpected errors."""

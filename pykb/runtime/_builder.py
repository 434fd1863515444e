"""Builds a controller: what it reconciles, what it watches, and its options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, Unpack, overload

from pykb.api.object import Object, Unstructured
from pykb.client.codec import Kind, gvk_of
from pykb.client.given import check_function, check_kind, checked_predicates
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import INCOMPLETE_CONTROLLER
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.cache.event import EventFilter, EventFilters
from pykb.runtime.controller._handler import (
    EnqueueRequestForObject,
    EnqueueRequestForOwner,
    EnqueueRequestsFromMap,
    EventHandler,
    MapFunction,
)
from pykb.runtime.controller._source import KindSource, Source
from pykb.runtime.controller.controller import (
    Controller,
    ControllerChanges,
    ControllerOptions,
    Reconciles,
    request_type_of,
)
from pykb.runtime.requests.reconcile import Request, RequestT

if TYPE_CHECKING:
    from pykb.runtime.manager.manager import Manager

ObjectT = TypeVar("ObjectT", bound=Object)
OfObjects = TypeVar("OfObjects", bound="ControllerBuilder[Request]")


@dataclass(frozen=True, slots=True)
class _Watched:
    kind: Kind
    handler: EventHandler[Any, Any]
    predicates: tuple[EventFilter, ...]
    metadata_only: bool


@dataclass(frozen=True, slots=True)
class _Owned:
    kind: Kind
    predicates: tuple[EventFilter, ...]
    metadata_only: bool
    only_controller: bool


class ControllerBuilder(Generic[RequestT]):
    """Builds a controller in one expression.

    ::

        ControllerBuilder(manager).for_(VirtulMachine).owns(Deployment).complete(self)

    A ``ControllerBuilder[Tenant](manager)`` builds a controller whose requests are tenants (for a
    ``Reconciler[Tenant]``). Use only ``named`` and ``watches`` with it, since ``for_`` and ``owns``
    make requests for objects.
    """

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._for: _Watched | None = None
        self._owned: list[_Owned] = []
        self._watched: list[_Watched] = []
        self._raw: list[Source[RequestT]] = []
        self._filters: tuple[EventFilter, ...] = ()
        self._name: str | None = None
        self._options: ControllerOptions[RequestT] | None = None
        self._says_concurrency = False

    @overload
    def for_(
        self: OfObjects,
        kind: type[ObjectT],
        *,
        predicates: EventFilters[ObjectT] = (),
        metadata_only: Literal[False] = False,
    ) -> OfObjects: ...
    @overload
    def for_(
        self: OfObjects,
        kind: GroupVersionKind,
        *,
        predicates: EventFilters[Unstructured] = (),
        metadata_only: bool = False,
    ) -> OfObjects: ...
    @overload
    def for_(
        self: OfObjects, kind: Kind, *, predicates: EventFilters[Unstructured] = (), metadata_only: bool
    ) -> OfObjects: ...
    def for_(self, kind: Kind, *, predicates: EventFilters[Any] = (), metadata_only: bool = False) -> Self:
        """Reconcile objects of this kind. Each event of an object triggers its reconcile.

        Raises:
            ValueError: It was called before. Use ``watches`` or another controller for a second
                kind.
        """
        if self._for is not None:
            raise ValueError(
                f"a controller reconciles one kind; `for_` was called with {gvk_of(self._for.kind)} already"
            )
        check_kind("for_", kind)
        self._for = _Watched(kind, EnqueueRequestForObject(), checked_predicates(predicates), metadata_only)
        return self

    @overload
    def owns(
        self: OfObjects,
        kind: type[ObjectT],
        *,
        predicates: EventFilters[ObjectT] = (),
        only_controller: bool = True,
        metadata_only: Literal[False] = False,
    ) -> OfObjects: ...
    @overload
    def owns(
        self: OfObjects,
        kind: GroupVersionKind,
        *,
        predicates: EventFilters[Unstructured] = (),
        only_controller: bool = True,
        metadata_only: bool = False,
    ) -> OfObjects: ...
    @overload
    def owns(
        self: OfObjects,
        kind: Kind,
        *,
        predicates: EventFilters[Unstructured] = (),
        only_controller: bool = True,
        metadata_only: bool,
    ) -> OfObjects: ...
    def owns(
        self,
        kind: Kind,
        *,
        predicates: EventFilters[Any] = (),
        only_controller: bool = True,
        metadata_only: bool = False,
    ) -> Self:
        """Watch this kind and reconcile the owners of its objects.

        ::

            builder = ControllerBuilder(manager).for_(VirtulMachine).owns(Deployment).owns(Service)
            builder.complete(reconciler)

        Args:
            kind: The kind of the owned objects.
            predicates: Filters for the events.
            only_controller: Whether to reconcile only the owner marked as the controller. ``False``
                means every owner.
            metadata_only: Mirror metadata only.
        """
        check_kind("owns", kind)
        self._owned.append(_Owned(kind, checked_predicates(predicates), metadata_only, only_controller))
        return self

    @overload
    def watches(
        self,
        kind: type[ObjectT],
        wakes: MapFunction[ObjectT, RequestT] | EventHandler[ObjectT, RequestT],
        *,
        predicates: EventFilters[ObjectT] = (),
        metadata_only: Literal[False] = False,
    ) -> Self: ...
    @overload
    def watches(
        self,
        kind: GroupVersionKind,
        wakes: MapFunction[Unstructured, RequestT] | EventHandler[Unstructured, RequestT],
        *,
        predicates: EventFilters[Unstructured] = (),
        metadata_only: bool = False,
    ) -> Self: ...
    @overload
    def watches(
        self,
        kind: Kind,
        wakes: MapFunction[Unstructured, RequestT] | EventHandler[Unstructured, RequestT],
        *,
        predicates: EventFilters[Unstructured] = (),
        metadata_only: bool,
    ) -> Self: ...
    def watches(
        self,
        kind: Kind,
        wakes: MapFunction[Any, RequestT] | EventHandler[Any, RequestT],
        *,
        predicates: EventFilters[Any] = (),
        metadata_only: bool = False,
    ) -> Self:
        """Watch this kind and reconcile the requests that a function or a handler returns for its events.

        ::

            def machine_of(pod: Pod) -> list[Request]:
                name = (pod.metadata.labels or {}).get("machine")
                return [Request(pod.metadata.namespace or "", name)] if name else []

            ControllerBuilder(manager).for_(VirtulMachine).watches(Pod, machine_of).complete(reconciler)
        """
        check_kind("watches", kind)
        given: Any = wakes
        is_handler = hasattr(given, "handle") and not isinstance(given, type)
        handler = given if is_handler else EnqueueRequestsFromMap(given)
        self._watched.append(_Watched(kind, handler, checked_predicates(predicates), metadata_only))
        return self

    def watches_raw(self, source: Source[RequestT]) -> Self:
        """Add a source of requests."""
        self._raw.append(source)
        return self

    def named(self, name: str) -> Self:
        """Set the controller's name. Defaults to the kind in lower case."""
        self._name = name
        return self

    def with_options(
        self, options: ControllerOptions[RequestT] | None = None, **changes: Unpack[ControllerChanges[RequestT]]
    ) -> Self:
        """Set all options, or single ones by name (``max_concurrent_reconciles=4``).

        ::

            builder = ControllerBuilder(manager).for_(VirtulMachine)
            builder.with_options(max_concurrent_reconciles=4, timeout=timedelta(minutes=2)).complete(reconciler)
        """
        self._options = replace(options or self._options or ControllerOptions(), **changes)
        self._says_concurrency = self._says_concurrency or options is not None or "max_concurrent_reconciles" in changes
        return self

    def with_event_filter(self, predicate: EventFilter) -> Self:
        """Filter the events of all kinds that the controller watches."""
        self._filters = checked_predicates((*self._filters, predicate))
        return self

    def complete(self, reconciler: Reconciles[RequestT]) -> Controller[RequestT]:
        """Make the controller and add it to the manager.

        Raises:
            EnvironmentProblem: A part is missing, or the name is taken.
            TypeError: The reconciler is a class, not an instance, or its requests are not objects.
        """
        if isinstance(reconciler, type):
            called = reconciler.__name__
            raise TypeError(f"`complete` needs a reconciler, got the class `{called}`: `{called}(manager.client)`")
        check_function("`reconcile`", getattr(reconciler, "reconcile", None), "the request")
        manager = self._manager
        name = self._controller_name()
        manager.check_name(name)  # before it gets the metrics of this name
        wanted = request_type_of(reconciler)
        if (self._for is not None or self._owned) and not issubclass(Request, wanted):
            called = type(reconciler).__name__
            raise TypeError(
                f"`for_` and `owns` wake objects, and `{called}` reconciles `{wanted.__name__}`: "
                "give it a name and `watches(Kind, function)`"
            )
        self._check_sources()
        if manager.sharding is not None:
            manager.sharding.check_open()
        controller = Controller(
            name, reconciler, self._controller_options(), metrics=manager.metrics, clock=manager.clock
        )
        root = None if self._for is None else self._source(self._for)
        watched = [self._source(each) for each in self._watched]
        owned = [self._owned_source(each, self._for.kind) for each in self._owned if self._for is not None]
        sources: list[Source[Any]] = [*([] if root is None else [root]), *watched, *owned, *self._raw]
        for source in sources:
            controller.watch(source)
        if manager.sharding is not None:
            others = [source.informer for source in (*watched, *self._raw) if isinstance(source, KindSource)]
            manager.sharding.add(
                controller,
                None if root is None else root.informer,
                [source.informer for source in owned],
                others,
            )
        manager.add_controller(controller)
        return controller

    def _controller_name(self) -> str:
        if self._name:
            return self._name
        if self._for is not None:
            return gvk_of(self._for.kind).kind.lower()
        raise EnvironmentProblem(
            INCOMPLETE_CONTROLLER.at(None, "a controller needs `for_(Kind)`, or a name", help=("add `.named(...)`",))
        )

    def _controller_options(self) -> ControllerOptions[RequestT]:
        options: ControllerOptions[RequestT] = self._options or ControllerOptions()
        if self._says_concurrency or self._for is None:
            return options
        wanted = self._manager.options.group_kind_concurrency.get(str(gvk_of(self._for.kind).group_kind))
        return options if wanted is None else replace(options, max_concurrent_reconciles=wanted)

    def _check_sources(self) -> None:
        if self._owned and self._for is None:
            raise EnvironmentProblem(
                INCOMPLETE_CONTROLLER.at(None, "`owns` needs an owner kind, set by `for_`", help=("add `.for_(Kind)`",))
            )
        if self._for is None and not self._watched and not self._raw:
            raise EnvironmentProblem(
                INCOMPLETE_CONTROLLER.at(
                    None,
                    f"controller `{self._name}` watches nothing",
                    help=("add `.for_(Kind)`, `.watches(...)` or `.watches_raw(...)`",),
                )
            )

    def _source(self, watched: _Watched) -> KindSource[Any]:
        return KindSource(
            self._manager.cache,
            watched.kind,
            watched.handler,
            (*self._filters, *watched.predicates),
            metadata_only=watched.metadata_only,
            clock=self._manager.clock,
        )

    def _owned_source(self, owned: _Owned, owner: Kind) -> KindSource[Any]:
        handler = EnqueueRequestForOwner(gvk_of(owner).group_kind, only_controller=owned.only_controller)
        return KindSource(
            self._manager.cache,
            owned.kind,
            handler,
            (*self._filters, *owned.predicates),
            metadata_only=owned.metadata_only,
            owner=owner,
            clock=self._manager.clock,
        )

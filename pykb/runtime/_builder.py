"""Builds a controller: what it reconciles, what it watches, and its options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NotRequired, Self, TypedDict, TypeVar, Unpack, overload

from pykb.api.object import Object, Unstructured
from pykb.client.codec import Kind, gvk_of
from pykb.client.options import check_function, check_kind, checked_predicates
from pykb.diagnostics.codes.runtime import INCOMPLETE_CONTROLLER
from pykb.meta.gvk import GroupKind, GroupVersionKind
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
    predicates: tuple[EventFilter, ...]
    metadata_only: bool
    handler: EventHandler[Any, Any]


class Watching(TypedDict, Generic[ObjectT], total=False):
    """How to watch objects of a class."""

    predicates: EventFilters[ObjectT]
    metadata_only: Literal[False]


class WatchingUntyped(TypedDict, total=False):
    """How to watch untyped objects."""

    predicates: EventFilters[Unstructured]
    metadata_only: bool


class WatchingMetadata(TypedDict):
    """How to watch the metadata of objects, which are untyped then."""

    predicates: NotRequired[EventFilters[Unstructured]]
    metadata_only: bool


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
        self._owned: list[Callable[[GroupKind], _Watched]] = []
        self._watched: list[_Watched] = []
        self._raw: list[Source[RequestT]] = []
        self._filters: tuple[EventFilter, ...] = ()
        self._name: str | None = None
        self._options: ControllerOptions[RequestT] | None = None
        self._says_concurrency = False

    @overload
    def for_(self: OfObjects, kind: type[ObjectT], **options: Unpack[Watching[ObjectT]]) -> OfObjects: ...
    @overload
    def for_(self: OfObjects, kind: GroupVersionKind, **options: Unpack[WatchingUntyped]) -> OfObjects: ...
    @overload
    def for_(self: OfObjects, kind: Kind, **options: Unpack[WatchingMetadata]) -> OfObjects: ...
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
        self._for = _Watched(kind, checked_predicates(predicates), metadata_only, EnqueueRequestForObject())
        return self

    @overload
    def owns(
        self: OfObjects, kind: type[ObjectT], *, only_controller: bool = True, **options: Unpack[Watching[ObjectT]]
    ) -> OfObjects: ...
    @overload
    def owns(
        self: OfObjects, kind: GroupVersionKind, *, only_controller: bool = True, **options: Unpack[WatchingUntyped]
    ) -> OfObjects: ...
    @overload
    def owns(
        self: OfObjects, kind: Kind, *, only_controller: bool = True, **options: Unpack[WatchingMetadata]
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
        filters = checked_predicates(predicates)

        def owned(owner: GroupKind) -> _Watched:
            handler = EnqueueRequestForOwner(owner, only_controller=only_controller)
            return _Watched(kind, filters, metadata_only, handler)

        self._owned.append(owned)
        return self

    @overload
    def watches(
        self,
        kind: type[ObjectT],
        wakes: MapFunction[ObjectT, RequestT] | EventHandler[ObjectT, RequestT],
        **options: Unpack[Watching[ObjectT]],
    ) -> Self: ...
    @overload
    def watches(
        self,
        kind: GroupVersionKind,
        wakes: MapFunction[Unstructured, RequestT] | EventHandler[Unstructured, RequestT],
        **options: Unpack[WatchingUntyped],
    ) -> Self: ...
    @overload
    def watches(
        self,
        kind: Kind,
        wakes: MapFunction[Unstructured, RequestT] | EventHandler[Unstructured, RequestT],
        **options: Unpack[WatchingMetadata],
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
        self._watched.append(_Watched(kind, checked_predicates(predicates), metadata_only, handler))
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
        owner = None if self._for is None else self._for.kind
        owned = [self._source(each(gvk_of(owner).group_kind), owner) for each in self._owned if owner is not None]
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
        controller.recorder.kind = None if self._for is None else gvk_of(self._for.kind)
        return controller

    def _controller_name(self) -> str:
        if self._name:
            return self._name
        if self._for is not None:
            return gvk_of(self._for.kind).kind.lower()
        raise INCOMPLETE_CONTROLLER.problem("a controller needs `for_(Kind)`, or a name", "add `.named(...)`")

    def _controller_options(self) -> ControllerOptions[RequestT]:
        options: ControllerOptions[RequestT] = self._options or ControllerOptions()
        if self._says_concurrency or self._for is None:
            return options
        wanted = self._manager.options.group_kind_concurrency.get(str(gvk_of(self._for.kind).group_kind))
        return options if wanted is None else replace(options, max_concurrent_reconciles=wanted)

    def _check_sources(self) -> None:
        if self._owned and self._for is None:
            raise INCOMPLETE_CONTROLLER.problem("`owns` needs an owner kind, set by `for_`", "add `.for_(Kind)`")
        if self._for is None and not self._watched and not self._raw:
            raise INCOMPLETE_CONTROLLER.problem(
                f"controller `{self._name}` watches nothing",
                "add `.for_(Kind)`, `.watches(...)` or `.watches_raw(...)`",
            )

    def _source(self, watched: _Watched, owner: Kind | None = None) -> KindSource[Any]:
        return KindSource(
            self._manager.cache,
            watched.kind,
            watched.handler,
            (*self._filters, *watched.predicates),
            metadata_only=watched.metadata_only,
            owner=owner,
            clock=self._manager.clock,
        )

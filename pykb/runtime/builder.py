"""Puts a controller together: what it reconciles, what else wakes it, and how it works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import INCOMPLETE_CONTROLLER
from pykb.runtime.client.codec import Kind, gvk_of
from pykb.runtime.controller import Controller, ControllerOptions, Reconciles
from pykb.runtime.handler import (
    EnqueueRequestForObject,
    EnqueueRequestForOwner,
    EnqueueRequestsFromMap,
    EventHandler,
    MapFunction,
)
from pykb.runtime.predicate import EventFilter
from pykb.runtime.source import KindSource, Source

if TYPE_CHECKING:
    from pykb.runtime.manager import Manager


@dataclass(frozen=True, slots=True)
class _Watched:
    kind: Kind
    handler: EventHandler
    predicates: tuple[EventFilter, ...]
    metadata_only: bool


@dataclass(frozen=True, slots=True)
class _Owned:
    kind: Kind
    predicates: tuple[EventFilter, ...]
    metadata_only: bool
    only_controller: bool


class ControllerBuilder:
    """Builds a controller in one expression.

    ::

        ControllerBuilder(manager).for_(VirtulMachine).owns(Deployment).complete(self)
    """

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._for: _Watched | None = None
        self._owned: list[_Owned] = []
        self._watched: list[_Watched] = []
        self._raw: list[Source] = []
        self._filters: tuple[EventFilter, ...] = ()
        self._name: str | None = None
        self._options: ControllerOptions | None = None
        self._says_concurrency = False

    def for_(self, kind: Kind, *, predicates: Sequence[EventFilter] = (), metadata_only: bool = False) -> Self:
        """Reconcile objects of this kind: each is woken by its own events.

        Raises:
            ValueError: It was called before; a second kind belongs into ``watches`` or another controller.
        """
        if self._for is not None:
            raise ValueError(
                f"a controller reconciles one kind; `for_` was called with {gvk_of(self._for.kind)} already"
            )
        self._for = _Watched(kind, EnqueueRequestForObject(), tuple(predicates), metadata_only)
        return self

    def owns(
        self,
        kind: Kind,
        *,
        predicates: Sequence[EventFilter] = (),
        only_controller: bool = True,
        metadata_only: bool = False,
    ) -> Self:
        """Wake the owner of objects of this kind.

        Args:
            kind: What the reconciled objects own.
            predicates: Which events count.
            only_controller: Only the owner that is marked as the controller; with ``False`` every owner.
            metadata_only: Mirror metadata only.
        """
        self._owned.append(_Owned(kind, tuple(predicates), metadata_only, only_controller))
        return self

    def watches(
        self,
        kind: Kind,
        wakes: MapFunction[Any] | EventHandler,
        *,
        predicates: Sequence[EventFilter] = (),
        metadata_only: bool = False,
    ) -> Self:
        """Wake what a function (or a handler) makes of the events of this kind."""
        handler = wakes if hasattr(wakes, "handle") else EnqueueRequestsFromMap(wakes)
        self._watched.append(_Watched(kind, handler, tuple(predicates), metadata_only))
        return self

    def watches_raw(self, source: Source) -> Self:
        """Take requests from any source."""
        self._raw.append(source)
        return self

    def named(self, name: str) -> Self:
        """Call the controller so; its kind in lower case otherwise."""
        self._name = name
        return self

    def with_options(self, options: ControllerOptions | None = None, **changes: Any) -> Self:
        """Work so: all options, or single ones by name (``max_concurrent_reconciles=4``)."""
        self._options = replace(options or self._options or ControllerOptions(), **changes)
        self._says_concurrency = self._says_concurrency or options is not None or "max_concurrent_reconciles" in changes
        return self

    def with_event_filter(self, predicate: EventFilter) -> Self:
        """Let only events through that pass; for everything the controller watches by kind."""
        self._filters = (*self._filters, predicate)
        return self

    def complete(self, reconciler: Reconciles) -> Controller:
        """Make the controller and give it to the manager.

        Raises:
            EnvironmentProblem: Something is missing, or the name is taken.
            TypeError: The reconciler is a class instead of an object.
        """
        if isinstance(reconciler, type):
            called = reconciler.__name__
            raise TypeError(f"`complete` needs a reconciler, got the class `{called}`: `{called}(manager.client)`")
        manager = self._manager
        controller = Controller(
            self._controller_name(),
            reconciler,
            self._controller_options(),
            metrics=manager.metrics,
            clock=manager.clock,
        )
        for source in self._sources():
            controller.watch(source)
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

    def _controller_options(self) -> ControllerOptions:
        options = self._options or ControllerOptions()
        if self._says_concurrency or self._for is None:
            return options
        wanted = self._manager.options.group_kind_concurrency.get(str(gvk_of(self._for.kind).group_kind))
        return options if wanted is None else replace(options, max_concurrent_reconciles=wanted)

    def _sources(self) -> list[Source]:
        if self._for is None and not self._watched and not self._raw:
            raise EnvironmentProblem(
                INCOMPLETE_CONTROLLER.at(
                    None,
                    f"controller `{self._name}` watches nothing",
                    help=("add `.for_(Kind)`, `.watches(...)` or `.watches_raw(...)`",),
                )
            )
        sources = [self._source(watched) for watched in (*((self._for,) if self._for else ()), *self._watched)]
        return [*sources, *(self._owned_source(owned) for owned in self._owned), *self._raw]

    def _source(self, watched: _Watched) -> Source:
        return KindSource(
            self._manager.cache,
            watched.kind,
            watched.handler,
            (*self._filters, *watched.predicates),
            metadata_only=watched.metadata_only,
            clock=self._manager.clock,
        )

    def _owned_source(self, owned: _Owned) -> Source:
        if self._for is None:
            raise EnvironmentProblem(
                INCOMPLETE_CONTROLLER.at(
                    None, "`owns` needs a kind that owns: `for_` names it", help=("add `.for_(Kind)`",)
                )
            )
        owner = self._for.kind
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

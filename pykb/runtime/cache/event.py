"""Events of objects, as informers report them, and predicates, which filter them.

An event has the object before and after, in two forms: raw (the dict from the wire) and typed
(validated on first use). All handlers share both forms, so do not change them.

A predicate is any callable from an :class:`Event` to a bool. A filtered event does not trigger a
reconcile. The classes here combine with ``&``, ``|`` and ``~``, also with plain functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, TypeAlias, overload

from typing_extensions import TypeVar  # Python's own has no defaults before 3.13

from pykb.client.selectors import LabelSelector

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", default=Any, contravariant=True)
U = TypeVar("U")


class EventType(StrEnum):
    """Kinds of events."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    GENERIC = "generic"


class Event(Generic[T_co]):
    """A change of an object.

    ::

        def changed(event: Event[VirtulMachine]) -> bool:
            return event.type is not EventType.UPDATE or event.old.spec != event.object.spec

        ControllerBuilder(manager).for_(VirtulMachine, predicates=[changed]).complete(reconciler)

    Attributes:
        type: The type of the event.
        raw: The object as it is now. If deleted, its last known state. Read only.
        initial: Whether the object is part of the first list: it existed before the informer or
            this handler started.
        managed_fields: The object's ``managedFields``, also if the cache leaves them out. Empty for a
            deletion and a resync.
    """

    def __init__(
        self,
        event_type: EventType,
        raw: dict[str, Any],
        *,
        parse: Callable[[dict[str, Any]], T_co],
        load_old: Callable[[], dict[str, Any]] | None = None,
        old_resource_version: str = "",
        initial: bool = False,
        managed_fields: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.type = event_type
        self.raw = raw
        self.initial = initial
        self.managed_fields = managed_fields
        self._parse = parse
        self._load_old = load_old
        self._old_resource_version = old_resource_version

    @cached_property
    def object(self) -> T_co:
        """The object as it is now. If deleted, its last known state."""
        return self._parse(self.raw)

    @cached_property
    def raw_old(self) -> dict[str, Any]:
        """The object before an update, in wire form. For all other events, the object itself."""
        return self.raw if self._load_old is None else self._load_old()

    @cached_property
    def old(self) -> T_co:
        """The object before an update. For all other events, the object itself."""
        return self.object if self._load_old is None else self._parse(self.raw_old)

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for cluster-scoped kinds."""
        namespace: str = self.raw["metadata"].get("namespace", "")
        return namespace

    @property
    def name(self) -> str:
        """The object's name."""
        name: str = self.raw["metadata"]["name"]
        return name

    @property
    def unchanged(self) -> bool:
        """Whether it is an update without a change: a resync, or the object listed again."""
        if self.type is not EventType.UPDATE:
            return False
        version: str = self.raw["metadata"].get("resourceVersion", "")
        return self._old_resource_version == version

    def __repr__(self) -> str:
        return f"<{self.type} of {self.raw.get('kind', 'object')} {self.namespace}/{self.name}>"


EventFilter: TypeAlias = Callable[[Event[T_contra]], bool]
EventFilters: TypeAlias = Sequence[EventFilter[T_contra]]


class Predicate(Generic[T_contra]):
    """Base class of predicates. Override the methods for the events to filter. All other events pass.

    For type checkers, a ``Predicate[Pod]`` takes only events of pods and a ``Predicate`` takes
    events of any kind.

    ::

        class BecameReady(Predicate[VirtulMachine]):
            def update(self, event: Event[VirtulMachine]) -> bool:
                return event.old.status.phase != event.object.status.phase == "Ready"

        predicate = GenerationChanged() | BecameReady()
        ControllerBuilder(manager).for_(VirtulMachine, predicates=[predicate]).complete(reconciler)
    """

    def create(self, event: Event[T_contra]) -> bool:  # noqa: ARG002
        """Filter a creation."""
        return True

    def update(self, event: Event[T_contra]) -> bool:  # noqa: ARG002
        """Filter an update. Both ``event.old`` and ``event.object`` are set."""
        return True

    def delete(self, event: Event[T_contra]) -> bool:  # noqa: ARG002
        """Filter a deletion."""
        return True

    def generic(self, event: Event[T_contra]) -> bool:  # noqa: ARG002
        """Filter a generic event, which comes from outside the cluster."""
        return True

    def __call__(self, event: Event[T_contra]) -> bool:
        """Filter any event."""
        match event.type:
            case EventType.CREATE:
                return self.create(event)
            case EventType.UPDATE:
                return self.update(event)
            case EventType.DELETE:
                return self.delete(event)
            case EventType.GENERIC:
                return self.generic(event)

    @overload
    def __and__(self: Predicate[object], other: EventFilter[U]) -> Predicate[U]: ...
    @overload
    def __and__(self, other: EventFilter[T_contra]) -> Predicate[T_contra]: ...
    def __and__(self, other: EventFilter[Any]) -> Predicate[Any]:
        return AllOf(self, other)

    @overload
    def __rand__(self: Predicate[object], other: EventFilter[U]) -> Predicate[U]: ...
    @overload
    def __rand__(self, other: EventFilter[T_contra]) -> Predicate[T_contra]: ...
    def __rand__(self, other: EventFilter[Any]) -> Predicate[Any]:
        return AllOf(other, self)

    @overload
    def __or__(self: Predicate[object], other: EventFilter[U]) -> Predicate[U]: ...
    @overload
    def __or__(self, other: EventFilter[T_contra]) -> Predicate[T_contra]: ...
    def __or__(self, other: EventFilter[Any]) -> Predicate[Any]:
        return AnyOf(self, other)

    @overload
    def __ror__(self: Predicate[object], other: EventFilter[U]) -> Predicate[U]: ...
    @overload
    def __ror__(self, other: EventFilter[T_contra]) -> Predicate[T_contra]: ...
    def __ror__(self, other: EventFilter[Any]) -> Predicate[Any]:
        return AnyOf(other, self)

    def __invert__(self) -> Predicate[T_contra]:
        return Not(self)


class AllOf(Predicate[T_contra]):
    """Passes an event that all its predicates pass.

    ::

        web = AllOf(GenerationChanged(), LabelSelectorPredicate("app=web"))  # or `GenerationChanged() & ...`
        ControllerBuilder(manager).for_(VirtulMachine, predicates=[web]).complete(reconciler)
    """

    def __init__(self, *filters: EventFilter[T_contra]) -> None:
        self._filters = filters

    def __call__(self, event: Event[T_contra]) -> bool:
        """Filter any event."""
        return all(passes(event) for passes in self._filters)


class AnyOf(Predicate[T_contra]):
    """Passes an event that at least one of its predicates passes.

    ::

        edited = AnyOf(GenerationChanged(), LabelChanged(), AnnotationChanged())  # or `GenerationChanged() | ...`
        ControllerBuilder(manager).for_(VirtulMachine, predicates=[edited]).complete(reconciler)
    """

    def __init__(self, *filters: EventFilter[T_contra]) -> None:
        self._filters = filters

    def __call__(self, event: Event[T_contra]) -> bool:
        """Filter any event."""
        return any(passes(event) for passes in self._filters)


class Not(Predicate[T_contra]):
    """Passes an event that its predicate does not pass.

    ::

        others = Not(LabelSelectorPredicate("app=web"))  # or `~LabelSelectorPredicate("app=web")`
        ControllerBuilder(manager).for_(VirtulMachine).owns(Pod, predicates=[others]).complete(reconciler)
    """

    def __init__(self, negated: EventFilter[T_contra]) -> None:
        self._negated = negated

    def __call__(self, event: Event[T_contra]) -> bool:
        """Filter any event."""
        return not self._negated(event)


class Where(Predicate[T_contra]):
    """Makes a predicate of a plain function, so that it can be combined: ``Where(f) & GenerationChanged()``.

    ::

        staying = Where[Pod](lambda event: event.object.metadata.deletion_timestamp is None)
        ControllerBuilder(manager).for_(VirtulMachine).owns(Pod, predicates=[staying]).complete(reconciler)
    """

    def __init__(self, function: EventFilter[T_contra]) -> None:
        self._function = function

    def __call__(self, event: Event[T_contra]) -> bool:
        """Filter any event."""
        return self._function(event)


class GenerationChanged(Predicate[object]):
    """Passes only updates that change the spec: the API server then increments ``metadata.generation``.

    ::

        ControllerBuilder(manager).for_(VirtulMachine, predicates=[GenerationChanged()]).complete(reconciler)

    Kinds without a status subresource (and most built-in ones without a spec) have no useful generation.
    """

    def update(self, event: Event[object]) -> bool:
        """Compare the generations."""
        return _metadata(event.raw_old).get("generation") != _metadata(event.raw).get("generation")


class ResourceVersionChanged(Predicate[object]):
    """Passes all updates except resyncs and objects that were only listed again.

    ::

        builder = ControllerBuilder(manager).for_(VirtulMachine).owns(Deployment, predicates=[ResourceVersionChanged()])
        builder.complete(reconciler)  # resyncs of Deployments do not wake it
    """

    def update(self, event: Event[object]) -> bool:
        """Compare the resource versions."""
        return not event.unchanged


class LabelChanged(Predicate[object]):
    """Passes only updates that changed a label.

    ::

        predicate = GenerationChanged() | LabelChanged()
        ControllerBuilder(manager).for_(VirtulMachine, predicates=[predicate]).complete(reconciler)
    """

    def update(self, event: Event[object]) -> bool:
        """Compare the labels."""
        return (_metadata(event.raw_old).get("labels") or {}) != (_metadata(event.raw).get("labels") or {})


class AnnotationChanged(Predicate[object]):
    """Passes only updates that changed an annotation.

    ::

        predicate = GenerationChanged() | AnnotationChanged()
        ControllerBuilder(manager).for_(VirtulMachine, predicates=[predicate]).complete(reconciler)
    """

    def update(self, event: Event[object]) -> bool:
        """Compare the annotations."""
        return (_metadata(event.raw_old).get("annotations") or {}) != (_metadata(event.raw).get("annotations") or {})


class LabelSelectorPredicate(Predicate[object]):
    """Passes only objects that match labels: a selector's text, exact labels, or a ``LabelSelector``.

    ::

        predicate = LabelSelectorPredicate("tier in (web,db),!legacy")
        ControllerBuilder(manager).for_(VirtulMachine, predicates=[predicate]).complete(reconciler)
    """

    def __init__(self, selector: str | Mapping[str, str] | LabelSelector) -> None:
        match selector:
            case str():
                self._selector = LabelSelector.parse(selector)
            case LabelSelector():
                self._selector = selector
            case _:
                self._selector = LabelSelector.from_labels(selector)

    def __call__(self, event: Event[object]) -> bool:
        """Compare the labels that the object has now."""
        return self._selector.matches(_metadata(event.raw).get("labels"))


def _metadata(raw: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = raw["metadata"]
    return metadata

"""Filters on events: what does not pass wakes no reconciler.

A predicate is any callable from an :class:`~pykb.runtime.controller.event.Event` to a bool; those made here combine
with ``&``, ``|`` and ``~``, also with plain functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, overload

from typing_extensions import TypeVar  # Python's own has no defaults before 3.13

from pykb.runtime.client.label_selector import LabelSelector
from pykb.runtime.controller.event import Event, EventType

T_contra = TypeVar("T_contra", default=Any, contravariant=True)
U = TypeVar("U")

EventFilter: TypeAlias = Callable[[Event[T_contra]], bool]
EventFilters: TypeAlias = Sequence[EventFilter[T_contra]]


class Predicate(Generic[T_contra]):
    """Base of filters: override what to judge; the rest passes.

    A ``Predicate[Pod]`` judges events of pods only, for type checkers; a ``Predicate`` those of any kind.
    """

    def create(self, event: Event[T_contra]) -> bool:  # noqa: ARG002
        """Judge a creation."""
        return True

    def update(self, event: Event[T_contra]) -> bool:  # noqa: ARG002
        """Judge an update; ``event.old`` and ``event.object`` are both there."""
        return True

    def delete(self, event: Event[T_contra]) -> bool:  # noqa: ARG002
        """Judge a deletion."""
        return True

    def generic(self, event: Event[T_contra]) -> bool:  # noqa: ARG002
        """Judge an event from outside the cluster."""
        return True

    def __call__(self, event: Event[T_contra]) -> bool:
        """Judge any event."""
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
    """Passes what every one of its filters passes."""

    def __init__(self, *filters: EventFilter[T_contra]) -> None:
        self._filters = filters

    def __call__(self, event: Event[T_contra]) -> bool:
        """Judge any event."""
        return all(passes(event) for passes in self._filters)


class AnyOf(Predicate[T_contra]):
    """Passes what at least one of its filters passes."""

    def __init__(self, *filters: EventFilter[T_contra]) -> None:
        self._filters = filters

    def __call__(self, event: Event[T_contra]) -> bool:
        """Judge any event."""
        return any(passes(event) for passes in self._filters)


class Not(Predicate[T_contra]):
    """Passes what its filter holds back."""

    def __init__(self, negated: EventFilter[T_contra]) -> None:
        self._negated = negated

    def __call__(self, event: Event[T_contra]) -> bool:
        """Judge any event."""
        return not self._negated(event)


class Where(Predicate[T_contra]):
    """A plain function as a predicate, so that it combines: ``Where(f) & GenerationChanged()``."""

    def __init__(self, function: EventFilter[T_contra]) -> None:
        self._function = function

    def __call__(self, event: Event[T_contra]) -> bool:
        """Judge any event."""
        return self._function(event)


class GenerationChanged(Predicate[object]):
    """Of updates, only those of the spec: the apiserver raises ``metadata.generation`` for nothing else.

    Kinds without a status subresource (and most built-in ones without a spec) have no useful generation.
    """

    def update(self, event: Event[object]) -> bool:
        """Compare the generations."""
        return _metadata(event.raw_old).get("generation") != _metadata(event.raw).get("generation")


class ResourceVersionChanged(Predicate[object]):
    """Of updates, all but resyncs and objects that were merely listed again."""

    def update(self, event: Event[object]) -> bool:
        """Compare the resource versions."""
        return not event.unchanged


class LabelChanged(Predicate[object]):
    """Of updates, only those that changed a label."""

    def update(self, event: Event[object]) -> bool:
        """Compare the labels."""
        return (_metadata(event.raw_old).get("labels") or {}) != (_metadata(event.raw).get("labels") or {})


class AnnotationChanged(Predicate[object]):
    """Of updates, only those that changed an annotation."""

    def update(self, event: Event[object]) -> bool:
        """Compare the annotations."""
        return (_metadata(event.raw_old).get("annotations") or {}) != (_metadata(event.raw).get("annotations") or {})


class LabelSelectorPredicate(Predicate[object]):
    """Only objects with certain labels: a selector's text, exact labels, or a ``LabelSelector``."""

    def __init__(self, selector: str | Mapping[str, str] | LabelSelector) -> None:
        match selector:
            case str():
                self._selector = LabelSelector.parse(selector)
            case LabelSelector():
                self._selector = selector
            case _:
                self._selector = LabelSelector.from_labels(selector)

    def __call__(self, event: Event[object]) -> bool:
        """Judge by the labels the object has now."""
        return self._selector.matches(_metadata(event.raw).get("labels"))


def _metadata(raw: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = raw["metadata"]
    return metadata

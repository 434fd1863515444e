"""From a kind to strategies of its objects: by the schema that the generator gives it, and what its class refuses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st
from pydantic import ValidationError

from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.api.wire import encode
from pykb.gen.checks.value import misfits
from pykb.gen.ir import SchemaNode
from pykb.meta.names import is_subdomain
from pykb.testing._paths import check_paths
from pykb.testing._schemas import schema_in, schema_of
from pykb.testing.objects._scalars import Strategy, dns_labels
from pykb.testing.objects._values import NothingFitsError, UnsatisfiableFieldError, metadata, values_of

__all__ = ["NothingFitsError", "Override", "UnsatisfiableFieldError", "drawn_objects", "manifests_of", "objects_of"]

Override = Strategy | Callable[[Random], Any]
"""Makes the value of a field, of the wire or of Python; ``None`` leaves the field out."""

StructT = TypeVar("StructT", bound=Struct)

HOPELESS = 180
"""After so many values that do not fit, and no object that does, no more are tried: before hypothesis gives up, which
does not know the field, and after the plain objects that it tries first."""
REFUSED_BY_CLASS = 4
"""A class is asked once for an object, a schema many times."""


def objects_of(kind: type[StructT], *, overrides: Mapping[str, Override] | None = None) -> st.SearchStrategy[StructT]:
    """A strategy of hypothesis for objects of a kind, or of any struct, which an API server takes.

    What the kind's schema says is kept to: types, annotations and markers, and of the CEL rules those that can be
    judged without a server. What the class refuses beyond that is left out of an object where it may be.

    Args:
        kind: The type.
        overrides: How to make the fields that need more than their schema says, by their path in names of the wire:
            ``{"spec.cpu": st.integers(1, 8).map(str)}``, or ``lambda random: str(random.randint(1, 8))``. ``[]`` stands
            for the items of a list, ``*`` for the values of a map: ``spec.ports[].name``, ``spec.limits.*``.

    Raises:
        ValueError: An override leads to no field. While drawing, ``UnsatisfiableFieldError``: a field accepts nothing
            that was tried.
    """
    check_paths(overrides or (), [kind])
    return drawn_objects(kind, overrides or {})


def drawn_objects(kind: type[StructT], overrides: Mapping[str, Override]) -> st.SearchStrategy[StructT]:
    """The same, where the overrides are for other types too."""
    node = schema_of(kind)
    made = {path: _strategy(override) for path, override in overrides.items()}
    if issubclass(kind, Object):
        gvk = getattr(kind, "gvk", None)  # a class may be the base of others only
        made = _identity(gvk.api_version if gvk else "v1", gvk.kind if gvk else kind.__name__, node) | made
    wires = values_of(node, made)
    wasted = 0

    @st.composite
    def an_object(draw: st.DrawFn) -> StructT:
        nonlocal wasted
        try:
            found = _accepted(kind, draw(wires), node)
        except NothingFitsError as error:
            wasted += error.tries
            if wasted >= HOPELESS:
                raise UnsatisfiableFieldError(error.path, error.reason or "") from error
            raise
        wasted = -sys.maxsize
        return found

    return an_object()


def manifests_of(definition: Mapping[str, Any], version: str) -> Strategy:
    """Objects as an API server gets them, by nothing but the CustomResourceDefinition."""
    spec = definition["spec"]
    node = schema_in(next(found for found in spec["versions"] if found["name"] == version))
    return values_of(node, _identity(f"{spec['group']}/{version}", spec["names"]["kind"], node))


def _identity(api_version: str, kind: str, node: SchemaNode) -> dict[str, Strategy]:
    """What says which object it is; a schema may constrain its name."""
    own = (node.properties or {})["metadata"].schema.properties or {}
    names = dns_labels()
    if "name" in own and own["name"].schema.keywords.keys() > {"type"}:
        names = (names | values_of(own["name"].schema)).filter(
            lambda name: is_subdomain(name) and not any(misfits(name, own["name"].schema))
        )
    return {"apiVersion": st.just(api_version), "kind": st.just(kind), "metadata": metadata(names)}


def _strategy(override: Override) -> Strategy:
    made = st.randoms(use_true_random=False).map(override) if callable(override) else override
    return made.map(encode)


def _accepted(kind: type[StructT], wire: Any, node: SchemaNode) -> StructT:
    """The object, without what its class refuses.

    Raises:
        NothingFitsError: Something is refused that must be there.
    """
    while True:
        try:
            found = kind.from_wire(wire)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = _deepest(wire, first["loc"])
            shown = place[:-1] if "[key]" in first["loc"] else place or first["loc"]
            if place:
                _remove(wire, place)
            if not place or any(misfits(wire, node)):
                raise NothingFitsError(_path(shown), first["msg"], REFUSED_BY_CLASS) from error
        else:
            return found


def _deepest(wire: Any, place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """As much of the place of an error as there is: the rest names members of unions, or what is missing."""
    for index, part in enumerate(place):
        is_there = part in (wire if isinstance(wire, dict) else range(len(wire)) if isinstance(wire, list) else ())
        if not is_there:
            return place[:index]
        wire = wire[part]
    return place


def _remove(wire: Any, place: tuple[int | str, ...]) -> None:
    for part in place[:-1]:
        wire = wire[part]
    del wire[place[-1]]


def _path(place: tuple[int | str, ...]) -> str:
    path = ""
    for part in place:
        path += "[]" if isinstance(part, int) else f".{part}" if path else part
    return path or "metadata"

"""Makes strategies for the objects of a kind, from its generated schema and the validation of its class."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from pydantic import BaseModel, ValidationError

from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.api.wire import encode
from pykb.diagnostics import Diagnostics
from pykb.gen.checks.value import misfits
from pykb.gen.declare import Declarations
from pykb.gen.draft import patched
from pykb.gen.ir import SchemaNode
from pykb.gen.options import SchemaOptions
from pykb.gen.passes.resolve import Resolver
from pykb.markers.registry import builtin_registry
from pykb.meta.names import is_subdomain
from pykb.testing._paths import parse_path, why_no_field
from pykb.testing.objects._values import (
    NothingFitsError,
    Strategy,
    UnsatisfiableFieldError,
    dns_labels,
    metadata,
    values_of,
)

__all__ = [
    "NothingFitsError",
    "Override",
    "UnsatisfiableFieldError",
    "drawn_objects",
    "manifests_of",
    "objects_of",
    "smallest",
]

Override = Strategy | Callable[[Random], Any]
"""Makes the value of a field, in wire form or as a Python value. ``None`` omits the field."""

T = TypeVar("T")
StructT = TypeVar("StructT", bound=Struct)

HOPELESS = 180
"""How many invalid values are drawn, without a valid object, before the search stops.

Hypothesis tries more, and its error would not name the field. It tries the plain objects before this limit.
"""
REFUSED_BY_CLASS = 4
"""The class is called once for each object, the schema many times."""


def objects_of(kind: type[StructT], *, overrides: Mapping[str, Override] | None = None) -> st.SearchStrategy[StructT]:
    """Return a hypothesis strategy for objects of a kind, or of any struct, that an API server accepts.

    ::

        @given(objects_of(VirtulMachine, overrides={"spec.cpu": st.integers(1, 8)}))
        def test_any_machine_gets_a_deployment(machine: VirtulMachine) -> None:
            assert deployment_of(machine).spec is not None

    The objects obey the kind's schema (types, annotations and markers) and the CEL rules that can
    be evaluated without a server. If the class refuses more, optional fields that it refuses are
    omitted.

    Args:
        kind: The type.
        overrides: How to make fields with rules beyond their schema, by path in wire names:
            ``{"spec.cpu": st.integers(1, 8).map(str)}``, or ``lambda random: str(random.randint(1, 8))``. ``[]`` stands
            for the items of a list, ``*`` for the values of a map: ``spec.ports[].name``, ``spec.limits.*``.

    Raises:
        ValueError: The path of an override does not lead to a field. While drawing,
            ``UnsatisfiableFieldError``: a field accepted no value that was tried.
    """
    check_paths(overrides or (), [kind])
    return drawn_objects(kind, overrides or {})


def drawn_objects(kind: type[StructT], overrides: Mapping[str, Override]) -> st.SearchStrategy[StructT]:
    """Like :func:`objects_of`, with overrides that may be for other types too."""
    node = _schema_of(kind)
    made = {path: _strategy(override) for path, override in overrides.items()}
    if issubclass(kind, Object):
        gvk = getattr(kind, "gvk", None)  # a class may only be the base of others
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


def smallest(objects: st.SearchStrategy[Any], shown: Callable[[Any], T | None], *, samples: int, seed: int) -> T | None:
    """Return the finding of the smallest object, or ``None`` if none of the samples has one.

    The same seed tries the same objects. Nothing is remembered between runs.
    """
    found: list[T] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=samples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=tuple(HealthCheck),
        report_multiple_bugs=False,
    )
    @hypothesis.given(objects)
    def look(obj: Any) -> None:
        result = shown(obj)
        if result is not None:
            found.append(result)
            raise _FoundError

    # The last one belongs to the smallest object, even if the same object does not always have the
    # same finding.
    with contextlib.suppress(_FoundError, Flaky):
        look()
    return found[-1] if found else None


class _FoundError(Exception):
    """Signals to hypothesis that an object has a finding."""


def check_paths(texts: Iterable[str], kinds: Iterable[type[BaseModel]]) -> None:
    """Refuse paths that do not lead to a field. They would otherwise have no effect.

    Args:
        texts: The paths.
        kinds: A path must lead to a field of one of them.

    Raises:
        ValueError: A path does not lead to a field.
    """
    for text in texts:
        reasons = [why_no_field(_schema_of(kind), parse_path(text), kind.__name__) for kind in kinds]
        if "" not in reasons:
            raise ValueError(f"`{text}` does not lead to a field: {' and '.join(dict.fromkeys(reasons))}")


@lru_cache(maxsize=64)
def _schema_of(kind: type[BaseModel]) -> SchemaNode:
    """The schema of a class. `pykb generate` reports its mistakes. Metadata is like that of a template."""
    diagnostics = Diagnostics()
    declarations = Declarations(Path.cwd(), builtin_registry(), diagnostics)
    node = Resolver(declarations, diagnostics, SchemaOptions(allow_dangerous_types=True)).schema_of(kind)
    for marker in declarations.named(kind).markers:
        if marker.name == "kubebuilder:subresource:scale":
            node = _scaled(node, str(marker.arguments["specpath"]), str(marker.arguments["statuspath"]))
    return node


def _schema_in(version: Mapping[str, Any]) -> SchemaNode:
    """The schema of a version of a CustomResourceDefinition."""
    every_kind = {"type": "object", "properties": {name: {} for name in ("apiVersion", "kind", "metadata")}}
    node = patched(patched(SchemaNode(), every_kind), version["schema"]["openAPIV3Schema"])
    scale = (version.get("subresources") or {}).get("scale")
    return _scaled(node, scale["specReplicasPath"], scale["statusReplicasPath"]) if scale else node


def _scaled(node: SchemaNode, *paths: str) -> SchemaNode:
    """Restrict numbers of replicas to what the API server accepts, whatever their schema says."""
    for path in paths:
        patch: dict[str, Any] = {"minimum": 0, "format": "int32"}
        for name in reversed(path.strip(".").split(".")):
            patch = {"properties": {name: patch}}
        node = patched(node, patch)
    return node


def manifests_of(definition: Mapping[str, Any], version: str) -> Strategy:
    """Return a strategy for objects in wire form, from the CustomResourceDefinition alone."""
    spec = definition["spec"]
    node = _schema_in(next(found for found in spec["versions"] if found["name"] == version))
    return values_of(node, _identity(f"{spec['group']}/{version}", spec["names"]["kind"], node))


def _identity(api_version: str, kind: str, node: SchemaNode) -> dict[str, Strategy]:
    """The identity of an object. A schema may constrain its name."""
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
    """Return the object without the parts that its class refuses.

    Raises:
        NothingFitsError: The class refuses a required part.
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
    """The longest existing prefix of an error's location. The rest names members of unions or missing fields."""
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

"""Checks that the markers of a file fit together: repeated and contradictory markers, and names declared twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pykb.diagnostics import Diagnostic, Label
from pykb.diagnostics.codes.markers import DECLARED_TWICE, MARKER_CONFLICT, MARKER_REPEATED
from pykb.markers.effect import Sets
from pykb.markers.model import FieldDeclaration, Marker, TypeDeclaration, unwrap


def check_consistency(markers: Sequence[Marker]) -> Iterator[Diagnostic]:
    """Report markers of one declaration that exclude each other."""
    if len(markers) < 2:
        return
    first: dict[object, Marker] = {}
    for marker in unwrap(markers):
        if marker.definition.repeatable:
            continue
        earlier = first.setdefault(_said(marker), marker)
        if earlier is not marker:
            yield from _repeated(earlier, marker)
    yield from check_presence(markers)
    yield from _bounds(first)
    yield from _list_keys(markers, first)


def _said(marker: Marker) -> object:
    """What a marker sets: a keyword at a depth of elements, or its name when it does not set a keyword."""
    effect = marker.definition.effect
    if isinstance(effect, Sets):
        return effect.keyword, marker.definition.items_depth
    return marker.definition.alias_of or marker.name


def _list_keys(markers: Sequence[Marker], first: Mapping[object, Marker]) -> Iterator[Diagnostic]:
    kind = first.get(("x-kubernetes-list-type", 0))
    key = next((m for m in markers if _said(m) == ("x-kubernetes-list-map-keys", 0)), None)
    if kind is not None and key is not None and kind.value != "map":
        yield MARKER_CONFLICT.at(
            key.span,
            f"`+{key.name}` needs `+{kind.name}=map`, found `{kind.text}`",
            label="only a map has keys",
            labels=(Label(kind.span, f"makes it `{kind.value}`"),),
        )


def _repeated(earlier: Marker, marker: Marker) -> Iterator[Diagnostic]:
    same = earlier.arguments == marker.arguments
    if marker.name == earlier.name:
        yield MARKER_REPEATED.at(
            marker.span,
            f"`+{marker.name}` appears twice on one declaration, but only one can apply",
            "remove one of the two",
            label="a second time",
            labels=(Label(earlier.span, "first here"),),
        )
    elif not same:
        yield MARKER_CONFLICT.at(
            marker.span,
            f"`{marker.text}` contradicts `{earlier.text}`: both set the same property",
            "remove one of the two",
            label="another value",
            labels=(Label(earlier.span, "first here"),),
        )


def check_presence(markers: Sequence[Marker]) -> Iterator[Diagnostic]:
    """Report markers that make a field, or all fields of a package, both optional and required."""
    optional = next((m for m in markers if m.definition.required is False), None)
    required = next((m for m in markers if m.definition.required), None)
    if optional is None or required is None:
        return
    earlier, later = sorted((optional, required), key=lambda m: (m.span.path, m.span.line, m.span.column))
    yield MARKER_CONFLICT.at(
        later.span,
        f"`+{later.name}` contradicts `+{earlier.name}`",
        "remove one of the two",
        label="a field is either optional or required",
        labels=(Label(earlier.span, "the other one"),),
    )


def _bounds(first: Mapping[object, Marker]) -> Iterator[Diagnostic]:
    for said, low in first.items():
        if not isinstance(said, tuple) or not said[0].startswith("min"):
            continue
        high = first.get((said[0].replace("min", "max", 1), said[1]))
        if high is None or not isinstance(low.value, int | float) or not isinstance(high.value, int | float):
            continue
        if low.value > high.value:
            yield MARKER_CONFLICT.at(
                low.span,
                f"the minimum `{low.value}` is above the maximum `{high.value}`: no value is valid",
                label="above the other bound",
                labels=(Label(high.span, "the other bound"),),
            )


def check_types(found: Sequence[TypeDeclaration]) -> Iterator[Diagnostic]:
    """Report types with the same name, if markers depend on which of them Python keeps."""
    first: dict[str, TypeDeclaration] = {}
    for declaration in found:
        other = first.setdefault(declaration.qualname, declaration)
        if other is not declaration and (_has_markers(other) or _has_markers(declaration)):
            yield DECLARED_TWICE.at(
                declaration.span,
                f"`{declaration.name}` is declared twice, and the markers of one of the two would be lost",
                "give them different names",
                labels=(Label(other.span, "the first one"),),
            )


def check_fields(found: Sequence[tuple[FieldDeclaration, int]]) -> Iterator[Diagnostic]:
    """Report fields with the same name in one class.

    Args:
        found: The fields, each with the number of its block: each branch of an ``if`` is a block of its own.
    """
    first: dict[str, tuple[FieldDeclaration, int]] = {}
    for declaration, block in found:
        other, other_block = first.setdefault(declaration.name, (declaration, block))
        if other is not declaration and (block == other_block or other.markers or declaration.markers):
            yield DECLARED_TWICE.at(
                declaration.span,
                f"the field `{declaration.name}` is declared twice, but only one of them applies",
                "remove one of the two",
                labels=(Label(other.span, "the first one"),),
            )


def _has_markers(declaration: TypeDeclaration) -> bool:
    return bool(declaration.markers) or any(field.markers for field in declaration.fields.values())

"""Whether the markers of one declaration fit together: repeated single values and contradictory pairs."""

from __future__ import annotations

from collections.abc import Sequence

from pykb.diagnostics import Diagnostics, Label
from pykb.diagnostics.codes.markers import MARKER_CONFLICT, MARKER_REPEATED
from pykb.markers.model import Marker

_OPTIONAL = {"optional", "k8s:optional", "kubebuilder:validation:Optional"}
_REQUIRED = {"required", "k8s:required", "kubebuilder:validation:Required"}
_SAME = {"default": "kubebuilder:default"}
"""Markers that set the same thing without being spellings of each other."""
_BOUNDS = (
    ("kubebuilder:validation:Minimum", "kubebuilder:validation:Maximum"),
    ("kubebuilder:validation:MinLength", "kubebuilder:validation:MaxLength"),
    ("kubebuilder:validation:MinItems", "kubebuilder:validation:MaxItems"),
    ("kubebuilder:validation:MinProperties", "kubebuilder:validation:MaxProperties"),
)


def check_consistency(markers: Sequence[Marker], diagnostics: Diagnostics) -> None:
    """Report markers of one declaration that exclude each other."""
    if len(markers) < 2:
        return
    first: dict[str, Marker] = {}
    for marker in markers:
        if marker.definition.repeatable:
            continue
        name = marker.definition.alias_of or _SAME.get(marker.name, marker.name)
        earlier = first.setdefault(name, marker)
        if earlier is not marker:
            _repeated(earlier, marker, diagnostics)
    check_presence(markers, diagnostics)
    _bounds(first, diagnostics)
    _list_keys(markers, first, diagnostics)


def _list_keys(markers: Sequence[Marker], first: dict[str, Marker], diagnostics: Diagnostics) -> None:
    kind = first.get("listType")
    key = next((m for m in markers if (m.definition.alias_of or m.name) == "listMapKey"), None)
    if kind is not None and key is not None and kind.value != "map":
        diagnostics.add(
            MARKER_CONFLICT.at(
                key.span,
                f"`+{key.name}` needs `+{kind.name}=map`, found `{kind.text}`",
                label="only a map has keys",
                labels=(Label(kind.span, f"makes it `{kind.value}`"),),
            )
        )


def _repeated(earlier: Marker, marker: Marker, diagnostics: Diagnostics) -> None:
    same = earlier.arguments == marker.arguments
    if marker.name == earlier.name:
        diagnostics.add(
            MARKER_REPEATED.at(
                marker.span,
                f"`+{marker.name}` stands twice on one declaration, only one can count",
                label="a second time",
                labels=(Label(earlier.span, "first here"),),
                help=("remove one of the two",),
            )
        )
    elif not same:
        diagnostics.add(
            MARKER_CONFLICT.at(
                marker.span,
                f"`{marker.text}` contradicts `{earlier.text}`: both set the same thing",
                label="another value",
                labels=(Label(earlier.span, "first here"),),
                help=("remove one of the two",),
            )
        )


def check_presence(markers: Sequence[Marker], diagnostics: Diagnostics) -> None:
    """Report markers that call the same field, or all fields of one package, optional and required."""
    optional = next((m for m in markers if m.name in _OPTIONAL), None)
    required = next((m for m in markers if m.name in _REQUIRED), None)
    if optional is None or required is None:
        return
    earlier, later = sorted((optional, required), key=lambda m: (m.span.path, m.span.line, m.span.column))
    diagnostics.add(
        MARKER_CONFLICT.at(
            later.span,
            f"`+{later.name}` contradicts `+{earlier.name}`",
            label="a field is either optional or required",
            labels=(Label(earlier.span, "the other one"),),
            help=("remove one of the two",),
        )
    )


def _bounds(first: dict[str, Marker], diagnostics: Diagnostics) -> None:
    by_depth: dict[tuple[str, int], Marker] = {
        (m.definition.alias_of or m.definition.base_name, m.definition.items_depth): m for m in first.values()
    }
    for (name, depth), low in by_depth.items():
        for minimum, maximum in _BOUNDS:
            high = by_depth.get((maximum, depth)) if name == minimum else None
            if high is None or not isinstance(low.value, int | float) or not isinstance(high.value, int | float):
                continue
            if low.value > high.value:
                diagnostics.add(
                    MARKER_CONFLICT.at(
                        low.span,
                        f"the least value `{low.value}` is above the greatest `{high.value}`: no value is valid",
                        label="above the other bound",
                        labels=(Label(high.span, "the other bound"),),
                    )
                )

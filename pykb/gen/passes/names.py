"""The names of markers: which one another is a spelling of, and those wrapped into others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pykb.markers.model import Marker

_TRANSPARENT = frozenset({"k8s:alpha", "k8s:beta"})


def canonical(marker: Marker) -> str:
    """The name of the marker that this one is a spelling of."""
    return marker.definition.alias_of or marker.definition.base_name


def unwrap(markers: Iterable[Marker]) -> Iterator[Marker]:
    """The markers, those inside ``+k8s:alpha`` and ``+k8s:beta`` in their place: in a CRD they hold all the same."""
    for marker in markers:
        inner = marker.value
        if marker.name in _TRANSPARENT and isinstance(inner, Marker):
            yield from unwrap([inner])
        else:
            yield marker

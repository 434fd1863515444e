"""Decides whether a field is required: by its markers, else the package's default, else Python's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pykb.gen.ir import PropertyNode
from pykb.markers.model import Marker


def presence(prop: PropertyNode, markers: Iterable[Marker], package: Iterable[Marker]) -> PropertyNode:
    """The field with ``required`` decided.

    Args:
        prop: The field, required if Python has no default.
        markers: Its markers.
        package: The markers of its package.
    """
    for marker in markers:  # contradictions were reported when the markers were read
        required = marker.definition.required
        if required is not None:
            return replace(prop, required=required, required_by=f"+{marker.name}")
    for marker in package:
        if marker.definition.required is False:
            return replace(prop, required=False, required_by=f"the package's +{marker.name}")
    return prop

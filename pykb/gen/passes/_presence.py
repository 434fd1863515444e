"""Whether a field is required: markers first, then the package's default, then Python's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pykb.gen.ir import PropertyNode
from pykb.markers.model import Marker


def presence(prop: PropertyNode, markers: Iterable[Marker], package: Iterable[Marker]) -> PropertyNode:
    """The field with ``required`` decided.

    Args:
        prop: The field; so far it is required where Python has no default.
        markers: Its markers.
        package: The markers of its package.
    """
    for marker in markers:  # a contradiction was said where they were read
        required = marker.definition.required
        if required is not None:
            return replace(prop, required=required, required_by=f"+{marker.name}")
    for marker in package:
        if marker.definition.required is False:
            return replace(prop, required=False, required_by=f"the package's +{marker.name}")
    return prop

"""Whether a field is required: markers first, then the package's default, then Python's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pykb.gen.ir import PropertyNode
from pykb.markers.model import Marker

# The first one that stands on a field decides.
_ORDER = (
    ("kubebuilder:validation:Optional", False),
    ("kubebuilder:validation:Required", True),
    ("optional", False),
    ("k8s:optional", False),
    ("required", True),
    ("k8s:required", True),
)


def presence(prop: PropertyNode, markers: Iterable[Marker], package: frozenset[str]) -> PropertyNode:
    """The field with ``required`` decided.

    Args:
        prop: The field; so far it is required where Python has no default.
        markers: Its markers.
        package: The names of the markers of its package.
    """
    by_name = {marker.name: marker for marker in markers}
    found = [(by_name[name], required) for name, required in _ORDER if name in by_name]
    if found:
        first, required = found[0]  # a contradiction was said where the markers were read
        return replace(prop, required=required, required_by=f"+{first.name}")
    if "kubebuilder:validation:Optional" in package:
        return replace(prop, required=False, required_by="the package's +kubebuilder:validation:Optional")
    return prop

"""The ``+k8s:`` tags of Kubernetes' declarative validation that have no kubebuilder twin, as keywords and CEL rules.

Source: KEP-5073; what each tag means is described in the reference of markers.
"""

from __future__ import annotations

from collections.abc import Iterable

from pykb.diagnostics import Diagnostics
from pykb.gen.ir import PropertyNode, SchemaNode
from pykb.gen.passes.apply_markers import Target
from pykb.markers.model import Marker


def apply_declarative(
    node: SchemaNode,
    markers: Iterable[Marker],
    effective: SchemaNode,
    target: Target,
    diagnostics: Diagnostics,
) -> SchemaNode:
    """The schema with what the tags add."""
    del target, diagnostics
    for marker in markers:
        if marker.name == "k8s:required":
            node = _not_empty(node, effective, marker)
    return node


_LEAST = {"string": "minLength", "array": "minItems", "object": "minProperties"}


def _not_empty(node: SchemaNode, effective: SchemaNode, marker: Marker) -> SchemaNode:
    """For the declarative validation of Kubernetes an empty value is a missing one."""
    keyword = _LEAST.get(effective.type or "")
    if keyword is None or effective.get(keyword) is not None or node.get(keyword) is not None:
        return node
    return node.put(keyword, 1, marker.span, marker.text)


def parent_rules(prop: PropertyNode, markers: Iterable[Marker], *, frozen: bool) -> list[object]:
    """The rules that a field's tags bring to the object that holds it."""
    rules: list[object] = []
    if not prop.required and (frozen or any(marker.name == "k8s:immutable" for marker in markers)):
        name = prop.name
        rules.append(
            {
                "rule": f"!has(oldSelf.{name}) || has(self.{name})",
                "message": f"field {name} is immutable once set",
            },
        )
    return rules

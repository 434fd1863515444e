"""Schemas that the Kubernetes API fixes: apiVersion, kind and metadata of kinds, and an embedded ObjectMeta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykb.gen.ir import Keyword, PropertyNode, SchemaNode, object_node
from pykb.gen.lower.scalars import node_of

if TYPE_CHECKING:
    from pykb.gen.declare import NamedType

# Every CRD has these two texts, word for word.
API_VERSION_TEXT = """\
APIVersion defines the versioned schema of this representation of an object.
Servers should convert recognized schemas to the latest internal value, and
may reject unrecognized values.
More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"""
KIND_TEXT = """\
Kind is a string value representing the REST resource this object represents.
Servers may infer this from the endpoint the client submits requests to.
Cannot be updated.
In CamelCase.
More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"""

_TEXT = node_of({"type": "string"})
_TEXTS = SchemaNode({"type": Keyword("object")}, values=_TEXT)


def kind_field(attribute: str, *, described: bool, embedded_metadata: bool) -> PropertyNode | None:
    """One of the three fields that every kind has; ``None`` for all others."""
    match attribute:
        case "api_version":
            return PropertyNode("apiVersion", attribute, _described(API_VERSION_TEXT, described), required=False)
        case "kind":
            return PropertyNode("kind", attribute, _described(KIND_TEXT, described), required=False)
        case "metadata":
            node = _embedded_metadata() if embedded_metadata else TOP_LEVEL_METADATA
            return PropertyNode("metadata", attribute, node, required=False)
    return None


def _described(text: str, described: bool) -> SchemaNode:
    return _TEXT.put("description", text) if described else _TEXT


# The apiserver has its own schema for an object's metadata and allows only the type here.
TOP_LEVEL_METADATA = node_of({"type": "object"})


def lower_builtin(named: NamedType, *, embedded_metadata: bool) -> SchemaNode | None:
    """The schema of a built-in type that is not made from its fields; ``None`` for all other types."""
    if not named.built_in:
        return None
    if named.name == "ObjectMeta":
        return _embedded_metadata() if embedded_metadata else node_of({"type": "object"})
    if named.name in {"JSONSchemaProps", "FieldsV1"}:  # one is recursive, the other allows any fields
        return node_of({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    return None


def _embedded_metadata() -> SchemaNode:
    """The useful fields of an embedded ObjectMeta. The server drops fields without a schema."""
    properties = [
        PropertyNode("annotations", "annotations", _TEXTS, required=False),
        PropertyNode("finalizers", "finalizers", SchemaNode({"type": Keyword("array")}, items=_TEXT), required=False),
        PropertyNode("labels", "labels", _TEXTS, required=False),
        PropertyNode("name", "name", _TEXT, required=False),
        PropertyNode("namespace", "namespace", _TEXT, required=False),
    ]
    return object_node(properties, None)

"""What the Kubernetes API fixes: apiVersion, kind and metadata of kinds, an embedded ObjectMeta, objects of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykb.gen.ir import Keyword, PropertyNode, SchemaNode, object_node
from pykb.gen.lower.scalars import node_of

if TYPE_CHECKING:
    from pykb.gen.declare import NamedType

# The two texts are part of the format: every CRD has them, word for word.
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


def _api_version(*, described: bool) -> PropertyNode:
    return PropertyNode("apiVersion", "api_version", _described(API_VERSION_TEXT, described), required=False)


def _kind(*, described: bool) -> PropertyNode:
    return PropertyNode("kind", "kind", _described(KIND_TEXT, described), required=False)


def _metadata(*, described: bool) -> PropertyNode:  # noqa: ARG001 - one signature for the three
    # The apiserver knows the schema of metadata itself and allows nothing but its type here.
    return PropertyNode("metadata", "metadata", node_of({"type": "object"}), required=False)


KIND_FIELDS = {"api_version": _api_version, "kind": _kind, "metadata": _metadata}


def _described(text: str, described: bool) -> SchemaNode:
    return _TEXT.put("description", text) if described else _TEXT


def lower_builtin(cls: type, named: NamedType, *, embedded_metadata: bool) -> SchemaNode | None:
    """The schema of a built-in type that does not follow from its fields; ``None`` for all others."""
    if not named.built_in:
        return None
    if named.name == "ObjectMeta":
        return _embedded_metadata() if embedded_metadata else node_of({"type": "object"})
    if named.name in {"JSONSchemaProps", "FieldsV1"}:  # the one contains itself, the other has any fields
        return node_of({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    return None


def _embedded_metadata() -> SchemaNode:
    """The fields of an embedded ObjectMeta that mean something there; without a schema the server would drop them."""
    properties = [
        PropertyNode("annotations", "annotations", _TEXTS, required=False),
        PropertyNode("finalizers", "finalizers", SchemaNode({"type": Keyword("array")}, items=_TEXT), required=False),
        PropertyNode("labels", "labels", _TEXTS, required=False),
        PropertyNode("name", "name", _TEXT, required=False),
        PropertyNode("namespace", "namespace", _TEXT, required=False),
    ]
    return object_node(properties, None)

"""Types of Kubernetes APIs: the bases of one's own, and the built-in ones.

Names are loaded when they are used: importing this package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import Field

    from pykb.api.annotations import (
        CEL,
        AtLeastOneOf,
        AtMostOneOf,
        Conversion,
        EmbeddedResource,
        ExactlyOneOf,
        ExternalDocs,
        Format,
        Immutable,
        ListAtomic,
        ListMap,
        ListSet,
        MapAtomic,
        MapGranular,
        Nullable,
        PreserveUnknown,
        RawSchema,
        Schemaless,
        SchemaPatch,
        ServerDefault,
        Type,
        Wire,
        XIntOrString,
        annotate,
    )
    from pykb.api.carry import carry_over
    from pykb.api.conversion import Converter, Unconvertible
    from pykb.api.object import CustomResource, Object, ObjectList, object_key
    from pykb.api.quantity import Quantity
    from pykb.api.resource_info import ResourceInfo
    from pykb.api.scalars import JSON, Duration, Int32, Int64, IntOrString, RawExtension, Time
    from pykb.api.struct import Struct
    from pykb.api.time import MicroTime
    from pykb.api.unstructured import Unstructured
    from pykb.meta.gvk import GroupVersion, GroupVersionKind, NamespacedName

_HOME = {
    "AtLeastOneOf": "pykb.api.annotations",
    "AtMostOneOf": "pykb.api.annotations",
    "CEL": "pykb.api.annotations",
    "Conversion": "pykb.api.annotations",
    "Converter": "pykb.api.conversion",
    "CustomResource": "pykb.api.object",
    "Duration": "pykb.api.scalars",
    "EmbeddedResource": "pykb.api.annotations",
    "ExactlyOneOf": "pykb.api.annotations",
    "ExternalDocs": "pykb.api.annotations",
    "Field": "pydantic",
    "Format": "pykb.api.annotations",
    "GroupVersion": "pykb.meta.gvk",
    "GroupVersionKind": "pykb.meta.gvk",
    "Immutable": "pykb.api.annotations",
    "Int32": "pykb.api.scalars",
    "Int64": "pykb.api.scalars",
    "IntOrString": "pykb.api.scalars",
    "JSON": "pykb.api.scalars",
    "ListAtomic": "pykb.api.annotations",
    "ListMap": "pykb.api.annotations",
    "ListSet": "pykb.api.annotations",
    "MapAtomic": "pykb.api.annotations",
    "MapGranular": "pykb.api.annotations",
    "MicroTime": "pykb.api.time",
    "NamespacedName": "pykb.meta.gvk",
    "Nullable": "pykb.api.annotations",
    "Object": "pykb.api.object",
    "ObjectList": "pykb.api.object",
    "PreserveUnknown": "pykb.api.annotations",
    "Quantity": "pykb.api.quantity",
    "RawExtension": "pykb.api.scalars",
    "RawSchema": "pykb.api.annotations",
    "ResourceInfo": "pykb.api.resource_info",
    "SchemaPatch": "pykb.api.annotations",
    "Schemaless": "pykb.api.annotations",
    "ServerDefault": "pykb.api.annotations",
    "Struct": "pykb.api.struct",
    "Time": "pykb.api.scalars",
    "Type": "pykb.api.annotations",
    "Unconvertible": "pykb.api.conversion",
    "Unstructured": "pykb.api.unstructured",
    "Wire": "pykb.api.annotations",
    "XIntOrString": "pykb.api.annotations",
    "annotate": "pykb.api.annotations",
    "carry_over": "pykb.api.carry",
    "object_key": "pykb.api.object",
}

__all__ = [
    "CEL",
    "JSON",
    "AtLeastOneOf",
    "AtMostOneOf",
    "Conversion",
    "Converter",
    "CustomResource",
    "Duration",
    "EmbeddedResource",
    "ExactlyOneOf",
    "ExternalDocs",
    "Field",
    "Format",
    "GroupVersion",
    "GroupVersionKind",
    "Immutable",
    "Int32",
    "Int64",
    "IntOrString",
    "ListAtomic",
    "ListMap",
    "ListSet",
    "MapAtomic",
    "MapGranular",
    "MicroTime",
    "NamespacedName",
    "Nullable",
    "Object",
    "ObjectList",
    "PreserveUnknown",
    "Quantity",
    "RawExtension",
    "RawSchema",
    "ResourceInfo",
    "SchemaPatch",
    "Schemaless",
    "ServerDefault",
    "Struct",
    "Time",
    "Type",
    "Unconvertible",
    "Unstructured",
    "Wire",
    "XIntOrString",
    "annotate",
    "carry_over",
    "object_key",
]


if not TYPE_CHECKING:  # a type checker would take any name

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

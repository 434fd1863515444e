"""The schema of a kind, made by the generator from types, annotations and markers, or read from a CRD."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pykb.diagnostics import Diagnostics
from pykb.gen.declare import Declarations
from pykb.gen.draft import patched
from pykb.gen.ir import SchemaNode
from pykb.gen.passes.resolve import Options, Resolver
from pykb.markers.registry import builtin_registry

_EVERY_KIND = {"type": "object", "properties": {name: {} for name in ("apiVersion", "kind", "metadata")}}


@lru_cache(maxsize=64)
def schema_of(kind: type[BaseModel]) -> SchemaNode:
    """Return the schema of a class. `pykb generate` reports its mistakes. Metadata is like that of a template."""
    found = Diagnostics()
    declarations = Declarations(Path.cwd(), builtin_registry(), found)
    node = Resolver(declarations, found, Options(allow_dangerous_types=True)).schema_of(kind)
    for marker in declarations.named(kind).markers:
        if marker.name == "kubebuilder:subresource:scale":
            node = _scaled(node, [str(marker.arguments[name]) for name in ("specpath", "statuspath")])
    return node


def schema_in(version: Mapping[str, Any]) -> SchemaNode:
    """Return the schema of a version of a CustomResourceDefinition."""
    node = patched(patched(SchemaNode(), _EVERY_KIND), version["schema"]["openAPIV3Schema"])
    scale = (version.get("subresources") or {}).get("scale")
    return _scaled(node, [scale["specReplicasPath"], scale["statusReplicasPath"]]) if scale else node


def _scaled(node: SchemaNode, paths: Iterable[str]) -> SchemaNode:
    """Restrict numbers of replicas to what the API server accepts, whatever their schema says."""
    for path in paths:
        patch: dict[str, Any] = {"minimum": 0, "format": "int32"}
        for name in reversed(path.strip(".").split(".")):
            patch = {"properties": {name: patch}}
        node = patched(node, patch)
    return node

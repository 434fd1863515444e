"""The schema of a kind, from the generator or from a CRD, and paths to its fields.

Paths are in wire names: ``spec.ports[].name``, ``metadata.annotations[example.com/a]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.suggest import closest
from pykb.gen.declare import Declarations
from pykb.gen.draft import patched
from pykb.gen.ir import SchemaNode
from pykb.gen.options import SchemaOptions
from pykb.gen.passes.resolve import Resolver
from pykb.markers.registry import builtin_registry

_EVERY_KIND = {"type": "object", "properties": {name: {} for name in ("apiVersion", "kind", "metadata")}}
FieldPath = tuple[str | int, ...]
_PARTS = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")


@lru_cache(maxsize=64)
def schema_of(kind: type[BaseModel]) -> SchemaNode:
    """Return the schema of a class. `pykb generate` reports its mistakes. Metadata is like that of a template."""
    found = Diagnostics()
    declarations = Declarations(Path.cwd(), builtin_registry(), found)
    node = Resolver(declarations, found, SchemaOptions(allow_dangerous_types=True)).schema_of(kind)
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


def spelt(path: FieldPath) -> str:
    """Format a path for people.

    >>> spelt(("spec", "ports", 0, "name")), spelt(("metadata", "labels", "example.com/a"))
    ('spec.ports[0].name', 'metadata.labels[example.com/a]')
    """
    text = ""
    for part in path:
        plain = isinstance(part, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", part)
        text += (f".{part}" if text else part) if isinstance(part, str) and plain else f"[{part}]"
    return text or "the object"


def parse_path(text: str) -> FieldPath:
    """Parse a path. ``[]`` stands for any item of a list, ``*`` for any field or entry.

    >>> parse_path("spec.ports[].name")
    ('spec', 'ports', '', 'name')
    """
    return tuple(match[1] if match[2] is None else match[2] for match in _PARTS.finditer(text))


def check_paths(texts: Iterable[str], kinds: Iterable[type[BaseModel]]) -> None:
    """Refuse paths that do not lead to a field. They would otherwise have no effect.

    Args:
        texts: The paths.
        kinds: A path must lead to a field of one of them.

    Raises:
        ValueError: A path does not lead to a field. The message says where it ends and which names
            are similar.
    """
    for text in texts:
        ends = [_end(schema_of(kind), parse_path(text), kind.__name__) for kind in kinds]
        if "" not in ends:
            raise ValueError(f"`{text}` does not lead to a field: {' and '.join(dict.fromkeys(ends))}")


def _end(node: SchemaNode, path: FieldPath, name: str) -> str:
    """Why a path ends before a field. Empty if it leads to a field."""
    if not path or node.get("x-kubernetes-preserve-unknown-fields"):
        return ""
    part, rest = str(path[0]), path[1:]
    if node.items is not None:
        return _end(node.items, rest, name) if part == "" or part.isdigit() else f"a list has no `{part}`, but `[]`"
    if node.values is not None:
        return _end(node.values, rest, name)
    if node.properties is None:
        return f"`{node.type_name}` has no `{part}`"
    name = node.origin.type.name if node.origin else name
    ends = [_end(p.schema, rest, name) for p in node.properties.values() if part in ("*", p.name)]
    if ends:
        return "" if "" in ends else ends[0]
    near = closest(part, node.properties)
    return f"{name} has no `{part}`" + (f"; did you mean `{near}`?" if near else "")

"""Checks that the versions of a kind have the same fields when nothing converts between them."""

from __future__ import annotations

from collections.abc import Iterator

from pykb.diagnostics import Diagnostic
from pykb.diagnostics.codes.crd import VERSIONS_DIFFER
from pykb.gen.ir import Crd, CrdVersion, SchemaNode

_SERVERS = frozenset({"apiVersion", "kind", "metadata"})
"""Fields at the root that the API server keeps in every version."""
_SHOWN = 5
_ITEM = "[*]"


def check_versions(crd: Crd) -> Iterator[Diagnostic]:
    """Report each served version with other fields than the stored one, unless a webhook converts."""
    stored = next((version for version in crd.versions if version.storage), None)
    if stored is None or (crd.conversion or {}).get("strategy") == "Webhook":
        return
    for version in crd.versions:
        if version.served and version is not stored:
            yield from _check_pair(crd, version, stored)


def _check_pair(crd: Crd, version: CrdVersion, stored: CrdVersion) -> Iterator[Diagnostic]:
    notes: list[str] = []
    lost = list(_missing(version.schema, stored.schema))
    if lost:
        notes.append(f"the API server drops what is only in {version.name}: {_listed(lost)}")
    hidden = list(_missing(stored.schema, version.schema))
    if hidden:
        who = f"a client that reads {version.name} and writes it back"
        notes.append(f"{who} erases what is only in {stored.name}: {_listed(hidden)}")
    retyped = list(_retyped(version.schema, stored.schema))
    if retyped:
        notes.append(f"values of one version are not valid in the other: {_listed(retyped)}")
    if not notes:
        return
    kind, group = crd.names.kind, crd.group.partition(".")[0]
    convert = f"pykb create webhook --group {group} --version {stored.name} --kind {kind} --conversion"
    yield VERSIONS_DIFFER.at(
        version.span,
        f"`{kind}` has other fields in {version.name} than in {stored.name}, and nothing converts between them",
        notes=tuple(notes),
        help=(
            f"convert: `{convert}`",
            f"or give both versions these fields, or stop serving {version.name}: `+kubebuilder:unservedversion`",
        ),
    )


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(f"`{path}`" for path in paths[:_SHOWN]) + more


def _missing(node: SchemaNode, other: SchemaNode, path: str = "") -> Iterator[str]:
    """The fields of a schema that the other one does not keep."""
    if _keeps_all(other):
        return
    theirs = dict(_parts(other))
    for name, part in _parts(node):
        if not path and name in _SERVERS:
            continue
        place = _joined(path, name)
        if name in theirs:
            yield from _missing(part, theirs[name], place)
        elif _ITEM in theirs and other.values is not None:  # a map keeps any key
            yield from _missing(part, theirs[_ITEM], place)
        elif name != _ITEM or other.type == "object":
            yield place


def _retyped(node: SchemaNode, other: SchemaNode, path: str = "") -> Iterator[str]:
    """The fields whose types in both schemas have no value in common."""
    mine, theirs = _types(node), _types(other)
    if mine is not None and theirs is not None and not mine & theirs:
        yield path
        return
    others = dict(_parts(other))
    for name, part in _parts(node):
        if name in others and (path or name not in _SERVERS):
            yield from _retyped(part, others[name], _joined(path, name))


def _parts(node: SchemaNode) -> Iterator[tuple[str, SchemaNode]]:
    for name, field in (node.properties or {}).items():
        yield name, field.schema
    part = node.items or node.values
    if part is not None:
        yield _ITEM, part


def _joined(path: str, name: str) -> str:
    return f"{path}{name}" if name == _ITEM or not path else f"{path}.{name}"


def _keeps_all(node: SchemaNode) -> bool:
    return bool(node.get("x-kubernetes-preserve-unknown-fields"))


def _types(node: SchemaNode) -> frozenset[str] | None:
    """The JSON types of its values; ``None`` for any."""
    if node.is_int_or_string:
        return frozenset({"integer", "string"})
    found = node.type
    if found is None:
        return None
    return frozenset({"integer", "number"}) if found == "number" else frozenset({found})

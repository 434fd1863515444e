"""Writes the markers above the class of a kind: everything in a CRD outside of its schemas."""

from __future__ import annotations

from collections.abc import Mapping

from pykb.importer.definition import Definition, Version
from pykb.meta.plural import pluralize


def kind_markers(definition: Definition, version: Version, *, is_first: bool) -> list[str]:
    """The comment lines above a class, in the usual order.

    Args:
        definition: The CRD.
        version: The version that the class is for.
        is_first: Whether this version has the CRD's annotations and labels.
    """
    found: list[str] = []
    spec = version.spec
    if spec.get("storage") and len(definition.versions) > 1:
        found.append("storageversion")
    if spec.get("served") is False:
        found.append("unservedversion")
    if spec.get("deprecated"):
        warning = spec.get("deprecationWarning")
        found.append("deprecatedversion" + (f":warning={quoted(str(warning))}" if warning is not None else ""))
    subresources = spec.get("subresources") or {}
    if "status" in subresources:
        found.append("subresource:status")
    scale = subresources.get("scale")
    if isinstance(scale, Mapping):
        found.append("subresource:scale:" + _arguments(_scale(scale)))
    resource = _resource(definition)
    if resource:
        found.append("resource:" + resource)
    found += ["printcolumn:" + _arguments(_column(column)) for column in spec.get("additionalPrinterColumns") or []]
    found += [f"selectablefield:JSONPath={quoted(str(f['jsonPath']))}" for f in spec.get("selectableFields") or []]
    if is_first:
        found += [f"metadata:annotations={quoted(f'{k}={v}')}" for k, v in sorted(definition.annotations.items())]
        found += [f"metadata:labels={quoted(f'{k}={v}')}" for k, v in sorted(definition.labels.items())]
    return [f"# +kubebuilder:{marker}" for marker in found]


def quoted(text: str) -> str:
    """A text quoted by Go's rules, as in markers."""
    if "`" not in text and text.isprintable() and ('"' in text or "\\" in text):
        return f"`{text}`"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else _escape(char) for char in escaped) + '"'


def _escape(char: str) -> str:
    simple = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    return simple or (f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")


def _arguments(arguments: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in arguments.items())


def _scale(scale: Mapping[str, object]) -> dict[str, str]:
    names = {"specReplicasPath": "specpath", "statusReplicasPath": "statuspath", "labelSelectorPath": "selectorpath"}
    return {ours: quoted(str(scale[theirs])) for theirs, ours in names.items() if scale.get(theirs) is not None}


def _column(column: Mapping[str, object]) -> dict[str, str]:
    found = {
        "name": quoted(str(column.get("name"))),
        "type": str(column.get("type")),
        "JSONPath": quoted(str(column.get("jsonPath"))),
    }
    for name in ("description", "format"):
        if column.get(name):
            found[name] = quoted(str(column[name]))
    if column.get("priority"):
        found["priority"] = str(column["priority"])
    return found


def _resource(definition: Definition) -> str:
    names = definition.names
    found: dict[str, str] = {}
    if names.get("plural") != pluralize(definition.kind).lower():
        found["path"] = str(names["plural"])
    if names.get("singular") not in (None, "", definition.kind.lower()):
        found["singular"] = str(names["singular"])
    if definition.scope != "Namespaced":
        found["scope"] = definition.scope
    for theirs, ours in (("shortNames", "shortName"), ("categories", "categories")):
        if names.get(theirs):
            found[ours] = ";".join(str(name) for name in names[theirs])
    return _arguments(found)

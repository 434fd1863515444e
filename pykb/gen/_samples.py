"""The samples of a project, read for the API reference and checked, and the smallest sample of a kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.crd import SAMPLE_REFUSED
from pykb.gen.checks.value import broken_rules, misfits, with_defaults
from pykb.gen.ir import Crd, CrdVersion, SchemaNode
from pykb.gen.manifest import ManifestLoader, load_manifest
from pykb.reading import yaml_text

SAMPLES = "config/samples"
_SEEN = ("name", "generateName")
"""What CEL sees of the metadata."""
_PLACE = re.compile(r"(?: at|field) `([^`]+)`")


def check_samples(root: Path, crds: Iterable[Crd], diagnostics: Diagnostics) -> None:
    """Find samples that do not fit their schema. Files that are not manifests are ignored."""
    versions = {(f"{crd.group}/{each.name}", crd.names.kind): each for crd in crds for each in crd.versions}
    for path in sorted((root / SAMPLES).glob("*.yaml")):
        try:
            documents = list(yaml_text.documents(path.read_text(encoding="utf-8"), ManifestLoader))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            continue
        for document in documents:
            data = document.content
            if not isinstance(data, dict):
                continue
            kind = str(data.get("kind"))
            version = versions.get((str(data.get("apiVersion")), kind))
            for reason in _refusals(data, version) if version is not None else ():
                diagnostics.add(
                    SAMPLE_REFUSED.at(
                        _span(path.name, document.node, reason),
                        f"the API server would refuse this sample: {reason}",
                        help=(f"change the sample or the type of {kind}",),
                    )
                )


def _refusals(data: Mapping[str, Any], version: CrdVersion) -> list[str]:
    # The API server has its own rules for metadata, and drops a status that is a subresource.
    judged = {key: value for key, value in data.items() if key != "status" or not version.status}
    value = with_defaults({**judged, "metadata": {}}, version.schema)
    refusals = list(misfits(value, version.schema))
    metadata = data.get("metadata")
    if isinstance(metadata, dict) and isinstance(value, dict):
        value["metadata"] = {key: metadata[key] for key in _SEEN if isinstance(metadata.get(key), str)}
    return refusals or [str(each) for each in broken_rules(value, version.schema)]


def _span(name: str, node: yaml.Node, reason: str) -> Span:
    """The line of the field that the reason names, or of the nearest field around it."""
    place = _PLACE.search(reason)
    parts = re.findall(r"[^.\[\]]+", place.group(1)) if place else ()
    keys = [key for key, _ in yaml_text.follow(node, parts)]
    mark = (keys or [node])[-1].start_mark
    return Span(f"{SAMPLES}/{name}", mark.line + 1, mark.column + 1)


def read_samples(root: Path) -> dict[tuple[str, str], str]:
    """The text of the first sample of each apiVersion and kind, without the comments above it.

    Files that are not YAML or not manifests are ignored.
    """
    found: dict[tuple[str, str], str] = {}
    for path in sorted((root / SAMPLES).glob("*.yaml")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for document in re.split(r"^---.*\n", text.replace("\r\n", "\n"), flags=re.MULTILINE):
            try:
                data = load_manifest(document)
            except yaml.YAMLError:
                continue
            if isinstance(data, dict) and isinstance(data.get("metadata"), dict):
                key = (str(data.get("apiVersion")), str(data.get("kind")))
                found.setdefault(key, _without_head(document))
    return found


def _without_head(text: str) -> str:
    lines = text.strip("\n").split("\n")
    while lines and (not lines[0].strip() or lines[0].startswith("#")):
        del lines[0]
    return "\n".join(lines).rstrip() + "\n"


# Candidates for a pattern or format, tried in turn.
_TEXTS = (
    "example", "a", "A", "1", "example-1", "v1", "1.0.0", "10s", "2Gi", "100m", "50%", "example.com", "a@example.com",
    "https://example.com", "10.0.0.1", "10.0.0.0/24", "fd00::1", "2026-01-31", "2026-01-31T12:00:00Z", "0x1f", "a1b2c3",
    "registry.example.com/example:1.0", "00:00:5e:00:53:01", "a/b", "/a", "A1",
)  # fmt: skip
_BY_FORMAT = {
    "date-time": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "byte": "ZXhhbXBsZQ==",
    "duration": "10s",
    "ipv4": "10.0.0.1",
    "ipv6": "fd00::1",
    "cidr": "10.0.0.0/24",
    "uuid": "5f0c2a4e-6c0e-4d5a-9b3f-1f2e3d4c5b6a",
    "uri": "https://example.com",
    "email": "a@example.com",
    "hostname": "example.com",
    "mac": "00:00:5e:00:53:01",
}


def minimal_example(crd: Crd, version: CrdVersion) -> dict[str, object]:
    """A manifest with the required fields. CEL rules are ignored."""
    metadata: dict[str, object] = {"name": "example"}
    if crd.scope == "Namespaced":
        metadata["namespace"] = "default"
    out: dict[str, object] = {
        "apiVersion": f"{crd.group}/{version.name}",
        "kind": crd.names.kind,
        "metadata": metadata,
    }
    for name, prop in (version.schema.properties or {}).items():
        if name not in {"apiVersion", "kind", "metadata", "status"} and (prop.required or name == "spec"):
            out[name] = _value(prop.schema)
    return out


def _value(node: SchemaNode) -> object:
    for keyword in ("example", "default"):
        if keyword in node.keywords:
            return node.get(keyword)
    values = node.get("enum")
    if isinstance(values, list) and values:
        return values[0]
    if node.is_int_or_string:
        return 1
    match node.type:
        case "object":
            return _object(node)
        case "array":
            count = max(_number(node, "minItems", 0), 0)
            return [] if node.items is None else [_value(node.items)] * int(count)
        case "string":
            return _text(node)
        case "integer" | "number":
            return _in_bounds(node)
        case "boolean":
            return False
    return {}


def _object(node: SchemaNode) -> Mapping[str, object]:
    found = {name: _value(prop.schema) for name, prop in (node.properties or {}).items() if prop.required}
    missing = int(_number(node, "minProperties", 0)) - len(found)
    if node.values is not None:
        found.update({f"key{n}" if n else "key": _value(node.values) for n in range(missing)})
    elif missing > 0:
        optional = [(name, prop) for name, prop in (node.properties or {}).items() if name not in found]
        found.update({name: _value(prop.schema) for name, prop in optional[:missing]})
    return found


def _text(node: SchemaNode) -> str:
    least, most = _number(node, "minLength", 0), _number(node, "maxLength", 10**6)
    pattern = node.get("pattern")
    preferred = _BY_FORMAT.get(str(node.get("format")))
    for text in ((preferred,) if preferred else ()) + _TEXTS:
        for candidate in (text, text[:1] * int(least) if len(text) < least else text):
            if least <= len(candidate) <= most and _matches(pattern, candidate):
                return candidate
    return preferred or "example"


def _matches(pattern: object, text: str) -> bool:
    if pattern is None:
        return True
    try:
        return re.search(str(pattern), text) is not None
    except re.error:
        return False


def _in_bounds(node: SchemaNode) -> int | float:
    low, high = node.get("minimum"), node.get("maximum")
    step = node.get("multipleOf")
    value: int | float = 1
    if isinstance(step, int | float) and step:
        value = step
    if isinstance(low, int | float):
        above = low + 1 if node.get("exclusiveMinimum") else low
        value = max(value, above)
        if isinstance(step, int | float) and step and value % step:
            value += step - value % step
    if isinstance(high, int | float):
        below = high - 1 if node.get("exclusiveMaximum") else high
        value = min(value, below)
    return value


def _number(node: SchemaNode, keyword: str, default: float) -> float:
    value = node.get(keyword)
    return value if isinstance(value, int | float) else default

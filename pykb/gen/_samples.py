"""The samples of a project, read for the API reference and checked, and the smallest sample of a kind."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import Any

import yaml

from pykb._regular_file import read_text
from pykb.api.builtin import kinds
from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.crd import SAMPLE_BROKEN, SAMPLE_REFUSED
from pykb.diagnostics.suggest import closest, did_you_mean, only_meaning
from pykb.gen.checks.value import broken_rules, is_match, misfits, with_defaults
from pykb.gen.ir import Crd, CrdVersion, SchemaNode
from pykb.gen.manifest import ManifestLoader, load_manifest
from pykb.meta.gvk import GroupKind
from pykb.meta.names import is_subdomain
from pykb.project.settings import config_path
from pykb.reading import mapping, yaml_text

SAMPLES = "samples"
_SEEN = ("name", "generateName")
"""What CEL sees of the metadata."""
_PLACE = re.compile(r"(?: at|field) `([^`]+)`")


def check_samples(root: Path, crds: Sequence[Crd], diagnostics: Diagnostics, *, is_whole: bool = False) -> None:
    """Find samples that a cluster with these CRDs would refuse.

    Args:
        root: The project.
        crds: The CRDs.
        diagnostics: Gets the findings.
        is_whole: Whether these are all CRDs of the project. Only then is a kind that none of them has a mistake.
    """
    versions = {(f"{crd.group}/{each.name}", crd.names.kind): each for crd in crds for each in crd.versions}
    for path in _sample_files(root):
        shown = path.relative_to(root).as_posix()
        try:
            objects = list(_objects(yaml_text.documents(read_text(path), ManifestLoader)))
        except (OSError, UnicodeDecodeError, yaml.MarkedYAMLError) as error:
            diagnostics.add(_unreadable(shown, error))
            continue
        for node, data in objects:
            span = Span(shown, node.start_mark.line + 1, node.start_mark.column + 1)
            identity = _identity(data)
            if identity is None:
                diagnostics.add(_nameless(span, data))
                continue
            version = versions.get(identity)
            if version is None:
                if is_whole and (help_ := _meant(root, *identity, crds)):
                    message = f"no class of this project defines the kind `{identity[1]}` of `{identity[0]}`"
                    diagnostics.report(SAMPLE_BROKEN, _key_span(span, node), message, *help_)
                continue
            for reason in _refusals(data, version):
                diagnostics.report(
                    SAMPLE_REFUSED,
                    _span(span, node, reason),
                    f"the API server would refuse this sample: {reason}",
                    f"change the sample or the type of {identity[1]}",
                )


def _sample_files(root: Path) -> list[Path]:
    """The files that `kubectl apply -f config/samples` reads, without those that only kustomize reads."""
    found = (path for suffix in ("yaml", "yml", "json") for path in config_path(root, SAMPLES).glob(f"*.{suffix}"))
    return sorted(path for path in found if path.stem != "kustomization")


def _objects(documents: Iterable[yaml_text.Document]) -> Iterator[tuple[yaml.Node, Any]]:
    """The objects in documents, also those in lists. Empty documents have none."""
    for document in documents:
        data = document.content
        if data is None:
            continue
        if isinstance(data, dict) and data.get("kind") == "List" and isinstance(data.get("items"), list):
            nodes = next(value for key, value in document.node.value if key.value == "items").value
            yield from zip(nodes, data["items"], strict=True)
        elif not _is_json_patch(data):
            yield document.node, data


def _is_json_patch(data: object) -> bool:
    """Whether a document is a list of changes that a kustomization applies to the samples."""
    return isinstance(data, list) and all(isinstance(each, dict) and "op" in each for each in data)


def _identity(data: object) -> tuple[str, str] | None:
    """The apiVersion and the kind of an object. ``None`` when it lacks one of them."""
    match data:
        case {"apiVersion": str(api_version), "kind": str(kind)} if api_version and kind:
            return api_version, kind
    return None


def _unreadable(shown: str, error: OSError | UnicodeDecodeError | yaml.MarkedYAMLError) -> Diagnostic:
    help_ = ("correct it, or move it out of this folder",)
    if isinstance(error, yaml.MarkedYAMLError):
        message = f"this sample {yaml_text.verdict(error)}: {error.problem}"
        return SAMPLE_BROKEN.at(yaml_text.place(error, shown), message, *help_)
    reason = error.strerror if isinstance(error, OSError) else "it is not encoded in UTF-8"
    return SAMPLE_BROKEN.at(Span(shown, 1, 1), f"this sample cannot be read: {reason}", *help_)


def _nameless(span: Span, data: object) -> Diagnostic:
    if not isinstance(data, dict):
        return SAMPLE_BROKEN.at(span, "expected an object with `apiVersion` and `kind`, found another value")
    keys = ("apiVersion", "kind")
    missing = " and no ".join(f"`{key}`" for key in keys if not (data.get(key) and isinstance(data[key], str)))
    return SAMPLE_BROKEN.at(span, f"this sample has no {missing}", "add it, or move the file elsewhere")


def _key_span(span: Span, node: yaml.Node) -> Span:
    """The line of the kind."""
    key = next((key for key, _ in yaml_text.follow(node, ("kind",))), None)
    return span if key is None else Span(span.path, key.start_mark.line + 1, 1)


def _meant(root: Path, api_version: str, kind: str, crds: Sequence[Crd]) -> tuple[str, ...]:
    """What to do about a sample of a kind that this project lacks. Empty when it may be a kind of somebody else."""
    group, _, version = api_version.rpartition("/")
    own = [crd for crd in crds if crd.group == group]
    if own:
        return _in_own_group(root, GroupKind(group, kind), version, own)
    builtin = [each.group_kind for each in kinds()]
    if GroupKind(group, kind) in builtin:
        return ()
    theirs = [each.kind for each in builtin if each.group == group]
    near = only_meaning(kind, theirs)
    for crd in crds:
        if crd.names.kind == kind and (theirs or closest(group, [crd.group])):
            return (f"did you mean `apiVersion: {crd.group}/{crd.versions[-1].name}`?",)
    return (f"did you mean `{near}`?",) if near else ()


def _in_own_group(root: Path, wanted: GroupKind, version: str, own: Sequence[Crd]) -> tuple[str, ...]:
    for crd in own:
        if crd.names.kind == wanted.kind:
            there = ", ".join(f"`{wanted.group}/{each.name}`" for each in crd.versions)
            return (f"`{wanted.kind}` has {there}", f"or add the version: `pykb create api --version {version} ...`")
    if wanted in _foreign_kinds(root, own):
        return ()
    others = ("change its kind, delete the sample, or list a kind of another project in PROJECT",)
    return did_you_mean(wanted.kind, [crd.names.kind for crd in own]) or others


def _foreign_kinds(root: Path, own: Iterable[Crd]) -> frozenset[GroupKind]:
    """The kinds in PROJECT without a CRD: another project may define them in the same group."""
    from pykb.project.file import read

    return read(root)[0].kinds - {GroupKind(crd.group, crd.names.kind) for crd in own}


def _refusals(data: Mapping[str, Any], version: CrdVersion) -> list[str]:
    # The API server has its own rules for metadata, and drops a status that is a subresource.
    judged = {key: value for key, value in data.items() if key != "status" or not version.status}
    value = with_defaults({**judged, "metadata": {}}, version.schema)
    refusals = list(misfits(value, version.schema))
    metadata = mapping(data.get("metadata"))
    refusals += _refusals_of_name(metadata)
    if isinstance(value, dict):
        value["metadata"] = {key: metadata[key] for key in _SEEN if isinstance(metadata.get(key), str)}
    return refusals or [str(each) for each in broken_rules(value, version.schema)]


def _refusals_of_name(metadata: Mapping[str, Any]) -> list[str]:
    name = metadata.get("name", metadata.get("generateName"))
    if name is None or name == "":
        return ["`metadata.name` is missing"]
    if not isinstance(name, str):
        return ["expected a string at `metadata.name`"]
    return [] if "name" not in metadata or is_subdomain(name) else ["expected a DNS subdomain at `metadata.name`"]


def _span(whole: Span, node: yaml.Node, reason: str) -> Span:
    """The line of the field that the reason names, or of the nearest field around it."""
    place = _PLACE.search(reason)
    parts = re.findall(r"[^.\[\]]+", place.group(1)) if place else ()
    keys = [key for key, _ in yaml_text.follow(node, parts)]
    mark = (keys or [node])[-1].start_mark
    return Span(whole.path, mark.line + 1, mark.column + 1)


def read_samples(root: Path) -> dict[tuple[str, str], str]:
    """The text of the first sample of each apiVersion and kind, without the comments above it.

    Files that are not YAML or not manifests are ignored.
    """
    samples: dict[tuple[str, str], str] = {}
    for path in sorted(config_path(root, SAMPLES).glob("*.yaml")):
        try:
            text = read_text(path)
        except (OSError, UnicodeDecodeError):
            continue
        for document in re.split(r"^---.*\n", text.replace("\r\n", "\n"), flags=re.MULTILINE):
            try:
                data = load_manifest(document)
            except yaml.YAMLError:
                continue
            if isinstance(data, dict) and isinstance(data.get("metadata"), dict):
                samples.setdefault((str(data.get("apiVersion")), str(data.get("kind"))), _without_head(document))
    return samples


def _without_head(text: str) -> str:
    lines = dropwhile(lambda line: not line.strip() or line.startswith("#"), text.split("\n"))
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
    namespace = {"namespace": "default"} if crd.scope == "Namespaced" else {}
    out: dict[str, object] = {
        "apiVersion": f"{crd.group}/{version.name}",
        "kind": crd.names.kind,
        "metadata": {"name": "example", **namespace},
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
            count = max(node.number("minItems", 0), 0)
            return [] if node.items is None else [_value(node.items)] * int(count)
        case "string":
            return _text(node)
        case "integer" | "number":
            return _in_bounds(node)
        case "boolean":
            return False
    return {}


def _object(node: SchemaNode) -> Mapping[str, object]:
    required = {name: _value(prop.schema) for name, prop in (node.properties or {}).items() if prop.required}
    missing = max(int(node.number("minProperties", 0)) - len(required), 0)
    if node.values is not None:
        return required | {f"key{n}" if n else "key": _value(node.values) for n in range(missing)}
    optional = [(name, prop) for name, prop in (node.properties or {}).items() if name not in required]
    return required | {name: _value(prop.schema) for name, prop in optional[:missing]}


def _text(node: SchemaNode) -> str:
    least, most = node.number("minLength", 0), node.number("maxLength", 10**6)
    pattern = str(node.get("pattern") or "")
    preferred = _BY_FORMAT.get(str(node.get("format")))
    for text in ((preferred,) if preferred else ()) + _TEXTS:
        for candidate in (text, text[:1] * int(least) if len(text) < least else text):
            if least <= len(candidate) <= most and is_match(pattern, candidate):
                return candidate
    return preferred or "example"


def _in_bounds(node: SchemaNode) -> int | float:
    low = node.number("minimum", -math.inf) + bool(node.get("exclusiveMinimum"))
    high: int | float = node.number("maximum", math.inf) - bool(node.get("exclusiveMaximum"))
    step = node.number("multipleOf", 0)
    value: int | float = max(step or 1, low)
    if step and value % step:
        value += step - value % step
    return min(value, high)

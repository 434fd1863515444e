"""The samples in `config/samples`: read for the API reference, and checked against the generated schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.crd import SAMPLE_REFUSED
from pykb.gen.checks.value import broken_rules, misfits, with_defaults
from pykb.gen.ir import Crd, CrdVersion
from pykb.gen.manifest import ManifestLoader, load_manifest
from pykb.reading import yaml_text

SAMPLES = "config/samples"
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
    return list(misfits(value, version.schema)) or list(broken_rules(value, version.schema))


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

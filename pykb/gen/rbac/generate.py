"""Generates the manifest with Role and ClusterRole objects from RBAC markers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pykb.diagnostics import Diagnostics
from pykb.gen._artifact import Artifact
from pykb.gen.rbac._checks import check_marker
from pykb.gen.rbac._rule import Rule, normalize
from pykb.markers.model import Marker
from pykb.markers.source import SourceFile

MARKER = "kubebuilder:rbac"
_API_VERSION = "rbac.authorization.k8s.io/v1"


def generate_rbac(
    sources: Sequence[SourceFile],
    *,
    role_name: str,
    file_name: str = "role.yaml",
    header: str = "",
    diagnostics: Diagnostics,
) -> list[Artifact]:
    """Generate the manifest: a ClusterRole, and a Role for each namespace that a marker names.

    Args:
        sources: The files to read markers from.
        role_name: The default name of roles.
        file_name: The manifest's name, relative to the output directory.
        header: Text before the first document.
        diagnostics: Takes what is wrong with the markers.

    Returns:
        One artifact, or none when there are no rules.
    """
    rules: dict[tuple[str, str], list[Rule]] = defaultdict(list)
    for source in sources:
        for marker in source.package_markers:
            if marker.name == MARKER:
                check_marker(marker, diagnostics)
                arguments = marker.arguments
                key = (str(arguments.get("namespace", "")), str(arguments.get("roleName") or role_name))
                rules[key].append(rule_of(marker))
    documents = tuple(_role(namespace, name, found) for (namespace, name), found in sorted(rules.items()))
    return [Artifact(file_name, documents, header)] if documents else []


def rule_of(marker: Marker) -> Rule:
    """The rule of one marker."""
    return Rule.of(
        groups=_strings(marker, "groups"),
        resources=_strings(marker, "resources"),
        names=_strings(marker, "resourceNames"),
        urls=_strings(marker, "urls"),
        verbs=_strings(marker, "verbs"),
    )


def _strings(marker: Marker, name: str) -> list[str]:
    values = marker.arguments.get(name)
    return [str(v) for v in values] if isinstance(values, Sequence) else []


def _role(namespace: str, name: str, rules: list[Rule]) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": _API_VERSION,
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": metadata,
        "rules": [rule.to_object() for rule in normalize(rules)],
    }

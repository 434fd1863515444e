"""RBAC manifests (Role and ClusterRole) from ``+kubebuilder:rbac`` markers.

The normal form of rules is controller-gen's (v0.23), with one difference. When merging gives two rules that differ only
in verbs, controller-gen keeps one of them, by the order of a Go map, and loses permissions. pykb unites the verbs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pykb.diagnostics import Diagnostics
from pykb.gen.output import Artifact
from pykb.gen.rbac._checks import check_marker
from pykb.markers.model import Marker, SourceFile

MARKER = "kubebuilder:rbac"
_API_VERSION = "rbac.authorization.k8s.io/v1"
Strings = tuple[str, ...]
_Key = tuple[Strings, Strings, Strings, Strings]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; every list is sorted and without duplicates. The core group is the empty string."""

    groups: Strings = ()
    resources: Strings = ()
    names: Strings = ()
    urls: Strings = ()
    verbs: Strings = ()

    @classmethod
    def of(
        cls,
        *,
        groups: Iterable[str] = (),
        resources: Iterable[str] = (),
        names: Iterable[str] = (),
        urls: Iterable[str] = (),
        verbs: Iterable[str] = (),
    ) -> Rule:
        """A rule from lists in the user's spelling. ``core`` is the core group."""
        return cls(
            groups=_normal("" if g == "core" else g for g in groups),
            resources=_normal(resources),
            names=_normal(names),
            urls=_normal(urls),
            verbs=_normal(verbs),
        )

    @property
    def key(self) -> _Key:
        """Everything but the verbs."""
        return (self.groups, self.resources, self.names, self.urls)

    @property
    def sort_key(self) -> str:
        """The sort key of the rule in a role, as in controller-gen."""
        return " + ".join("&".join(part) for part in self.key)

    def to_object(self) -> dict[str, object]:
        """The PolicyRule; empty lists are left out."""
        verbs = ("*",) if "*" in self.verbs else self.verbs
        lists: Mapping[str, Strings] = {
            "apiGroups": self.groups,
            "nonResourceURLs": self.urls,
            "resourceNames": self.names,
            "resources": self.resources,
            "verbs": verbs,
        }
        return {name: list(values) for name, values in lists.items() if values}


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
                diagnostics.extend(check_marker(marker))
                arguments = marker.arguments
                key = (str(arguments.get("namespace", "")), str(arguments.get("roleName") or role_name))
                rules[key].append(_rule_of(marker))
    documents = tuple(_role(namespace, name, found) for (namespace, name), found in sorted(rules.items()))
    return [Artifact(file_name, documents, header)] if documents else []


def _rule_of(marker: Marker) -> Rule:
    """The rule of one marker."""
    return Rule.of(
        groups=marker.texts("groups"),
        resources=marker.texts("resources"),
        names=marker.texts("resourceNames"),
        urls=marker.texts("urls"),
        verbs=marker.texts("verbs"),
    )


def _role(namespace: str, name: str, rules: list[Rule]) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": _API_VERSION,
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": metadata,
        "rules": [rule.to_object() for rule in normalize(rules)],
    }


def _normal(values: Iterable[str]) -> Strings:
    return tuple(sorted(set(values)))


def normalize(rules: Iterable[Rule]) -> list[Rule]:
    """Merge rules as controller-gen does, with the same permissions, and sort them.

    Each rule is first split into one per resource. controller-gen runs one round of merging. If that gives two rules
    with the same key (controller-gen loses one of them), more rounds follow until nothing changes.
    """
    split: list[Rule] = []
    for rule in rules:
        split += [replace(rule, resources=(resource,)) for resource in rule.resources] or [rule]
    merged, collided = _round(split)
    while collided:
        previous = merged
        merged, collided = _round(merged)
        collided = collided or merged != previous
    return sorted(merged, key=lambda r: (r.sort_key, r.key))


def _round(rules: Iterable[Rule]) -> tuple[list[Rule], bool]:
    current, _ = _unite_verbs(rules)
    collided = False
    for same, merge in _STEPS:
        buckets: dict[tuple[object, ...], list[Rule]] = defaultdict(list)
        for rule in current:
            buckets[same(rule)].append(rule)
        current, lost = _unite_verbs(merge(bucket) for bucket in buckets.values())
        collided = collided or lost
    return sorted(current, key=lambda r: (r.sort_key, r.key)), collided


def _unite_verbs(rules: Iterable[Rule]) -> tuple[list[Rule], bool]:
    """One rule per key, with all verbs, and whether any key occurred twice."""
    found: dict[_Key, Rule] = {}
    twice = False
    for rule in rules:
        earlier = found.get(rule.key)
        twice = twice or earlier is not None
        found[rule.key] = rule if earlier is None else replace(rule, verbs=_normal(earlier.verbs + rule.verbs))
    return list(found.values()), twice


def _united(field: str) -> Callable[[list[Rule]], Rule]:
    """Merges rules that differ in one field only."""
    return lambda rules: replace(rules[0], **{field: _normal(x for rule in rules for x in getattr(rule, field))})


_Step = tuple[Callable[[Rule], tuple[object, ...]], Callable[[list[Rule]], Rule]]
# A rule without resources (or groups, or URLs) is not merged with one that has some. Their subjects differ.
_STEPS: tuple[_Step, ...] = (
    (lambda r: (r.groups, r.names, r.urls, r.verbs, bool(r.resources)), _united("resources")),
    (lambda r: (r.resources, r.names, r.urls, r.verbs, bool(r.groups)), _united("groups")),
    (lambda r: (r.groups, r.resources, r.names, r.verbs, bool(r.urls)), _united("urls")),
)

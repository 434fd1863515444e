"""RBAC manifests (Role and ClusterRole) from ``+kubebuilder:rbac`` markers, and checks of these markers.

The normal form of rules is controller-gen's (v0.23), with one difference. When merging gives two rules that differ only
in verbs, controller-gen keeps one of them, by the order of a Go map, and loses permissions. pykb unites the verbs.

The checks follow apiserver's validation of PolicyRule, and
https://kubernetes.io/docs/reference/access-authn-authz/rbac/.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.api.builtin import kinds
from pykb.diagnostics import Code, Diagnostic, Diagnostics, Label, Severity
from pykb.diagnostics.codes.generate import (
    RBAC_GROUP,
    RBAC_INCOMPLETE,
    RBAC_NAMES,
    RBAC_RESOURCE,
    RBAC_ROLE,
    RBAC_URL,
    RBAC_VERB,
    WEBHOOK_RULE,
)
from pykb.diagnostics.suggest import closest, only_meaning
from pykb.gen._webhook import WEBHOOK
from pykb.gen.ir import Crd
from pykb.gen.output import Artifact
from pykb.markers.builtin.crd import USUAL_VERBS
from pykb.markers.model import Marker, SourceFile
from pykb.meta.gvk import GroupKind
from pykb.meta.names import is_label, is_subdomain, is_version, pluralize

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
                rules[key].append(rule_of(marker))
    documents = tuple(_role(namespace, name, found) for (namespace, name), found in sorted(rules.items()))
    return [Artifact(file_name, documents, header)] if documents else []


def rule_of(marker: Marker) -> Rule:
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


_VERBS = (*USUAL_VERBS, "use", "bind", "escalate", "impersonate", "approve", "sign", "attest", "proxy")
_HTTP_VERBS = ("get", "head", "post", "put", "patch", "delete", "options")
_UNNAMED = {"create", "deletecollection"}


def check_marker(marker: Marker) -> Iterator[Diagnostic]:
    """Report a rule that the API server would refuse, or that can never allow anything."""
    yield from _check_shape(marker)
    yield from _check_verbs(marker)
    yield from _check_groups(marker)
    yield from _check_resources(marker)
    yield from _check_names(marker)
    yield from _check_urls(marker)
    yield from _check_role(marker)


def _check_shape(marker: Marker) -> Iterator[Diagnostic]:
    groups, resources, urls = (marker.texts(a) for a in ("groups", "resources", "urls"))
    if not marker.texts("verbs"):
        yield RBAC_INCOMPLETE.at(marker.span_of("verbs"), "`verbs` is empty: the rule allows nothing", label="no verb")
    if not resources and not urls:
        yield RBAC_INCOMPLETE.at(
            marker.span,
            "expected `resources` or `urls`, found neither",
            "for example `resources=deployments`",
            label="this rule has verbs but nothing to apply them to",
        )
    elif resources and not groups:
        yield RBAC_INCOMPLETE.at(
            marker.span,
            "expected `groups` with `resources`, found none",
            'for the core group (pods, services, secrets, ...), write `groups=""`',
            label="`groups` is missing",
        )
    if urls and (resources or groups or marker.texts("resourceNames")):
        other = next(a for a in ("resources", "groups", "resourceNames") if marker.texts(a))
        yield RBAC_URL.at(
            marker.span_of("urls"),
            f"`urls` and `{other}` are in one marker, but a rule is either for URLs or for resources",
            "write two markers",
            label="URLs",
            labels=(Label(marker.span_of(other), f"`{other}`"),),
        )


def _check_verbs(marker: Marker) -> Iterator[Diagnostic]:
    known = _HTTP_VERBS if marker.texts("urls") and not marker.texts("resources") else _VERBS
    for verb in marker.texts("verbs"):
        if verb in known or verb == "*":
            continue
        nearest = verb.lower() if verb.lower() in known else closest(verb, known)
        meant = only_meaning(verb, known)
        if nearest:
            yield RBAC_VERB.at(
                marker.span_of_element("verbs", verb),
                f"expected a verb of the Kubernetes API, found `{verb}`",
                f"write `{nearest}`",
                label="would never match" if verb.lower() == nearest else "no such verb",
                notes="verbs are lower case" if verb.lower() == nearest else "",
                fix=marker.fix_of_element("verbs", verb, meant) if meant else (),
            )
        else:
            yield RBAC_VERB.at(
                marker.span_of_element("verbs", verb),
                f"`{verb}` is not a verb of the Kubernetes API",
                label="only an API extension could define it",
                notes="the verbs are " + ", ".join(f"`{v}`" for v in known),
                severity=Severity.WARNING,
            )


def _check_groups(marker: Marker) -> Iterator[Diagnostic]:
    for group in marker.texts("groups"):
        if group in {"", "*", "core"} or is_subdomain(group):
            continue
        base, slash, version = group.partition("/")
        versioned = bool(slash) and is_subdomain(base)
        help_ = (f"write `{base}`: rules apply to all versions of a group",) if versioned else ()
        if base == "v1" and not version:
            help_ = ('for the core group, write `groups=""`',)
        yield RBAC_GROUP.at(
            marker.span_of_element("groups", group),
            f"expected an API group such as `apps`, found `{group}`",
            *help_,
            label="not a group name",
            fix=marker.fix_of_element("groups", group, base) if versioned and is_version(version) else (),
        )


def _check_resources(marker: Marker) -> Iterator[Diagnostic]:
    for resource in marker.texts("resources"):
        if resource != resource.lower():
            kind, slash, subresource = resource.partition("/")
            wanted = f"{pluralize(kind)}{slash}{subresource.lower()}"
            yield RBAC_RESOURCE.at(
                marker.span_of_element("resources", resource),
                f"expected the plural name of a resource in lower case, found `{resource}`",
                f"write `{wanted}`",
                label="would never match",
                fix=marker.fix_of_element("resources", resource, wanted) if _is_builtin(wanted, marker) else (),
            )
        elif not resource or any(c.isspace() for c in resource) or resource.startswith("/"):
            yield RBAC_RESOURCE.at(
                marker.span_of_element("resources", resource),
                f"expected the plural name of a resource, found `{resource}`",
                f"for a path, write `urls={resource}`" if resource.startswith("/") else "",
                label="would never match",
            )


def _is_builtin(resource: str, marker: Marker) -> bool:
    """Whether Kubernetes has this resource in a group of the marker. The plural of another's kind can be any word."""
    groups = {"" if group == "core" else group.partition("/")[0] for group in marker.texts("groups")}
    return any(each.group in groups and pluralize(each.kind) == resource for each in kinds())


def _check_names(marker: Marker) -> Iterator[Diagnostic]:
    names, verbs, resources = (marker.texts(a) for a in ("resourceNames", "verbs", "resources"))
    if not names:
        return
    # This concerns only whole resources: the URL of a subresource (pods/exec) contains the name.
    unnamed = [v for v in verbs if v in _UNNAMED] if any("/" not in r for r in resources) else []
    for verb in unnamed:
        yield RBAC_NAMES.at(
            marker.span_of("resourceNames"),
            f"`{verb}` cannot be limited to names: such a request has no name, so this rule never allows it",
            f"use a separate marker without `resourceNames` for `{verb}`",
            label="no effect on this verb",
        )
    listing = [v for v in verbs if v in {"list", "watch"}]
    if listing:
        joined = " and ".join(f"`{v}`" for v in listing)
        yield RBAC_NAMES.at(
            marker.span_of("resourceNames"),
            f"{joined} with names only covers requests that select `metadata.name`",
            "watch with `--field-selector metadata.name=...`, or remove the names",
            label="caches and informers would be refused",
            severity=Severity.NOTE,
        )


def _check_urls(marker: Marker) -> Iterator[Diagnostic]:
    urls = marker.texts("urls")
    for url in urls:
        if url != "*" and not url.startswith("/"):
            yield RBAC_URL.at(
                marker.span_of_element("urls", url),
                f"expected a path such as `/metrics`, found `{url}`",
                f"write `/{url}`",
                label="not a path",
                fix=marker.fix_of_element("urls", url, f"/{url}"),
            )
        elif "*" in url[:-1]:
            yield RBAC_URL.at(
                marker.span_of_element("urls", url),
                f"`*` is only a wildcard at the end of a path, found `{url}`",
                label="here",
            )
    namespace = marker.arguments.get("namespace")
    if urls and namespace:
        yield RBAC_URL.at(
            marker.span_of("urls"),
            f"URLs have no namespace, but this marker creates a Role in the namespace `{namespace}`",
            "remove `namespace`, then the rule goes into the ClusterRole",
            label="refused by the API server",
            labels=(Label(marker.span_of("namespace"), "makes it a Role"),),
        )


def _check_role(marker: Marker) -> Iterator[Diagnostic]:
    namespace = str(marker.arguments.get("namespace", ""))
    if namespace and not is_label(namespace):
        yield RBAC_ROLE.at(
            marker.span_of("namespace"),
            f"expected the name of a namespace, found `{namespace}`",
            label="not a DNS label",
        )
    role = str(marker.arguments.get("roleName", ""))
    if role in {".", ".."} or set(role) & set("/% "):
        yield RBAC_ROLE.at(
            marker.span_of("roleName"),
            f"expected the name of a role, found `{role}`",
            label="`/`, `%` and blanks are not allowed in it",
        )


# Finds resources in markers that are no resources of their group, but have the name of one but for a slip.


_EFFECTS: dict[str, tuple[Code, str]] = {
    MARKER: (RBAC_RESOURCE, "the rule would allow nothing"),
    WEBHOOK: (WEBHOOK_RULE, "the webhook would not be called"),
}
_SUBRESOURCES = ("finalizers", "scale", "status")
"""What requests for a custom resource can have after the slash. Kubernetes asks for `finalizers` only in its checks."""


def check_resources(root: Path, files: Iterable[SourceFile], crds: Sequence[Crd], diagnostics: Diagnostics) -> None:
    """Report misspelt resources of the project's groups and of Kubernetes.

    Args:
        root: The project.
        files: The files with the markers.
        crds: All CRDs of the project.
        diagnostics: Gets the findings.
    """
    known = _Known(root, crds)
    for file in files:
        for marker in file.package_markers:
            if marker.name in _EFFECTS:
                diagnostics.extend(_misspelt(marker, known))


def _misspelt(marker: Marker, known: _Known) -> Iterator[Diagnostic]:
    groups = {"" if group == "core" else group for group in marker.texts("groups")}
    if not groups <= known.groups:  # somebody else's
        yield from _misspelt_groups(marker, known)
        return
    for resource in marker.texts("resources"):
        name, slash, part = resource.partition("/")
        if name in {"", "*"} or resource != resource.lower():
            continue
        meant = name if known.has(groups, name) else known.meant(groups, name)
        if meant is None:
            continue
        is_part = not slash or part in {"*", *_SUBRESOURCES} or not known.is_own(groups, meant)
        near = part if is_part else closest(part, _SUBRESOURCES)
        if near is None or (name, part) != (meant, near):
            yield _finding(marker, resource, None if near is None else f"{meant}{slash}{near}")


def _misspelt_groups(marker: Marker, known: _Known) -> Iterator[Diagnostic]:
    """Groups that nobody has, in which a resource has the name of one of the project's."""
    code, effect = _EFFECTS[marker.name]
    resources = {resource.partition("/")[0] for resource in marker.texts("resources")}
    for group in marker.texts("groups"):
        wanted = only_meaning(group, known.groups_with(resources))
        if wanted and group not in known.groups | known.foreign_groups():
            yield code.at(
                marker.span_of_element("groups", group),
                f"no kind of this project is in the group `{group}`",
                f"did you mean `{wanted}`?",
                "or list the kind of another project in PROJECT",
                label=effect,
                severity=Severity.WARNING,
            )


def _finding(marker: Marker, resource: str, wanted: str | None) -> Diagnostic:
    code, effect = _EFFECTS[marker.name]
    known = ", ".join(f"`{name}`" for name in _SUBRESOURCES)
    is_slip = wanted is not None and only_meaning(resource, [wanted]) is not None
    return code.at(
        marker.span_of_element("resources", resource),
        f"there is no resource `{resource}` in this group",
        f"did you mean `{wanted}`?" if wanted else f"the subresources of a kind are {known}",
        label=effect,
        severity=Severity.WARNING,
        fix=marker.fix_of_element("resources", resource, str(wanted)) if is_slip else (),
    )


class _Known:
    """The resources of the project and of Kubernetes, by group and plural."""

    def __init__(self, root: Path, crds: Sequence[Crd]) -> None:
        self._root = root
        self._kinds = {GroupKind(crd.group, crd.names.kind) for crd in crds}
        self._own = {(crd.group, crd.names.plural) for crd in crds}
        self._builtin = {(each.group, pluralize(each.kind)) for each in kinds()}
        self._foreign: set[tuple[str, str]] | None = None
        self.groups = {group for group, _ in self._own | self._builtin}

    def has(self, groups: set[str], name: str) -> bool:
        """Whether there is such a resource in one of the groups."""
        return any((group, name) in self._own or (group, name) in self._builtin for group in groups)

    def is_own(self, groups: set[str], name: str) -> bool:
        """Whether the project has such a resource in one of the groups."""
        return any((group, name) in self._own for group in groups)

    def meant(self, groups: set[str], name: str) -> str | None:
        """The resource that a name is a slip of. ``None`` if it may be a resource that this module does not know."""
        if any((group, name) in self._in_project() for group in groups):
            return None
        own, builtin = ([each for group, each in names if group in groups] for names in (self._own, self._builtin))
        return closest(name, own) or only_meaning(name, builtin)

    def groups_with(self, names: set[str]) -> set[str]:
        """The project's groups that have one of these resources."""
        return {group for group, plural in self._own if plural in names}

    def foreign_groups(self) -> set[str]:
        """The groups of the kinds that another project defines."""
        return {group for group, _ in self._in_project()}

    def _in_project(self) -> set[tuple[str, str]]:
        """The resources that PROJECT lists without a CRD. Another project may define them in the same group."""
        if self._foreign is None:
            from pykb.project.file import read

            listed = read(self._root)[0].resources
            foreign = (each for each in listed if each.kind and each.gvk.group_kind not in self._kinds)
            self._foreign = {(each.api_group, each.plural) for each in foreign}
        return self._foreign

"""Finds resources in markers that are no resources of their group, but have the name of one but for a slip."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pykb.api.builtin import kinds
from pykb.diagnostics import Code, Diagnostic, Diagnostics, Severity
from pykb.diagnostics.codes.generate import RBAC_RESOURCE, WEBHOOK_RULE
from pykb.diagnostics.suggest import closest, only_meaning
from pykb.gen._rbac import MARKER as RBAC
from pykb.gen._webhook import WEBHOOK
from pykb.gen.ir import Crd
from pykb.markers.model import Marker, SourceFile
from pykb.meta.gvk import GroupKind
from pykb.meta.plural import pluralize

_EFFECTS: dict[str, tuple[Code, str]] = {
    RBAC: (RBAC_RESOURCE, "the rule would allow nothing"),
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

"""Finds built-in kinds, for controllers: the module of the class, the plural, the scope."""

from __future__ import annotations

from dataclasses import replace

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.cli import GROUP_NAME, KIND_NAME, VERSION_NAME
from pykb.diagnostics.suggest import closest
from pykb.project.resource import BUILTIN_GROUPS, Resource


def short_group(group: str) -> str:
    """The short name of a built-in group: ``networking`` for ``networking.k8s.io``."""
    short = group.removesuffix(".k8s.io")
    return short if BUILTIN_GROUPS.get(short) == "k8s.io" else group


def is_called_as_builtin(group: str, version: str, kind: str) -> bool:
    """Whether Kubernetes has a kind of this name in a group of this name."""
    short = short_group(group)
    if short not in BUILTIN_GROUPS:
        return False
    looked_up = Resource(short, BUILTIN_GROUPS[short], version, kind, plural="", core=True)
    return find_builtin(looked_up, Diagnostics()) is not None


def find_builtin(resource: Resource, found: Diagnostics) -> Resource | None:
    """Complete the resource from pykb's built-in types. Reports an unknown kind."""
    from pykb.api.builtin_table import TABLE

    versions = {version: kinds for (group, version), (_, kinds) in TABLE.items() if group == resource.api_group}
    if not versions:
        message = f"pykb has no types for the built-in group `{resource.group}`"
        helps = ("name the module that has them: `--external-api-path some.module`",)
        found.add(GROUP_NAME.at(None, message, help=helps))
        return None
    if resource.version not in versions:
        known = ", ".join(f"`{version}`" for version in versions)
        message = f"`--version {resource.version}`: the built-in group `{resource.group}` has {known}"
        found.add(VERSION_NAME.at(None, message, help=(f"`--version {next(iter(versions))}`",)))
        return None
    kinds = versions[resource.version]
    if resource.kind not in kinds:
        near = closest(resource.kind, kinds)
        message = f"`--kind {resource.kind}`: {resource.api_version} of Kubernetes has no such kind"
        helps = (f"`--kind {near}`",) if near else ("it has " + ", ".join(kinds),)
        found.add(KIND_NAME.at(None, message, help=helps))
        return None
    from pykb.api.builtin import find_class
    from pykb.meta.gvk import GroupVersionKind

    module, _ = TABLE[resource.api_group, resource.version]
    known_class = find_class(GroupVersionKind(resource.api_group, resource.version, resource.kind))
    info = getattr(known_class, "resource", None)
    if info is None:
        return replace(resource, path=module)
    return replace(resource, path=module, plural=info.plural, namespaced=info.namespaced)

"""Plans `edit --certificates`: replaces the manifests of the issuer of the webhooks' certificates.

The plugins scaffold the webhooks with both issuers. What only the old one needs goes, what only the new one needs
comes. Nothing that a user edited is changed: half of a change would leave webhooks that the API server does not trust.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pykb.commands.delete import say_edited, say_used
from pykb.commands.requests import scaffold_of
from pykb.diagnostics import Diagnostics
from pykb.plugins.plugin import Plugin
from pykb.plugins.rendering import style_of
from pykb.project.certificates import Certificates
from pykb.project.file import Project
from pykb.project.resource import Resource
from pykb.project.writer import with_certificates
from pykb.scaffold.merge import merge
from pykb.scaffold.plan import PlanBuilder
from pykb.scaffold.record import Scaffold
from pykb.scaffold.withdraw import exchange, same, withdraw


def reissued(project: Project, certificates: Certificates) -> Project:
    """PROJECT with another issuer. Without webhooks, the default needs no mention."""
    if project.has_webhooks or certificates is not Project().issuer:
        return with_certificates(project, certificates)
    return with_certificates(project, None)


def reissue(
    plan: PlanBuilder,
    project: Project,
    after: Project,
    chain: Sequence[Plugin],
    header: str,
    found: Diagnostics,
    *,
    force: bool,
) -> None:
    """Plan the changes. Reports edits that would be lost, unless ``force`` is set."""
    old, new = Scaffold(), Scaffold()
    for resource in _in_order(plan, project):
        for each, scaffold in ((project, old), (after, new)):
            scaffold.add(scaffold_of(resource, each, chain, plan.root, header))
    for path in sorted(old.files.keys() & new.files.keys()):
        _replace(plan, path, old.files[path], new.files[path])
    gone, come = old.without(new), new.without(old)
    gone = replace(_exchange(plan, gone, come), shared=set())  # with another issuer, nobody shares them
    withdraw(plan, gone, style_of(plan.root, project))
    for path, contents in come.files.items():
        plan.once(path, lambda contents=contents: contents[0])  # type: ignore[misc]
    for path, member in come.members:
        plan.extend(path, member)
    for path, fragment in come.fragments:
        plan.insert(path, fragment)
    say_edited(plan, found, force=force)
    say_used(plan, gone, found, force=force)


def _in_order(plan: PlanBuilder, project: Project) -> list[Resource]:
    """The kinds with webhooks, in the order in which the manifests name their CRDs."""
    kinds = [each for each in project.resources if each.webhooks]
    paths = ("config/default/kustomization.yaml", "config/certificates/conversion_role.yaml")
    text = "\n".join(plan.text(path) or "" for path in paths)
    return sorted(kinds, key=lambda each: text.find(f"{each.plural}.{each.api_group}"))


def _replace(plan: PlanBuilder, path: str, old: list[bytes], new: list[bytes]) -> None:
    """Replace a file that both issuers have."""
    content = plan.current(path)
    if content is None or old == new:
        return
    exact = next((after for before, after in zip(old, new, strict=True) if same(path, content, before)), None)
    if exact is not None:
        plan.update(path, exact)
        return
    merged = merge(content, old[0], new[0])
    plan.update(path, new[0] if merged.left_out else merged.content)
    for line, _ in merged.left_out:
        plan.lose(path, line)


def _exchange(plan: PlanBuilder, gone: Scaffold, come: Scaffold) -> Scaffold:
    """Put members in the places of others of the same list. Returns what is still to go."""
    rest = dict(gone.members)
    for path, member in gone.members:
        places = [each for there, each in come.members if there == path and each.key == member.key]
        if member.key != "replacements" and places:
            exchange(plan, path, member, places[0])
            del rest[path, member]
    return replace(gone, members=rest)

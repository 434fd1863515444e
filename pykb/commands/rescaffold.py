"""Plans changes of options that most files depend on: what the scaffold changes is changed in the project's files.

The issuer of the webhooks' certificates is replaced as a whole, and nothing that a user edited is changed: half of it
would leave webhooks that the API server does not trust.
"""

from __future__ import annotations

from dataclasses import replace

from pykb.commands.remaining_uses import python_files
from pykb.commands.transition import State, between, carry_out, say_lost
from pykb.diagnostics import Diagnostics
from pykb.project import Certificates
from pykb.project.file import Project
from pykb.project.resource import Resource
from pykb.project.writer import with_certificates
from pykb.scaffold.plan import PlanBuilder


def rescaffold(plan: PlanBuilder, before: State, after: State, found: Diagnostics, *, force: bool) -> None:
    """Plan the changes. Warns of lines that would change but were edited."""
    change = between(before, after, plan.root, init=found)
    gone = carry_out(plan, change, before.project, found, force=force)
    if before.header != after.header:
        _rehead(plan, before.header, after.header, set(change.contents()))
    if gone.files:
        say_lost(plan, gone, found, force=force)


def _rehead(plan: PlanBuilder, old: str, new: str, known: set[str]) -> None:
    """Replace the header of the user's own files that have it."""
    for path in python_files(plan):
        text = plan.text(path) if path not in known else None
        if text is not None and old and text.startswith(f"{old}\n"):
            rest = text.removeprefix(f"{old}\n")
            plan.update(path, (f"{new}\n{rest}" if new else rest.lstrip("\n")).encode())


def reissued(project: Project, certificates: Certificates) -> Project:
    """PROJECT with another issuer. Without webhooks, the default needs no mention."""
    if project.has_webhooks or certificates is not Project().issuer:
        return with_certificates(project, certificates)
    return with_certificates(project, None)


def reissue(plan: PlanBuilder, before: State, after: Project, found: Diagnostics, *, force: bool) -> None:
    """Plan the manifests of another issuer. Reports edits that would be lost, unless ``force`` is set."""
    change = between(before, replace(before, project=after), plan.root, kinds=_in_order(plan, before.project))
    gone = carry_out(plan, change, before.project, found, force=force, strict=True)
    say_lost(plan, gone, found, force=force)


def _in_order(plan: PlanBuilder, project: Project) -> list[Resource]:
    """The entries in the order in which the manifests of the certificates name their CRDs."""
    paths = ("config/default/kustomization.yaml", "config/certificates/conversion_role.yaml")
    text = "\n".join(plan.text(path) or "" for path in paths)
    return sorted(project.resources, key=lambda each: text.find(f"{each.plural}.{each.api_group}"))

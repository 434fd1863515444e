"""Generated manifests: the CRD of a kind, and the webhook configurations."""

from __future__ import annotations

from pykb.plugins.request import DeleteRequest
from pykb.project.file import Project
from pykb.scaffold.plan import PlanBuilder

_WEBHOOKS = "config/webhook/manifests.yaml"


def remove(request: DeleteRequest, plan: PlanBuilder) -> None:
    """Remove those that `pykb generate` would not write any more."""
    for kind in request.kinds:
        if not any(resource.api and resource.is_same_kind(kind) for resource in request.after.resources):
            plan.update(f"config/crd/bases/{kind.api_group}_{kind.plural}.yaml", None)
    if _has_admission(request.project) and not _has_admission(request.after):
        plan.update(_WEBHOOKS, None)


def _has_admission(project: Project) -> bool:
    webhooks = [resource.webhooks for resource in project.resources if resource.webhooks]
    return any(each.defaulting or each.validation for each in webhooks)

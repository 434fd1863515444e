"""Manifests of an API: its CRD in the kustomization, roles for people, a sample."""

from __future__ import annotations

from pykb.plugins import version_source
from pykb.plugins.request import ApiRequest
from pykb.scaffold.insert import Fragment, FragmentKind
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.scaffold.template import render

CRDS = Fragment("crdkustomizeresource", "", FragmentKind.LIST_ITEM)
SAMPLES = Fragment("manifestskustomizesamples", "", FragmentKind.LIST_ITEM)
ROLES = Fragment("rbackustomizeresource", "", FragmentKind.LIST_ITEM)


def scaffold(request: ApiRequest, plan: PlanBuilder) -> None:
    """Only a resource has manifests of its own; a controller's permissions are generated from its markers."""
    if not request.make_resource:
        return
    context = request.context
    values = context.as_dict()
    on_exists = OnExists.OVERWRITE if request.force else OnExists.REFUSE
    plan.insert("config/crd/kustomization.yaml", _item(CRDS, f"bases/{context.api_group}_{context.plural}.yaml"))
    samples = "config/samples/kustomization.yaml"
    if plan.current(samples) is None:
        plan.create(samples, render("config/samples/kustomization.yaml.j2", values))
    copied = request.source and version_source.sample(request, plan, request.source)
    sample = copied or render("config/samples/sample.yaml.j2", values)
    plan.create(f"config/samples/{context.sample}", sample, on_exists=on_exists)
    plan.insert(samples, _item(SAMPLES, context.sample))
    # Roles are for a kind, not for a version: the first version makes them.
    roles_on_exists = OnExists.OVERWRITE if request.force else OnExists.KEEP
    prefix = context.role_prefix.replace("-", "_")
    names = {role: f"{prefix}{context.singular}_{role}_role.yaml" for role in ("admin", "editor", "viewer")}
    for role, name in names.items():
        content = render(f"config/rbac/{role}_role.yaml.j2", values)
        plan.create(f"config/rbac/{name}", content, on_exists=roles_on_exists)
    plan.insert("config/rbac/kustomization.yaml", *(_item(ROLES, name) for name in names.values()))


def _item(place: Fragment, text: str) -> Fragment:
    return Fragment(place.anchor, text, place.kind)

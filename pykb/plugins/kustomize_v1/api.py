"""Manifests of an API: its CRD in the kustomization, roles for users, a sample."""

from __future__ import annotations

from pykb.plugins import version_source
from pykb.plugins.rendering import Files
from pykb.plugins.request import ApiRequest
from pykb.scaffold.insert import Fragment, FragmentKind
from pykb.scaffold.plan import OnExists, PlanBuilder

CRDS = Fragment("crdkustomizeresource", "", FragmentKind.LIST_ITEM)
SAMPLES = Fragment("manifestskustomizesamples", "", FragmentKind.LIST_ITEM)
ROLES = Fragment("rbackustomizeresource", "", FragmentKind.LIST_ITEM)


def scaffold(request: ApiRequest, plan: PlanBuilder) -> None:
    """Add the manifests of a resource. A controller has none: its permissions are generated from markers."""
    if not request.make_resource:
        return
    resource, files = request.resource, Files(request, plan)
    plan.insert("config/crd/kustomization.yaml", _item(CRDS, f"bases/{resource.api_group}_{resource.plural}.yaml"))
    samples = "config/samples/kustomization.yaml"
    files.once(samples, f"{samples}.j2")
    copied = request.source and version_source.sample(request, plan, request.source)
    template = "config/samples/operand.yaml.j2" if resource.operand else "config/samples/sample.yaml.j2"
    files.create(f"config/samples/{request.sample}", copied or files.text(template))
    plan.insert(samples, _item(SAMPLES, request.sample))
    # Roles are per kind and not per version. The first version creates them.
    prefix = request.group_prefix.replace("-", "_")
    names = {role: f"{prefix}{resource.singular}_{role}_role.yaml" for role in ("admin", "editor", "viewer")}
    for role, name in names.items():
        files.own(f"config/rbac/{name}", f"config/rbac/{role}_role.yaml.j2", on_exists=OnExists.KEEP)
    plan.insert("config/rbac/kustomization.yaml", *(_item(ROLES, name) for name in names.values()))


def _item(place: Fragment, text: str) -> Fragment:
    return Fragment(place.anchor, text, place.kind)

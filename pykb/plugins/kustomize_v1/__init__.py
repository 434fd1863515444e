"""``kustomize.common.pykb.dev/v1``: the folder ``config`` in kubebuilder's layout."""

from __future__ import annotations

from pykb.plugins import version_source
from pykb.plugins.kustomize_v1 import webhook
from pykb.plugins.plugin import PluginKey
from pykb.plugins.rendering import Files
from pykb.plugins.request import ApiRequest, DeleteRequest, InitRequest, WebhookRequest
from pykb.project.file import Project
from pykb.scaffold.insert import Fragment, FragmentKind
from pykb.scaffold.plan import OnExists, PlanBuilder

FOLDER = "config/"


class KustomizeV1:
    """Manifests: kustomizations, roles, samples."""

    key = PluginKey("kustomize.common.pykb.dev", "v1")
    summary = "the kustomize manifests in config/"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add the template's files below ``config``."""
        for path, file in request.files.items():
            if path.startswith(FOLDER):
                plan.create(path, file.content, mode=file.mode)

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Add the CRD to the kustomization, roles for users, and a sample."""
        _scaffold_api(request, plan)

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """Add Service, certificates and network policy, also to the kustomizations."""
        webhook.scaffold(request, plan)

    def delete(self, request: DeleteRequest, plan: PlanBuilder) -> None:
        """Remove the generated manifests of kinds and webhooks that are gone."""
        _remove_generated(request, plan)


_CRDS = Fragment("crdkustomizeresource", "", FragmentKind.LIST_ITEM)
_SAMPLES = Fragment("manifestskustomizesamples", "", FragmentKind.LIST_ITEM)
_ROLES = Fragment("rbackustomizeresource", "", FragmentKind.LIST_ITEM)


def _scaffold_api(request: ApiRequest, plan: PlanBuilder) -> None:
    """Add the manifests of a resource. A controller has none: its permissions are generated from markers."""
    if not request.make_resource:
        return
    resource, files = request.resource, Files(request, plan)
    plan.insert("config/crd/kustomization.yaml", _item(_CRDS, f"bases/{resource.api_group}_{resource.plural}.yaml"))
    samples = "config/samples/kustomization.yaml"
    files.once(samples, f"{samples}.j2")
    copied = request.source and version_source.sample(request, plan, request.source)
    template = "config/samples/operand.yaml.j2" if resource.operand else "config/samples/sample.yaml.j2"
    files.create(f"config/samples/{request.sample}", copied or files.text(template))
    plan.insert(samples, _item(_SAMPLES, request.sample))
    # Roles are per kind and not per version. The first version creates them.
    prefix = request.group_prefix.replace("-", "_")
    names = {role: f"{prefix}{resource.singular}_{role}_role.yaml" for role in ("admin", "editor", "viewer")}
    for role, name in names.items():
        files.own(f"config/rbac/{name}", f"config/rbac/{role}_role.yaml.j2", on_exists=OnExists.KEEP)
    plan.insert("config/rbac/kustomization.yaml", *(_item(_ROLES, name) for name in names.values()))


def _item(place: Fragment, text: str) -> Fragment:
    return Fragment(place.anchor, text, place.kind)


_WEBHOOKS = "config/webhook/manifests.yaml"


def _remove_generated(request: DeleteRequest, plan: PlanBuilder) -> None:
    """Remove those that `pykb generate` would not write any more."""
    for kind in request.kinds:
        if not any(resource.api and resource.is_same_kind(kind) for resource in request.after.resources):
            plan.update(f"config/crd/bases/{kind.api_group}_{kind.plural}.yaml", None)
    if _has_admission(request.project) and not _has_admission(request.after):
        plan.update(_WEBHOOKS, None)


def _has_admission(project: Project) -> bool:
    webhooks = [resource.webhooks for resource in project.resources if resource.webhooks]
    return any(each.defaulting or each.validation for each in webhooks)

"""``kustomize.common.pykb.dev/v1``: the folder ``config`` in kubebuilder's layout."""

from __future__ import annotations

from pykb.plugins.kustomize_v1 import api, generated, webhook
from pykb.plugins.plugin import PluginKey
from pykb.plugins.request import ApiRequest, DeleteRequest, InitRequest, WebhookRequest
from pykb.scaffold.plan import PlanBuilder

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
        api.scaffold(request, plan)

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """Add Service, certificates and network policy, also to the kustomizations."""
        webhook.scaffold(request, plan)

    def delete(self, request: DeleteRequest, plan: PlanBuilder) -> None:
        """Remove the generated manifests of kinds and webhooks that are gone."""
        generated.remove(request, plan)

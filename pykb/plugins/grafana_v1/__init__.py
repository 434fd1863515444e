"""A Grafana dashboard and Prometheus alerts for the metrics of the manager."""

from __future__ import annotations

from pykb.plugins.grafana_v1._dashboard import dashboard
from pykb.plugins.key import PluginKey
from pykb.plugins.request import ApiRequest, EditRequest, InitRequest
from pykb.project.file import Project
from pykb.scaffold.kustomization import Member
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.scaffold.template import render

DASHBOARD = "grafana/operator.json"
ALERTS = "config/prometheus/alerts.yaml"
_KUSTOMIZATION = "config/prometheus/kustomization.yaml"


class GrafanaV1:
    """A dashboard and alerts."""

    key = PluginKey("grafana.pykb.dev", "v1")
    summary = "a Grafana dashboard and Prometheus alerts"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add the files to a new project."""
        _write(request.project, plan, OnExists.REFUSE)

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Nothing: the dashboard finds the controllers by their metrics."""

    def edit(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Add the files. Those that the user edited stay, unless forced."""
        _write(request.project, plan, OnExists.OVERWRITE if request.force else OnExists.KEEP)


def _write(project: Project, plan: PlanBuilder, on_exists: OnExists) -> None:
    name = project.project_name
    namespace, job = f"{name}-system", f"{name}-controller-manager-metrics-service"
    plan.create(DASHBOARD, dashboard(name, namespace, job).encode(), on_exists=on_exists)
    alerts = render("grafana/alerts.yaml.j2", {"project": project, "namespace": namespace, "job": job})
    plan.create(ALERTS, alerts.encode(), on_exists=on_exists)
    plan.extend(_KUSTOMIZATION, Member("resources", "alerts.yaml"))

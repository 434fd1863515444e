"""A Helm chart of the project, from what kustomize renders of config/default."""

from __future__ import annotations

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import TOOL_MISSING
from pykb.diagnostics.codes.plugin import CHART_LATER
from pykb.plugins.helm_v1._update import ChartFiles
from pykb.plugins.helm_v1.chart import chart, described, values
from pykb.plugins.key import PluginKey
from pykb.plugins.rendered import render
from pykb.plugins.request import ApiRequest, EditRequest, InitRequest
from pykb.project.file import Project
from pykb.scaffold.plan import PlanBuilder


class HelmV1:
    """A Helm chart."""

    key = PluginKey("helm.pykb.dev", "v1")
    summary = "a Helm chart in charts/, made of config/"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Write the chart of a project without kinds. Without kustomize, that is left to a later command."""
        try:
            _write(request.project, plan, force=False)
        except EnvironmentProblem as problem:
            if problem.diagnostic.code is not TOOL_MISSING:
                raise
            message = "the chart was not written: neither `kustomize` nor `kubectl` is installed"
            plan.diagnostics.add(CHART_LATER.at(None, message, help=("later: `pykb edit --plugins helm`",)))

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Nothing: the CRD is generated after this command, and the chart is made of it."""

    def edit(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Write the chart, or bring it up to date."""
        _write(request.project, plan, force=request.force)

    def remove(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Remove the chart."""
        name = request.project.project_name
        ChartFiles(f"charts/{name}", plan, request.force).withdraw(described(name))


def _write(project: Project, plan: PlanBuilder, *, force: bool) -> None:
    name = project.project_name
    rendered = render(plan)
    ChartFiles(f"charts/{name}", plan, force).put_chart(chart(name, rendered), values(rendered))

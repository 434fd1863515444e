"""A kind whose controller deploys a container image.

The plugins of the project write its types, controller, test and sample, from templates for such kinds. This one lets
the manager's Deployment say which image that is.
"""

from __future__ import annotations

from pykb.plugins import PluginKey
from pykb.plugins.rendering import Files
from pykb.plugins.request import ApiRequest, InitRequest
from pykb.project.resource import DEPLOY_IMAGE
from pykb.scaffold.insert import Member
from pykb.scaffold.plan import OnExists, PlanBuilder

_FOLDER = "config/manager"


class DeployImageV1:
    """An image that the controller of a kind deploys."""

    key = PluginKey.parse(DEPLOY_IMAGE)
    summary = "`create api`: a kind that deploys a container image"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Nothing: the image is an option of `create api`."""

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Add the image to the environment of the manager."""
        resource = request.resource
        if resource.operand is None or request.controller is None:
            return
        files = Files(request, plan)
        path = f"{_FOLDER}/{resource.image_patch}"
        files.own(path, "config/manager/image_patch.yaml.j2", on_exists=OnExists.KEEP)
        plan.extend(f"{_FOLDER}/kustomization.yaml", Member("patches", f"path: {resource.image_patch}"))

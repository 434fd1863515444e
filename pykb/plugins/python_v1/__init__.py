"""``base.python.pykb.dev/v1``: the code of an operator, its tests, and the files around them."""

from __future__ import annotations

from pykb.plugins.plugin import PluginKey
from pykb.plugins.python_v1 import api, delete, init, webhook
from pykb.plugins.request import ApiRequest, DeleteRequest, InitRequest, WebhookRequest
from pykb.scaffold.plan import PlanBuilder


class PythonV1:
    """The package of the project: manager, types, controllers, tests; Makefile, Dockerfile, pyproject.toml."""

    key = PluginKey("base.python.pykb.dev", "v1")
    summary = "the operator's code"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add all files of the template except ``config``."""
        init.scaffold(request, plan)

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Add types, controller and test, and register them in the package."""
        api.scaffold(request, plan)

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """Add webhooks, converters and tests, and register them in the package."""
        webhook.scaffold(request, plan)

    def delete(self, request: DeleteRequest, plan: PlanBuilder) -> None:
        """Choose the storage versions again, and take webhooks out of modules that keep others."""
        delete.scaffold(request, plan)

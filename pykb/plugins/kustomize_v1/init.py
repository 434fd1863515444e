"""The folder ``config`` of a new project."""

from __future__ import annotations

from pykb.plugins.request import InitRequest
from pykb.scaffold.plan import PlanBuilder

FOLDER = "config/"


def scaffold(request: InitRequest, plan: PlanBuilder) -> None:
    """Add the template's files below ``config``."""
    for path, file in request.files.items():
        if path.startswith(FOLDER):
            plan.create(path, file.content, mode=file.mode)

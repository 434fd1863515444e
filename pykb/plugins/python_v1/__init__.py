"""``base.python.pykb.dev/v1``: the code of an operator, its tests, and the files around them."""

from __future__ import annotations

from tokenize import TokenError

from pykb.plugins.kustomize_v1 import FOLDER
from pykb.plugins.plugin import PluginKey
from pykb.plugins.python_v1 import api, storage_version, webhook
from pykb.plugins.request import ApiRequest, DeleteRequest, InitRequest, WebhookRequest
from pykb.python_source.layout import laid_out, line_length
from pykb.scaffold.plan import OnExists, PlanBuilder


class PythonV1:
    """The package of the project: manager, types, controllers, tests; Makefile, Dockerfile, pyproject.toml."""

    key = PluginKey("base.python.pykb.dev", "v1")
    summary = "the operator's code"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add all files of the template except ``config``."""
        _scaffold_project(request, plan)

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Add types, controller and test, and register them in the package."""
        api.scaffold(request, plan)

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """Add webhooks, converters and tests, and register them in the package."""
        webhook.scaffold(request, plan)

    def delete(self, request: DeleteRequest, plan: PlanBuilder) -> None:
        """Choose the storage versions again, and take webhooks out of modules that keep others."""
        for kind in request.kinds:
            storage_version.choose_again(request, kind, plan)
        for resource in request.project.resources:
            webhook.withdraw(request, resource, plan)


YOURS = frozenset({"README.md", "LICENSE", "AGENTS.md"})
"""Files that a new repository often already has. They are not changed."""

IGNORES = frozenset({".gitignore", ".dockerignore"})
"""Files with one rule per line. Missing rules are added, and existing ones are kept."""


def _scaffold_project(request: InitRequest, plan: PlanBuilder) -> None:
    """Add the template's files except ``config``."""
    settings = request.files.get("pyproject.toml")
    width = line_length(settings.content if settings else None)
    for path, file in request.files.items():
        if path.startswith(FOLDER):
            continue
        present, content = plan.current(path), file.content
        if width and path.endswith(".py"):
            content = _formatted(content, width)
        if present is not None and path in IGNORES:
            plan.update(path, _joined(present, file.content))
        else:
            plan.create(path, content, on_exists=OnExists.KEEP if path in YOURS else OnExists.REFUSE, mode=file.mode)


def _formatted(content: bytes, width: int) -> bytes:
    """Format Python in the project's style. The file of a user's template may not be Python."""
    try:
        return laid_out(content.decode(), width).encode()
    except (UnicodeDecodeError, SyntaxError, TokenError):  # the plan reports it
        return content


def _joined(present: bytes, wanted: bytes) -> bytes:
    """The existing rules, followed by the missing ones."""
    known = {line.strip() for line in present.splitlines()}
    missing = [line for line in wanted.splitlines() if line.strip() and line.strip() not in known]
    if not any(not line.startswith(b"#") for line in missing):
        return present
    separator = b"" if not present or present.endswith(b"\n") else b"\n"
    return present + separator + b"\n".join([b"", *missing, b""])

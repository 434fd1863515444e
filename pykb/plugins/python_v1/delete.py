"""The changes of a deletion in code that stays: storage versions, and the modules of webhooks."""

from __future__ import annotations

from dataclasses import replace

from pykb.plugins.python_v1 import storage_version
from pykb.plugins.python_v1.webhook import additions
from pykb.plugins.python_v1.webhook_module import reduce
from pykb.plugins.rendering import Files, path_of, types_file
from pykb.plugins.request import DeleteRequest, WebhookRequest, earlier
from pykb.project.resource import Resource, Webhooks
from pykb.scaffold.plan import PlanBuilder


def scaffold(request: DeleteRequest, plan: PlanBuilder) -> None:
    """Plan the changes."""
    for kind in request.kinds:
        _storage(request, kind, plan)
    for resource in request.project.resources:
        _webhooks(request, resource, plan)


def _storage(request: DeleteRequest, kind: Resource, plan: PlanBuilder) -> None:
    """Let one version be stored, as `create` does: the hub of a conversion, else the oldest version."""
    before, after = (
        [each for each in project.resources if each.api and each.is_same_kind(kind)]
        for project in (request.project, request.after)
    )
    if not after or before == after:
        return
    files = [types_file(each) for each in after]
    was_converted, is_converted = (
        any(each.webhooks and each.webhooks.conversion for each in r) for r in (before, after)
    )
    if len(after) == 1:
        storage_version.clear(plan, files, kind.kind)
    elif was_converted and not is_converted:
        storage_version.move(plan, files[0], files[1:], kind.kind)
    elif len(after) < len(before):
        storage_version.mark(plan, files, kind.kind)


def _webhooks(request: DeleteRequest, resource: Resource, plan: PlanBuilder) -> None:
    """Take the webhooks that go out of a module that keeps others."""
    kept = request.after.find(resource)
    if not resource.webhooks or not kept or not kept.webhooks or kept.webhooks == resource.webhooks:
        return
    gone = WebhookRequest(
        project=request.project,
        resource=resource,
        boilerplate=request.boilerplate,
        force=False,
        made=_difference(resource.webhooks, kept.webhooks),
        named=(),
    )
    path = f"{path_of(gone.webhook_module)}.py"
    text = plan.text(path)
    if text is None:
        return
    requests = [replace(gone, project=project) for project in earlier(request.project, resource)]
    known = [list(additions(each, Files(each, plan), text)) for each in requests]
    after, edited = reduce(text, known[0], known[1], Files(gone, plan).style)
    plan.update(path, after.encode())
    for line in edited:
        plan.lose(path, line)


def _difference(before: Webhooks, after: Webhooks) -> Webhooks:
    """The webhooks that go."""
    return replace(
        before,
        defaulting=before.defaulting and not after.defaulting,
        validation=before.validation and not after.validation,
        conversion=before.conversion and not after.conversion,
        spoke=tuple(version for version in before.spoke if version not in after.spoke),
    )

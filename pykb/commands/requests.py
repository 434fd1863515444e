"""The requests that scaffold an entry of PROJECT: one per API, controller and webhook, as the commands made them.

PROJECT records the options. It does not record in which order the commands came, and what else the project had then.
So there are several variants of a request where this changes a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

from pykb.meta.names import as_module_name
from pykb.plugins import Style
from pykb.plugins.deploy_image_v1 import DeployImageV1
from pykb.plugins.plugin import AnyPlugin, call
from pykb.plugins.request import ApiRequest, Controller, KindRequest, WebhookRequest, earlier
from pykb.project.file import Project
from pykb.project.resource import Resource, Webhooks
from pykb.project.writer import with_resource
from pykb.scaffold.plan import Recorder

Variant = tuple[KindRequest, ...]
"""Requests in order, later ones with the result of earlier ones."""


def variants(resource: Resource, project: Project, header: str) -> Iterator[Variant]:
    """The requests of an entry of PROJECT, as the commands may have made them."""
    yield from _api(resource, project, header)
    yield from _webhooks(resource, project, header)


def run(request: KindRequest, chain: Sequence[AnyPlugin], plan: Recorder) -> None:
    """Let the plugins carry out a request."""
    call(
        with_operand(chain, request),
        "create_api" if isinstance(request, ApiRequest) else "create_webhook",
        request,
        plan,
    )


def with_operand(chain: Sequence[AnyPlugin], request: KindRequest) -> Sequence[AnyPlugin]:
    """The plugins of a request. An image is an option of one that PROJECT's layout does not name."""
    added = request.resource.operand is not None and not any(isinstance(each, DeployImageV1) for each in chain)
    return (*chain, DeployImageV1()) if added else chain


def with_controller(request: ApiRequest, name: str, style: Style) -> ApiRequest:
    """The request with a controller.

    Args:
        request: The request without it.
        name: The controller's name; empty for that of the kind.
        style: The style of its code.
    """
    resource = request.resource
    stem = as_module_name(name) if name else resource.singular
    suffix = "controller" if style is Style.RECONCILER else "handlers"
    controller = Controller(
        module=request.module("controllers", f"{stem}_{suffix}"),
        name=f"{request.group_prefix}{name or resource.singular}" if request.project.multigroup else name,
        reconciler=reconciler_name(resource.kind, name),
        style=style,
    )
    return replace(request, controller=controller)


def reconciler_name(kind: str, controller_name: str) -> str:
    """The class name of a controller.

    >>> reconciler_name("Machine", ""), reconciler_name("Machine", "machine-cleaner")
    ('MachineReconciler', 'MachineCleanerReconciler')
    """
    stem = "".join(part[:1].upper() + part[1:] for part in controller_name.split("-")) if controller_name else kind
    return f"{stem}Reconciler"


def style_of_controller(resource: Resource, name: str) -> Style:
    """The style of a controller of an entry of PROJECT."""
    return Style.HANDLERS if name in resource.handlers else Style.RECONCILER


def with_styles(project: Project, root: Path) -> Project:
    """PROJECT with the styles of the controllers. An older one does not record them, so the names of files tell."""
    for resource in project.resources:
        request = _request(resource, project, "")
        unknown = [name for name in resource.controller_names if name not in resource.handlers]
        found = [name for name in unknown if _has_only_handlers(request, name, root)]
        if found:
            project = with_resource(project, replace(resource, handlers=(*resource.handlers, *found)))
    return project


def _has_only_handlers(request: ApiRequest, name: str, root: Path) -> bool:
    made = {style: with_controller(request, name, style).controller for style in Style}
    present = {style for style, each in made.items() if each and (root / each.path).is_file()}
    return present == {Style.HANDLERS}


def _api(resource: Resource, project: Project, header: str) -> Iterator[Variant]:
    request = _request(resource, project, header)
    if resource.api:
        copied = [replace(request, source=other) for other in project.other_versions(resource)]
        recorded = [each for each in copied if each.source and each.source.version == resource.options.from_version]
        yield from ((each,) for each in recorded or (request, *copied))  # an older PROJECT does not say it
    # A controller of an API was made with the API or later.
    alone = replace(request, resource=replace(request.resource, api=False), make_resource=False)
    for name in resource.controller_names:
        names = ["", name] if name == resource.singular else [name]  # the first of several gets its name later
        # The controller of a kind that deploys an image may have been made later, as any other.
        made = [request, alone, *(_plain(each) for each in (request, alone) if resource.operand)]
        style = style_of_controller(resource, name)
        yield from ((with_controller(each, n, style),) for n in names for each in made)


def _request(resource: Resource, project: Project, header: str) -> ApiRequest:
    return ApiRequest(
        project=project,
        resource=replace(resource, controller=False, controllers=(), webhooks=None),
        boilerplate=header,
        force=True,
        known=None,
        source=None,
        make_resource=resource.api,
        controller=None,
    )


def _plain(request: ApiRequest) -> ApiRequest:
    """The request without the image."""
    return replace(request, resource=replace(request.resource, operand=None))


def _webhooks(resource: Resource, project: Project, header: str) -> Iterator[Variant]:
    """The webhooks in any order of creation, and with any names."""
    webhooks = resource.webhooks or Webhooks()
    for then in earlier(project, resource):
        then = replace(then, certificates=project.issuer)  # noqa: PLW2901 - an earlier one may not say it
        for order in permutations(_parts_of(webhooks)):
            yield tuple(
                WebhookRequest(
                    project=then,
                    resource=resource,
                    boilerplate=header,
                    force=not number,
                    made=part,
                    named=part.spoke,
                )
                for number, part in enumerate(order)
            )


def _parts_of(webhooks: Webhooks) -> list[Webhooks]:
    """The webhooks one by one. Converters stay together."""
    found = []
    if webhooks.defaulting:
        found.append(Webhooks(defaulting=True, defaulting_path=webhooks.defaulting_path))
    if webhooks.validation:
        found.append(Webhooks(validation=True, validation_path=webhooks.validation_path))
    if webhooks.conversion:
        found.append(Webhooks(conversion=True, spoke=webhooks.spoke))
    return found

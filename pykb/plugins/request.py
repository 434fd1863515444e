"""What plugins are asked for: the values of a command, checked, and the rendered templates they take files from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pykb.project.file import Project
from pykb.project.resource import Resource
from pykb.scaffold.tree import RenderedFile


@dataclass(frozen=True, slots=True)
class InitRequest:
    """A new project."""

    project: Project
    files: Mapping[str, RenderedFile]


@dataclass(frozen=True, slots=True)
class ApiContext:
    """The variables of every template of ``templates/files``; templates/README.md describes each."""

    project_name: str
    package: str
    domain: str
    boilerplate: str
    group: str
    version: str
    kind: str
    plural: str
    singular: str
    api_group: str
    api_version: str
    irregular_plural: bool
    namespaced: bool
    operator_namespaced: bool
    multigroup: bool
    resource: bool
    controller: bool
    style: str
    core: bool
    external: bool
    protected: bool
    api_module: str
    controller_module: str
    controller_name: str
    reconciler: str
    sample: str
    role_prefix: str

    def as_dict(self) -> dict[str, Any]:
        """For Jinja."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """An API to add.

    Attributes:
        project: PROJECT as it was before.
        resource: What this command scaffolds, not what was there before.
        known: The entry that PROJECT has of it.
        source: Another version of the kind, whose types and sample are taken over.
        context: The variables of the templates.
        force: Whether files of this API may be overwritten.
        make_resource: Whether types, CRD, sample and roles are wanted.
        make_controller: Whether a controller is wanted.
    """

    project: Project
    resource: Resource
    known: Resource | None
    source: Resource | None
    context: ApiContext
    force: bool
    make_resource: bool
    make_controller: bool


@dataclass(frozen=True, slots=True)
class Spoke:
    """A version that is converted to the hub and back, and the module of its converter."""

    version: str
    module: str


@dataclass(frozen=True, slots=True)
class WebhookContext:
    """The variables of the templates of webhooks; templates/README.md describes each."""

    project_name: str
    package: str
    boilerplate: str
    group: str
    version: str
    kind: str
    plural: str
    singular: str
    api_group: str
    api_version: str
    namespaced: bool
    multigroup: bool
    own: bool
    core: bool
    external: bool
    api_module: str
    api_package: str
    webhook_module: str
    defaulting: bool
    validation: bool
    conversion: bool
    defaulting_path: str
    validation_path: str
    mutate_path: str
    validate_path: str
    name: str
    sample: str
    spokes: tuple[Spoke, ...]

    def as_dict(self) -> dict[str, Any]:
        """For Jinja."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """Webhooks to add to a kind.

    Attributes:
        project: PROJECT as it was before.
        resource: The kind with all webhooks that it has afterwards.
        context: The variables of the templates: what the module of the webhooks has to have.
        spokes: The versions to make converters of.
        force: Whether the files of the webhooks may be overwritten.
    """

    project: Project
    resource: Resource
    context: WebhookContext
    spokes: tuple[Spoke, ...]
    force: bool

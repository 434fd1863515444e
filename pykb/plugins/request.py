"""What plugins are asked for: the values of a command, checked. The templates of `templates/files` see nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pykb.meta import webhook_paths
from pykb.plugins.style import Style
from pykb.project.file import Project
from pykb.project.resource import Resource, sample_name
from pykb.project.webhooks import Webhooks
from pykb.scaffold.tree import RenderedFile


@dataclass(frozen=True, slots=True)
class InitRequest:
    """A new project."""

    project: Project
    files: Mapping[str, RenderedFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRequest:
    """Something to add for a kind. Its fields and properties are what a template sees as ``request``.

    Attributes:
        project: PROJECT as it was before, also ``project`` in a template.
        resource: The kind, also ``resource`` in a template.
        boilerplate: The licence header: a block of ``#`` lines, or nothing.
        force: Whether files of this command may be overwritten.
    """

    project: Project
    resource: Resource
    boilerplate: str
    force: bool

    @property
    def sample(self) -> str:
        """The file of the kind's sample."""
        return sample_name(self.resource)

    @property
    def group_prefix(self) -> str:
        """What tells the same kind of two groups apart in names; empty in a project of one group."""
        return self.project.multigroup * f"{self.resource.group_package.replace('_', '-').strip('-')}-"

    def module(self, *parts: str) -> str:
        """A module of the project's package, with the folder of the group behind the first part."""
        group = [self.resource.group_package] if self.project.multigroup else []
        return ".".join([self.project.package, parts[0], *group, *parts[1:]])


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller to scaffold.

    Attributes:
        module: Where it is.
        name: What it is called at run time, where that is not the kind.
        reconciler: Its class.
        style: How it is written.
    """

    module: str
    name: str
    reconciler: str
    style: Style

    @property
    def package(self) -> str:
        """The package that its module is in."""
        return self.module.rpartition(".")[0]

    @property
    def file(self) -> str:
        """The name of its module within that."""
        return self.module.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest(KindRequest):
    """An API to add; ``resource`` is what this command scaffolds, not what was there before.

    Attributes:
        known: The entry that PROJECT has of it.
        source: Another version of the kind, whose types and sample are taken over.
        make_resource: Whether types, CRD, sample and roles are wanted.
        controller: The controller that is wanted.
    """

    known: Resource | None
    source: Resource | None
    make_resource: bool
    controller: Controller | None


@dataclass(frozen=True, slots=True)
class Spoke:
    """A version that is converted to the hub and back, and the module of its converter."""

    version: str
    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest(KindRequest):
    """Webhooks to add to a kind; ``resource`` has all that it has afterwards.

    Attributes:
        made: What the module of the webhooks has to have.
        named: The versions to make converters of.
    """

    made: Webhooks
    named: tuple[str, ...]

    @property
    def webhook_module(self) -> str:
        """The module of the webhooks."""
        return self.module("webhooks", self.resource.version, f"{self.resource.singular}_webhook")

    @property
    def mutate_path(self) -> str:
        """Where the defaulter is served."""
        return self.all.defaulting_path or webhook_paths.mutate_path(self.resource.gvk)

    @property
    def validate_path(self) -> str:
        """Where the validator is served."""
        return self.all.validation_path or webhook_paths.validate_path(self.resource.gvk)

    @property
    def name(self) -> str:
        """The end of the webhooks' names, unique in their configuration: kubebuilder's, or with the group in it."""
        own = self.resource
        others = (r for r in self.project.resources if r.webhooks and r.api_group != own.api_group)
        is_taken = any((r.singular, r.version) == (own.singular, own.version) for r in others)
        group = f".{own.api_group or 'core'}" if is_taken else ""
        return f"{own.singular}-{own.version}{group}.kb.io"

    @property
    def spokes(self) -> tuple[Spoke, ...]:
        """The versions whose converters are registered."""
        return tuple(
            Spoke(version, self.module("api", version, f"{self.resource.singular}_conversion"))
            for version in self.made.spoke
        )

    @property
    def all(self) -> Webhooks:
        """All webhooks that the kind has afterwards."""
        return self.resource.webhooks or self.made

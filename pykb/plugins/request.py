"""Requests to plugins: the checked values of a command. `templates/files` see only these values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pykb.meta.gvk import mutate_path, validate_path
from pykb.plugins import Style
from pykb.project import Certificates
from pykb.project.file import Project
from pykb.project.resource import Resource, Webhooks, sample_name
from pykb.scaffold.template import RenderedFile


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The command as it was typed, for plugins with options of their own.

    Attributes:
        args: The options with their values, without those that choose plugins or how pykb shows its work.
        chain: The keys of all plugins of the command, in order.
    """

    args: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InitRequest:
    """A new project."""

    project: Project
    files: Mapping[str, RenderedFile]
    command_line: CommandLine = CommandLine()


@dataclass(frozen=True, slots=True)
class EditRequest:
    """A plugin that is added to an existing project, or run again.

    Attributes:
        project: PROJECT before the command.
        force: Whether files that were edited by hand may be overwritten.
        command_line: The command as it was typed.
    """

    project: Project
    force: bool = False
    command_line: CommandLine = CommandLine()


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRequest:
    """A request for a kind. Templates see its fields and properties as ``request``.

    Attributes:
        project: PROJECT before the command; ``project`` in a template.
        resource: The kind; ``resource`` in a template.
        boilerplate: The licence header: a block of ``#`` lines, or nothing.
        force: Whether files of this command may be overwritten.
        command_line: The command as it was typed.
    """

    project: Project
    resource: Resource
    boilerplate: str
    force: bool
    command_line: CommandLine = CommandLine()

    @property
    def sample(self) -> str:
        """The file name of the kind's sample."""
        return sample_name(self.resource)

    @property
    def group_prefix(self) -> str:
        """The prefix that distinguishes the same kind of two groups; empty in a project with one group."""
        group = self.resource.group_package.replace("_", "-").strip("-")
        return f"{group}-" if self.project.multigroup else ""

    def module(self, *parts: str) -> str:
        """A module of the project's package, with the folder of the group after the first part."""
        group = [self.resource.group_package] if self.project.multigroup else []
        return ".".join([self.project.package, parts[0], *group, *parts[1:]])


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller to scaffold.

    Attributes:
        module: Its module.
        name: Its name at run time, if that differs from the kind.
        reconciler: Its class.
        style: The style of its code.
    """

    module: str
    name: str
    reconciler: str
    style: Style

    @property
    def package(self) -> str:
        """The package of its module."""
        return self.module.rpartition(".")[0]

    @property
    def file(self) -> str:
        """The name of its module in the package."""
        return self.module.rpartition(".")[2]

    @property
    def path(self) -> str:
        """The file of its module."""
        return f"{self.module.replace('.', '/')}.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest(KindRequest):
    """An API to add. ``resource`` has only what this command scaffolds.

    Attributes:
        known: Its existing entry in PROJECT.
        source: Another version of the kind, whose types and sample are copied.
        make_resource: Whether to add types, CRD, sample and roles.
        controller: The controller to add.
    """

    known: Resource | None
    source: Resource | None
    make_resource: bool
    controller: Controller | None


@dataclass(frozen=True, slots=True)
class Spoke:
    """A version that is converted to and from the hub, and the module of its converter."""

    version: str
    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest(KindRequest):
    """Webhooks to add to a kind. ``resource`` has all webhooks after the command.

    Attributes:
        made: The webhooks that the module needs.
        named: The versions to make converters of.
    """

    made: Webhooks
    named: tuple[str, ...]

    @property
    def is_built_in(self) -> bool:
        """Whether the manager makes its certificates."""
        return self.project.issuer is Certificates.BUILT_IN

    @property
    def webhook_module(self) -> str:
        """The module of the webhooks."""
        return self.module("webhooks", self.resource.version, f"{self.resource.singular}_webhook")

    @property
    def mutate_path(self) -> str:
        """The path of the defaulter."""
        return self.all.defaulting_path or mutate_path(self.resource.gvk)

    @property
    def validate_path(self) -> str:
        """The path of the validator."""
        return self.all.validation_path or validate_path(self.resource.gvk)

    @property
    def name(self) -> str:
        """The suffix of the webhooks' names, unique in their configuration: kubebuilder's, or one with the group."""
        own = self.resource
        others = (r for r in self.project.resources if r.webhooks and r.api_group != own.api_group)
        is_taken = any((r.singular, r.version) == (own.singular, own.version) for r in others)
        group = f".{own.api_group or 'core'}" if is_taken else ""
        return f"{own.singular}-{own.version}{group}.kb.io"

    @property
    def spokes(self) -> tuple[Spoke, ...]:
        """The versions with registered converters."""
        return tuple(
            Spoke(version, self.module("api", version, f"{self.resource.singular}_conversion"))
            for version in self.made.spoke
        )

    @property
    def all(self) -> Webhooks:
        """All webhooks of the kind after the command."""
        return self.resource.webhooks or self.made


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRequest:
    """Entries to delete from PROJECT, or to reduce.

    Attributes:
        project: PROJECT before the command.
        after: PROJECT after it.
        boilerplate: The licence header.
        command: The words of the command.
        command_line: The command as it was typed.
    """

    project: Project
    after: Project
    boilerplate: str
    command: str = ""
    command_line: CommandLine = CommandLine()

    @property
    def kinds(self) -> tuple[Resource, ...]:
        """One entry of each kind of the project before the command."""
        kinds = {resource.gvk.group_kind: resource for resource in self.project.resources if resource.api}
        return tuple(kinds.values())


def earlier(project: Project, resource: Resource) -> tuple[Project, Project]:
    """PROJECT as it may have been when webhooks of a kind were named: without, and with, a kind of the same name."""
    rival = replace(resource, group=f"{resource.group}-other")
    return replace(project, resources=(resource,)), replace(project, resources=(resource, rival))

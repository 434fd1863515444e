"""The options of the commands that write projects. Their fields are the options of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pykb.plugins import Style
from pykb.project import Certificates
from pykb.project.options import NONE, ApiOptions, ProjectOptions, option, options_of
from pykb.project.resource import NO_OPERAND, Operand

_PLUGINS = "Plugins to use instead of the default ones, separated by commas."
_DELETES = "Delete edited files as well. Keeps copies of them in .pykb/backup."


@dataclass(frozen=True, slots=True)
class NewProject(ProjectOptions):
    """The options of ``init``. ``args`` is the command line that plugins see."""

    domain: str = option("Domain of the API groups. With example.com, the group infra is infra.example.com.")
    project_name: str = option("Name of the project and prefix of deployed objects.  [default: this directory's name]")
    owner: str = option("Copyright holder.")
    license: str = option("Licence header of the code.", "apache2|none", default="apache2")
    license_file: Path | None = option("File with your own licence header. Overrides --license.", "FILE", default=None)
    namespaced: bool = option("Deploy with permissions in one namespace only.", default=False, has_opposite=True)
    multigroup: bool = option("Support several API groups.", default=False, has_opposite=True)
    kubernetes: str = option("Oldest Kubernetes that the operator supports.", "VERSION")
    template: str = option("A cookiecutter template to use instead of pykb's own.", "DIR|GIT")
    plugins: tuple[str, ...] = option(_PLUGINS, "KEYS", default=())
    project_version: str = option("Always 3.", default="3", hidden=True)
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OfKind:
    """The options that name a kind."""

    group: str = option("API group without the domain.", completion="groups")
    version: str = option("API version.", completion="versions")
    kind: str = option("The kind, in PascalCase.", completion="kinds")


@dataclass(frozen=True, slots=True)
class NewApi(OfKind):
    """The options of ``create api``, including answers to its questions."""

    version: str = option("API version: v1, v1beta1, v1alpha1.", completion="versions")
    plural: str = option("The plural, if the default is wrong.")
    namespaced: bool | None = option("Make the kind namespaced.  [default: yes]", default=None)
    resource: bool | None = option("Create types and a CRD.  [default: asks, else yes]", default=True, is_asked=True)
    controller: bool | None = option("Create a controller.  [default: asks, else yes]", default=True, is_asked=True)
    controller_name: str = option("Name for a second controller of the same kind.")
    style: Style = option("A Reconciler class, or plain kopf handlers.", default=Style.RECONCILER)
    api: ApiOptions = NONE
    external_api_path: str = option("Python module of an external type.", "MODULE")
    external_api_domain: str = option("Domain of the external type's group.", "DOMAIN")
    operand: Operand = NO_OPERAND
    plugins: tuple[str, ...] = option(_PLUGINS, "KEYS", default=())
    force: bool = option("Overwrite the files of the API. Keeps the old ones in .pykb/backup.", default=False)
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewWebhook(OfKind):
    """The options of ``create webhook``, including answers to its questions."""

    version: str = option("API version. For a conversion, the hub.", completion="versions")
    plural: str = option("The plural, if the default is wrong.")
    defaulting: bool = option("Create a defaulting webhook.", default=False)
    validation: bool = option("Create a validating webhook.", default=False, flag="--programmatic-validation")
    conversion: bool = option("Create a conversion webhook.", default=False)
    spoke: tuple[str, ...] = option(
        "A version to convert. Repeatable.  [default: all others]", "VERSION", default=(), completion="versions"
    )
    defaulting_path: str = option("Path of the defaulting webhook.", "PATH")
    validation_path: str = option("Path of the validating webhook.", "PATH")
    external_api_path: str = option("Python module of an external type.", "MODULE")
    external_api_domain: str = option("Domain of the external type's group.", "DOMAIN")
    certificates: Certificates | None = option(
        "Who issues the certificates of the webhooks.  [default: built-in, or as before]", default=None
    )
    plugins: tuple[str, ...] = option(_PLUGINS, "KEYS", default=())
    force: bool = option("Overwrite the files of the webhooks. Keeps the old ones in .pykb/backup.", default=False)
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OldApi(OfKind):
    """The options of ``delete api``. ``controller=None`` means that the command line does not say it."""

    resource: bool = option("Delete types, CRD, sample, roles and webhooks.", default=True, has_opposite=True)
    controller: bool | None = option(
        "Delete the controller.  [default: yes, unless other versions of the kind stay]", default=None
    )
    controller_name: str = option("With --no-resource: the only controller to delete.", completion="controllers")
    force: bool = option(_DELETES, default=False)
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OldWebhook(OfKind):
    """The options of ``delete webhook``. No type at all means every type."""

    version: str = option("API version. For a conversion, the hub.", completion="versions")
    defaulting: bool = option("Delete the defaulting webhook.", default=False)
    validation: bool = option("Delete the validating webhook.", default=False, flag="--programmatic-validation")
    conversion: bool = option("Delete the conversion webhook.", default=False)
    spoke: tuple[str, ...] = option(
        "A version to stop converting. Repeatable.  [default: all]", "VERSION", default=(), completion="versions"
    )
    force: bool = option(_DELETES, default=False)
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edits(ProjectOptions):
    """The options of ``edit``. ``None`` or an empty text means that the command line does not say it."""

    multigroup: bool | None = option("Give each API group its own folders, and move the files.", default=None)
    namespaced: bool | None = option("Let the manager watch one namespace, with its permissions.", default=None)
    license: str = option("Licence of the headers: apache2, none.")
    license_file: Path | None = option("File with the header, for another licence.", default=None)
    owner: str = option("Owner in the headers.")
    certificates: Certificates | None = option("Who issues the certificates of the webhooks.", default=None)
    plugins: tuple[str, ...] = option(
        "Add plugins, or bring up to date what they wrote: helm, grafana, olm, or your own.", "KEYS", default=()
    )
    removed_plugins: tuple[str, ...] = option(
        "Remove plugins, with what they wrote.", "KEYS", default=(), flag="--remove-plugins"
    )
    force: bool = option(
        "Overwrite or remove files that you edited, for --replicas, --shards, --certificates, --plugins, "
        "--remove-plugins. Keeps the old ones in .pykb/backup.",
        default=False,
    )
    args: tuple[str, ...] = ()

    @property
    def is_about_code(self) -> bool:
        """Whether any option changes what is generated from the code."""
        given = (self.license, self.license_file, self.owner, self.certificates)
        return self.multigroup is not None or self.namespaced is not None or any(given)

    @property
    def is_about_files(self) -> bool:
        """Whether any option changes the project, and not only its plugins."""
        return self.is_about_code or any(getattr(self, name) is not None for name in options_of(ProjectOptions))


class Conflicts(StrEnum):
    """The values of ``--conflicts``."""

    REFUSE = "refuse"
    MARKERS = "markers"


@dataclass(frozen=True, slots=True)
class Updates:
    """The options of ``update``."""

    origin: str = option(
        "The pykb that made the project, or a wheel or a checkout of it.  [default: cliVersion of PROJECT]",
        "VERSION|PATH",
        flag="--from",
    )
    conflicts: Conflicts = option(
        "Write nothing if there are conflicts, or write them with git's markers.", default=Conflicts.REFUSE
    )

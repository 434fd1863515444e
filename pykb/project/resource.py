"""One API type in PROJECT: its identity, the module of its class, its webhooks, and what was scaffolded for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pykb.meta.gvk import GroupVersionKind
from pykb.meta.names import as_module_name, is_protected_group, pluralize
from pykb.project.options import NONE, ApiOptions, option

DEPLOY_IMAGE = "deploy-image.pykb.dev/v1"
"""The plugin that deploys an operand. PROJECT keeps the operand under this key."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def _number(text: str) -> int | None:
    """A number of at most ten digits. PROJECT has it in quotes, as kubebuilder writes it."""
    if text and not re.fullmatch("[0-9]{1,10}", text):
        raise ValueError(text)
    return int(text or 0) or None


@dataclass(frozen=True, slots=True)
class Operand:
    """The container that a kind's controller deploys. Its command and its user default to those of the image."""

    image: str = option(
        "With --plugins deploy-image: the image that the controller deploys.", "IMAGE", default="", required=True
    )
    command: tuple[str, ...] = option(
        "Command of its container, with commas between the words.",
        "WORDS",
        default=(),
        flag="--image-container-command",
        key="containerCommand",
        read=_words,
    )
    port: int | None = option(
        "Port of its container.",
        "PORT",
        default=None,
        flag="--image-container-port",
        key="containerPort",
        least=1,
        most=65535,
        read=_number,
        expected="a number in quotes",
    )
    user: int | None = option(
        "User id of its container; not 0, root.",
        "UID",
        default=None,
        flag="--run-as-user",
        least=1,
        most=2**31 - 1,
        read=_number,
        expected="a number in quotes",
    )


NO_OPERAND = Operand()


_OF_KUBERNETES = (
    *("admission", "admissionregistration", "apiextensions", "apiregistration", "auditregistration"),
    *("authentication", "certificates", "coordination", "discovery", "events", "flowcontrol.apiserver", "imagepolicy"),
    *("metrics", "networking", "node", "rbac.authorization", "resource", "scheduling", "setting", "storage"),
)
_WITHOUT_DOMAIN = ("apps", "autoscaling", "batch", "core", "extensions", "policy")
BUILTIN_GROUPS = {**dict.fromkeys(_OF_KUBERNETES, "k8s.io"), **dict.fromkeys(_WITHOUT_DOMAIN, "")}
"""The API groups of Kubernetes by their short names, with their domains. kubebuilder has most of them."""


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The key ``webhooks`` of a resource.

    Attributes:
        defaulting: Whether there is a defaulting webhook.
        validation: Whether there is a validating webhook.
        conversion: Whether this version is a hub, which other versions are converted to and from.
        spoke: The converted versions, in the order of creation.
        defaulting_path: The path of the defaulting webhook, if not the default.
        validation_path: The path of the validating webhook, if not the default.
    """

    defaulting: bool = False
    validation: bool = False
    conversion: bool = False
    spoke: tuple[str, ...] = ()
    defaulting_path: str = ""
    validation_path: str = ""

    def merged(self, other: Webhooks) -> Webhooks:
        """The webhooks of both. The paths of ``other`` win."""
        return replace(
            self,
            defaulting=self.defaulting or other.defaulting,
            validation=self.validation or other.validation,
            conversion=self.conversion or other.conversion,
            spoke=(*self.spoke, *(version for version in other.spoke if version not in self.spoke)),
            defaulting_path=other.defaulting_path if other.defaulting else self.defaulting_path,
            validation_path=other.validation_path if other.validation else self.validation_path,
        )


@dataclass(frozen=True, slots=True)
class Resource:
    """One entry of PROJECT's ``resources``.

    Attributes:
        group: The part of the API group before the domain; ``core`` for the core group.
        domain: The part after it; empty for some built-in groups.
        version: The API version.
        kind: The kind.
        plural: Its plural. PROJECT has it only when it differs from the default.
        path: The module that its class is imported from.
        namespaced: Whether the kind is namespaced.
        api: Whether types and CRD are part of the project.
        core: Whether it is a built-in type of Kubernetes.
        external: Whether the type comes from another package.
        controller: Whether it has an unnamed controller.
        controllers: The names of named controllers, in the order of creation.
        webhooks: Its webhooks; ``None`` before the first.
        handlers: Those of its controllers that are plain handlers.
        options: Other options of its types.
        operand: The container that its controller deploys. PROJECT has this and the two before among the settings of
            plugins.
    """

    group: str
    domain: str
    version: str
    kind: str
    plural: str
    path: str = ""
    namespaced: bool = True
    api: bool = False
    core: bool = False
    external: bool = False
    controller: bool = False
    controllers: tuple[str, ...] = ()
    webhooks: Webhooks | None = None
    handlers: tuple[str, ...] = ()
    options: ApiOptions = NONE
    operand: Operand | None = None

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """The key of an entry: group, domain, version, kind."""
        return (self.group, self.domain, self.version, self.kind)

    @property
    def api_group(self) -> str:
        """The API group as in ``apiVersion``; empty for the core group."""
        if self.core and self.group == "core":
            return ""
        return ".".join(part for part in (self.group, self.domain) if part)

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of its objects."""
        return self.gvk.api_version

    @property
    def gvk(self) -> GroupVersionKind:
        """The identity of the type in a cluster."""
        return GroupVersionKind(self.api_group, self.version, self.kind)

    def is_same_kind(self, other: Resource) -> bool:
        """Whether both have the same kind, in any version."""
        return self.gvk.group_kind == other.gvk.group_kind

    @property
    def singular(self) -> str:
        """The kind in lower case: the singular name, and the prefix of file names."""
        return self.kind.lower()

    @property
    def irregular_plural(self) -> bool:
        """Whether the plural differs from the default."""
        return self.plural != pluralize(self.kind)

    @property
    def protected(self) -> bool:
        """Whether its CRD needs the approval annotation."""
        return self.api and is_protected_group(self.api_group)

    @property
    def has_controller(self) -> bool:
        """Whether any controller was scaffolded for it."""
        return self.controller or bool(self.controllers)

    @property
    def controller_names(self) -> tuple[str, ...]:
        """The names of its controllers. One without a name has that of the kind."""
        return (self.singular, *self.controllers) if self.controller else self.controllers

    @property
    def image_patch(self) -> str:
        """The file that sets the operand's image in the manager's Deployment. The same in every layout."""
        return f"{self.group_package}_{self.singular}_image_patch.yaml"

    @property
    def image_variable(self) -> str:
        """The environment variable with the operand's image. Tools that mirror images know the prefix."""
        return f"RELATED_IMAGE_{self.group_package}_{self.singular}".upper()

    @property
    def group_package(self) -> str:
        """The folder of its group in a multigroup project."""
        return as_module_name(self.group or self.domain)

    def __str__(self) -> str:
        return str(self.gvk)


def sample_name(resource: Resource) -> str:
    """The file name of a version's sample in `config/samples`, as in kubebuilder."""
    return "_".join(part for part in (resource.group, resource.version, resource.singular) if part) + ".yaml"


def merge(old: Resource, new: Resource) -> Resource:
    """Merge two entries. The plural and the module of ``new`` win if it has an API.

    With a second controller, the unnamed one gets the kind as its name, as in kubebuilder.
    """
    unnamed, named = _controllers(old, new)
    return replace(
        old,
        plural=new.plural,
        path=new.path or old.path,
        namespaced=new.namespaced if new.api else old.namespaced,
        api=old.api or new.api,
        core=old.core or new.core,
        external=(old.external or new.external) and not new.api,
        controller=unnamed,
        controllers=named,
        handlers=_handlers(old, new),
        options=new.options if new.api else old.options,
        operand=new.operand if new.api else old.operand,
        webhooks=old.webhooks.merged(new.webhooks) if old.webhooks and new.webhooks else new.webhooks or old.webhooks,
    )


def _controllers(old: Resource, new: Resource) -> tuple[bool, tuple[str, ...]]:
    """Whether there is an unnamed controller, and the names of the others."""
    if not old.controllers and not new.controllers:
        return old.controller or new.controller, ()
    if new.controllers:
        added = (*([old.singular] if old.controller else []), *new.controllers)
    else:
        added = (new.singular,) if new.controller else ()
    return False, tuple(dict.fromkeys((*old.controllers, *added)))


def _handlers(old: Resource, new: Resource) -> tuple[str, ...]:
    """The controllers that are plain handlers. One that was made again has the style of the new entry."""
    kept = (name for name in old.handlers if name not in new.controller_names)
    return tuple(dict.fromkeys((*kept, *new.handlers)))

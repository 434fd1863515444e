"""The resources of the in-memory API server: built-in kinds, classes of the user and CRDs, including later ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from pykb.api.builtin import find_class, kinds
from pykb.api.object import Object
from pykb.client.connection import Route
from pykb.client.errors import ApiError
from pykb.client.structure import UNKNOWN, Structure, of_custom_resource, structure_of_class
from pykb.fake._http import about, invalid
from pykb.meta.gvk import GroupVersion, GroupVersionKind, ResourceInfo
from pykb.meta.names import pluralize

CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

# Built-in kinds whose generation counts changes of the desired state.
_COUNTED_GROUPS = ("apps", "networking.k8s.io", "policy", "apiextensions.k8s.io", "flowcontrol.apiserver.k8s.io")
_COUNTED_KINDS = ("Pod", "Job", "CronJob", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_NEVER_COUNTED = ("ControllerRevision", "IngressClass")
# Built-in kinds whose update requires the resource version that was read.
_CONDITIONAL = ("Lease", "CustomResourceDefinition", "FlowSchema", "PriorityLevelConfiguration", "VolumeAttachment")
# https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/#list-of-supported-fields
_SELECTABLE: Mapping[str, tuple[str, ...]] = {
    "Pod": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "Secret": ("type",),
    "Namespace": ("status.phase",),
    "Node": ("spec.unschedulable",),
    "Job": ("status.successful",),
    "ReplicationController": ("status.replicas",),
    "CertificateSigningRequest": ("spec.signerName",),
    "Service": ("spec.clusterIP", "spec.type"),
    "Event": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
}


_EVENT_FIELDS = (
    *("reason", "type", "reportingController"),
    *(f"regarding.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion", "fieldPath")),
)


@dataclass(frozen=True)
class Scale:
    """The fields of a kind that the scale subresource maps."""

    replicas: tuple[str, ...] = ("spec", "replicas")
    status_replicas: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")


@dataclass(frozen=True)
class Resource:
    """One served kind."""

    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    subresources: tuple[str, ...] = ()
    structure: Structure = UNKNOWN
    schema: Mapping[str, Any] | None = None
    custom: bool = False
    counted: bool = False
    selectable: tuple[str, ...] = ()
    scale: Scale = field(default_factory=Scale)
    cls: type[Object] | None = None
    stored: Resource | None = None
    """The version in which objects are stored. ``None`` for the one in which they are written."""
    converts: bool = False
    """Whether its versions have different fields."""

    @property
    def has_status(self) -> bool:
        """Whether the status is written through its own subresource."""
        return "status" in self.subresources

    @property
    def conditional(self) -> bool:
        """Whether an update must say which version it replaces."""
        return self.custom or self.gvk.kind in _CONDITIONAL

    @property
    def storage_key(self) -> tuple[str, str]:
        """Group and plural. All versions of a kind share the same objects."""
        return (self.gvk.group, self.plural)

    def not_found(self, name: str) -> ApiError:
        """The object does not exist."""
        return about(404, "NotFound", self.plural, self.gvk.group, name, after=" not found")

    def already_exists(self, name: str) -> ApiError:
        """An object of this name exists already."""
        return about(409, "AlreadyExists", self.plural, self.gvk.group, name, after=" already exists")

    def conflict(self, name: str, why: str, *, of: str = "") -> ApiError:
        """The object is not in the state that the request expects. Some messages name the kind: ``of``."""
        before = "Operation cannot be fulfilled on "
        return about(409, "Conflict", of or self.plural, self.gvk.group, name, before=before, after=f": {why}")

    def invalid(self, name: str, causes: list[dict[str, str]]) -> ApiError:
        """The object violates its schema or a rule."""
        return invalid(self.gvk.kind, self.gvk.group, name, causes)


@dataclass(frozen=True, slots=True)
class Request:
    """A request about objects of one kind.

    Attributes:
        resource: The kind, in the version of the client.
        route: The path.
        parameters: The query.
        body: The body, read.
        content_type: The media type of the body.
        via: The subresource through which a part of the object is written, if it is not in the path.
    """

    resource: Resource
    route: Route
    parameters: Mapping[str, str]
    body: Any
    content_type: str
    via: str = ""

    @property
    def is_strict(self) -> bool:
        """Whether unknown fields are refused."""
        return self.parameters.get("fieldValidation") == "Strict"

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is stored."""
        return self.parameters.get("dryRun") == "All"

    @property
    def key(self) -> tuple[str, str]:
        """The namespace and the name of the object."""
        return (self.route.namespace, self.route.name)


class Resources:
    """The kinds that are served."""

    def __init__(self) -> None:
        self._by_place: dict[tuple[GroupVersion, str], Resource] = {}
        self._loaded: set[GroupVersion] = set()

    def copy(self) -> Resources:
        """The same kinds. Later ones belong to one of the two."""
        other = Resources()
        other._by_place |= self._by_place
        other._loaded |= self._loaded
        return other

    def _load(self, group_version: GroupVersion) -> None:
        """Import the built-in kinds of a group on first use. Importing all of them would take a second."""
        if group_version not in self._loaded:
            self._loaded.add(group_version)
            for resource in _built_in(group_version):
                self.add(resource)

    def add(self, resource: Resource) -> None:
        """Serve a resource."""
        self._by_place[resource.gvk.group_version, resource.plural] = resource

    def add_class(self, cls: type[Object], *, namespaced: bool = True, plural: str = "") -> None:
        """Serve a class of the user without its CRD: without defaults, and only with the class's own validation."""
        structure = structure_of_class(cls)
        self.add(
            Resource(
                gvk=cls.gvk,
                plural=plural or pluralize(cls.gvk.kind),
                namespaced=namespaced,
                subresources=("status",) if "status" in structure.fields else (),
                structure=structure,
                custom=True,
                counted=True,
                cls=cls,
            )
        )

    def add_unknown(self, gvk: GroupVersionKind) -> None:
        """Serve a kind of which only the name is known. It has a status, and its objects may have any fields."""
        plural = pluralize(gvk.kind)
        self.add(Resource(gvk, plural, namespaced=True, subresources=("status",), custom=True, counted=True))

    def add_definition(self, crd: Mapping[str, Any]) -> None:
        """Serve the kind of a CRD."""
        spec = crd["spec"]
        made = [_defined(spec, version) for version in spec["versions"]]
        stored = next(
            (each for each, version in zip(made, spec["versions"], strict=True) if version.get("storage")), None
        )
        for each, version in zip(made, spec["versions"], strict=True):
            if version.get("served"):
                self.add(replace(each, stored=stored))
            else:
                self._by_place.pop((each.gvk.group_version, each.plural), None)

    def remove_definition(self, crd: Mapping[str, Any]) -> None:
        """Stop serving the kind of a CRD."""
        spec = crd["spec"]
        for version in spec["versions"]:
            self._by_place.pop((GroupVersion(spec["group"], version["name"]), spec["names"]["plural"]), None)

    def find(self, group_version: GroupVersion, plural: str) -> Resource | None:
        """The resource of a path."""
        self._load(group_version)
        return self._by_place.get((group_version, plural))

    def versions_of(self, resource: Resource) -> list[Resource]:
        """The other served versions of a resource that is converted."""
        if not resource.converts:
            return []
        every = self._by_place.values()
        return [each for each in every if each.storage_key == resource.storage_key and each is not resource]

    def of_kind(self, gvk: GroupVersionKind) -> Resource | None:
        """The resource of a kind."""
        self._load(gvk.group_version)
        return next((resource for resource in self._by_place.values() if resource.gvk == gvk), None)

    def plural_of(self, gvk: GroupVersionKind) -> str:
        """The plural of a kind that is served in this version or in another one; empty if it is not."""
        self._load(gvk.group_version)
        every = self._by_place.values()
        return next((each.plural for each in every if each.gvk.group_kind == gvk.group_kind), "")

    def discovery(self, group_version: GroupVersion) -> dict[str, Any] | None:
        """The discovery document of a group and version, or ``None`` if it is not served."""
        self._load(group_version)
        entries: list[dict[str, Any]] = []
        for (served, plural), resource in self._by_place.items():
            if served != group_version:
                continue
            common = {"singularName": "", "namespaced": resource.namespaced, "kind": resource.gvk.kind}
            entries.append({"name": plural, **common, "verbs": list(_VERBS)})
            entries += [
                {"name": f"{plural}/{sub}", **common, "verbs": ["get", "patch", "update"]}
                for sub in resource.subresources
            ]
        if not entries:
            return None
        return {"kind": "APIResourceList", "groupVersion": str(group_version), "resources": entries}

    def aggregated(self, *, core: bool) -> dict[str, Any]:
        """Aggregated discovery, of the core group or of all others."""
        for group_version in _built_in_groups():
            self._load(group_version)
        groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for resource in self._by_place.values():
            if core != (resource.gvk.group == ""):
                continue
            versions = groups.setdefault(resource.gvk.group, {})
            versions.setdefault(resource.gvk.version, []).append(
                {
                    "resource": resource.plural,
                    "responseKind": {"kind": resource.gvk.kind},
                    "scope": "Namespaced" if resource.namespaced else "Cluster",
                    "verbs": list(_VERBS),
                    "subresources": [{"subresource": name} for name in resource.subresources],
                }
            )
        items = [
            {
                "metadata": {"name": group} if group else {},
                "versions": [{"version": version, "resources": served} for version, served in versions.items()],
            }
            for group, versions in groups.items()
        ]
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}


@cache
def _built_in_groups() -> Mapping[GroupVersion, Sequence[GroupVersionKind]]:
    found: dict[GroupVersion, list[GroupVersionKind]] = {}
    for gvk in kinds():
        found.setdefault(gvk.group_version, []).append(gvk)
    return found


@cache
def _built_in(group_version: GroupVersion) -> Sequence[Resource]:
    """The built-in kinds of a group. All servers of a process share them."""
    classes = map(find_class, _built_in_groups().get(group_version, ()))
    return [_of_class(cls, cls.resource) for cls in classes if cls is not None and cls.resource is not None]


def _of_class(cls: type[Object], served: ResourceInfo) -> Resource:
    gvk = cls.gvk
    counted = gvk.group in _COUNTED_GROUPS or gvk.kind in _COUNTED_KINDS
    return Resource(
        gvk=gvk,
        plural=served.plural,
        namespaced=served.namespaced,
        subresources=served.subresources,
        structure=structure_of_class(cls),
        counted=counted and gvk.kind not in _NEVER_COUNTED,
        selectable=_SELECTABLE.get(gvk.kind, ()) if gvk.group != "events.k8s.io" else _EVENT_FIELDS,
        cls=cls,
    )


def _defined(spec: Mapping[str, Any], version: Mapping[str, Any]) -> Resource:
    """One version of the kind of a CRD."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    subresources = version.get("subresources") or {}
    return Resource(
        gvk=GroupVersionKind(spec["group"], version["name"], spec["names"]["kind"]),
        plural=spec["names"]["plural"],
        namespaced=spec["scope"] == "Namespaced",
        subresources=tuple(sorted(subresources)),
        structure=of_custom_resource(schema),
        schema=schema,
        custom=True,
        counted=True,
        selectable=tuple(entry["jsonPath"].lstrip(".") for entry in version.get("selectableFields") or ()),
        scale=_scale(subresources.get("scale") or {}),
        converts=(spec.get("conversion") or {}).get("strategy") == "Webhook",
    )


def _scale(entry: Mapping[str, str]) -> Scale:
    def path(name: str) -> tuple[str, ...]:
        return tuple(entry.get(name, "").lstrip(".").split(".")) if entry.get(name) else ()

    return Scale(path("specReplicasPath"), path("statusReplicasPath"), path("labelSelectorPath"))

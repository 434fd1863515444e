"""What the operator under test reconciles: a Gadget, which has one ConfigMap of its own."""

from pykb.api import CustomResource, Field, GroupVersion, Struct
from pykb.meta.gvk import GroupVersionKind

GROUP_VERSION = GroupVersion("chaos.example.com", "v1")
FINALIZER = f"{GROUP_VERSION.group}/child"
LABEL = f"{GROUP_VERSION.group}/gadget"
DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
DEFINITION_NAME = f"gadgets.{GROUP_VERSION.group}"


class GadgetSpec(Struct):
    """What is wanted."""

    size: int = 0
    trouble: str | None = None
    """What goes wrong in its reconcile: ``raise``, ``bug``, ``hang`` or ``slow``."""


class GadgetStatus(Struct):
    """What is there."""

    observed_generation: int | None = None
    size: int | None = None


class Gadget(CustomResource, group_version=GROUP_VERSION):
    """Something with a child."""

    spec: GadgetSpec = Field(default_factory=GadgetSpec)
    status: GadgetStatus = Field(default_factory=GadgetStatus)


def child_name(gadget: str) -> str:
    """The name of a gadget's ConfigMap."""
    return f"{gadget}-child"


_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "trouble": {"type": "string"}}},
        "status": {
            "type": "object",
            "properties": {"observedGeneration": {"type": "integer"}, "size": {"type": "integer"}},
        },
    },
}
GADGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": DEFINITION_NAME},
    "spec": {
        "group": GROUP_VERSION.group,
        "scope": "Namespaced",
        "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}

_ALL_VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"]
RULES = [
    {"apiGroups": [GROUP_VERSION.group], "resources": ["gadgets", "gadgets/status"], "verbs": _ALL_VERBS},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": _ALL_VERBS},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": _ALL_VERBS},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
]

"""Rules of single built-in kinds: the values that the server sets, and the changes that it refuses.

Only rules that controllers meet are included. Defaults of built-in kinds (a pod's restart policy, a
deployment's strategy) are not.
"""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Mapping
from typing import Any

import orjson

from pykb.client.structure import Shape, Structure
from pykb.fake._http import cause
from pykb.fake._resources import Resource

Causes = list[dict[str, str]]

_DAEMONS = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")
_BUDGET = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
_STATUS: Mapping[str, Mapping[str, Any]] = {
    "CronJob": {},
    "DaemonSet": dict.fromkeys(_DAEMONS, 0),
    "Deployment": {},
    "HorizontalPodAutoscaler": {"desiredReplicas": 0},
    "Ingress": {"loadBalancer": {}},
    "Job": {},
    "PersistentVolume": {"phase": "Pending"},
    "PersistentVolumeClaim": {"phase": "Pending"},
    "Pod": {"phase": "Pending"},
    "PodDisruptionBudget": dict.fromkeys(_BUDGET, 0),
    "ReplicaSet": {"replicas": 0},
    "ReplicationController": {"replicas": 0},
    "Service": {"loadBalancer": {}},
    "StatefulSet": {"availableReplicas": 0, "replicas": 0},
}
_IMMUTABLE: Mapping[str, tuple[str, ...]] = {
    "DaemonSet": ("selector",),
    "Deployment": ("selector",),
    "Job": ("selector", "template", "completionMode"),
    "ReplicaSet": ("selector",),
    "StatefulSet": ("selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"),
}
_CONTENT_RULE = "Forbidden: field is immutable when `immutable` is set"
_KEY = "[-._a-zA-Z0-9]+"
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    f"'key-name', regex used for validation is '{_KEY}')"
)
ANSWERED_WITH_THE_OBJECT = frozenset(
    {
        *("CSIDriver", "CSINode", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim", "Pod"),
        *("PodTemplate", "ResourceQuota", "Service", "ServiceAccount", "StorageClass", "VolumeAttachment"),
        "VolumeAttributesClass",
    }
)
"""The kinds whose deletion is answered with the object. Others answer with a Status."""

_CONTENT = {"ConfigMap": ("data", "binaryData"), "Secret": ("data",)}


def begin(resource: Resource, obj: dict[str, Any]) -> None:
    """Set the initial status of a new object, in place."""
    if not resource.custom and resource.gvk.kind in _STATUS:
        obj.setdefault("status", copy.deepcopy(dict(_STATUS[resource.gvk.kind])))


def complete(resource: Resource, obj: dict[str, Any]) -> None:
    """Convert an object to its stored form, in place."""
    metadata = obj["metadata"]
    if resource.custom:
        _drop_empty(metadata, resource.structure.child("metadata"))
        return
    _drop_empty(obj, resource.structure)
    if resource.gvk.kind == "Secret":
        clear = obj.pop("stringData", None) or {}
        if clear:
            coded = {name: base64.b64encode(str(value).encode()).decode() for name, value in clear.items()}
            obj["data"] = {**(obj.get("data") or {}), **coded}
        obj.setdefault("type", "Opaque")
    elif resource.gvk.kind == "Namespace" and metadata.get("name"):
        metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}


def mistakes(resource: Resource, obj: Mapping[str, Any]) -> Causes:
    """Return how an object violates the rules of its kind."""
    return [
        cause(f"{part}[{key}]", "FieldValueInvalid", f'Invalid value: "{key}": {_KEY_RULE}')
        for part in (() if resource.custom else _CONTENT.get(resource.gvk.kind, ()))
        for key in obj.get(part) or {}
        if not re.fullmatch(_KEY, key)
    ]


def forbidden_changes(resource: Resource, old: Mapping[str, Any], new: Mapping[str, Any]) -> Causes:
    """Return which parts of a change the kind does not allow."""
    if resource.custom:
        return []
    kind, was, wanted = resource.gvk.kind, old.get("spec") or {}, new.get("spec") or {}
    changed = {name for name in {*was, *wanted} if was.get(name) != wanted.get(name)}
    found = [_immutable(f"spec.{name}", wanted.get(name)) for name in _IMMUTABLE.get(kind, ()) if name in changed]
    if kind == "Secret" and old.get("type") != new.get("type"):
        found.append(_immutable("type", new.get("type")))
    if old.get("immutable"):
        found += _content_changes(kind, old, new)
    return found


def _content_changes(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Causes:
    """The changes of an immutable ConfigMap or Secret."""
    parts = [name for name in _CONTENT.get(kind, ()) if (old.get(name) or {}) != (new.get(name) or {})]
    if kind in _CONTENT and not new.get("immutable"):
        parts.append("immutable")
    return [cause(name, "FieldValueForbidden", _CONTENT_RULE) for name in parts]


def _immutable(path: str, value: Any) -> dict[str, str]:
    return cause(path, "FieldValueInvalid", f"Invalid value: {orjson.dumps(value).decode()}: field is immutable")


def _drop_empty(value: Any, structure: Structure) -> None:
    """Remove empty maps and lists, which the server's types omit when they write an object."""
    if isinstance(value, dict) and structure.shape in (Shape.STRUCT, Shape.MAP):
        declared = structure.fields if structure.shape is Shape.STRUCT else {}
        for name, inner in list(value.items()):
            if inner is None or isinstance(inner, (dict, list)):
                below = structure.child(name)
                _drop_empty(inner, below)
                if name in declared and _is_empty(inner, below):
                    del value[name]
    elif isinstance(value, list) and structure.element is not None:
        for item in value:
            _drop_empty(item, structure.element)


def _is_empty(value: Any, structure: Structure) -> bool:
    # An empty struct has a meaning (`emptyDir: {}`, a selector of everything). An empty map or list
    # does not.
    return value == [] or (value == {} and structure.shape is Shape.MAP) or value is None

"""The kind that every operator of the zoo reconciles, and the smallest way to run one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pykb.api import CustomResource, Field, GroupVersion, Struct
from pykb.api.conditions import Condition
from pykb.client.ranges import Ranges
from pykb.explore._invariants import Check, invariant_of
from pykb.explore._project import Subject

GROUP_VERSION = GroupVersion("zoo.example.com", "v1")
FINALIZER = "zoo.example.com/cleanup"
HERE = Path(__file__).parent
Manifest = dict[str, Any]


class AnimalSpec(Struct):
    """What is wanted."""

    food: str = "hay"
    count: int = 1
    house: str | None = None
    names: list[str] = Field(default_factory=list)
    paused: bool = False


class AnimalStatus(Struct):
    """What is there."""

    phase: str | None = None
    child: str | None = None
    count: int | None = None
    checked: str | None = None
    conditions: list[Condition] | None = None


class Animal(CustomResource, group_version=GROUP_VERSION):
    """Something with children."""

    spec: AnimalSpec = Field(default_factory=AnimalSpec)
    status: AnimalStatus = Field(default_factory=AnimalStatus)


class Park(CustomResource, group_version=GROUP_VERSION):
    """The same for a whole cluster."""

    spec: AnimalSpec = Field(default_factory=AnimalSpec)
    status: AnimalStatus = Field(default_factory=AnimalStatus)


_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_CONDITION = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "food": {**_STRING, "minLength": 1, "maxLength": 63, "default": "hay"},
                "count": {**_INTEGER, "minimum": 0, "maximum": 100},
                "house": {**_STRING, "minLength": 1, "maxLength": 40, "pattern": "^[a-z][a-z0-9-]*[a-z0-9]$"},
                "names": {"type": "array", "items": _STRING},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "phase": _STRING,
                "child": _STRING,
                "count": _INTEGER,
                "checked": _STRING,
                "conditions": {"type": "array", "items": _CONDITION},
            },
        },
    },
}


def _crd(kind: str, plural: str, scope: str, **more: Manifest) -> Manifest:
    schema = copy.deepcopy(_SCHEMA)
    schema["properties"]["spec"]["properties"] |= more
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.zoo.example.com"},
        "spec": {
            "group": GROUP_VERSION.group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


CRDS = [_crd("Animal", "animals", "Namespaced"), _crd("Park", "parks", "Cluster")]
PAUSABLE = [_crd("Animal", "animals", "Namespaced", paused={"type": "boolean"})]
"""The definition of animals that can be paused."""

SAMPLE: dict[str, Any] = {
    "apiVersion": "zoo.example.com/v1",
    "kind": "Animal",
    "metadata": {"name": "kiki", "namespace": "default"},
    "spec": {"food": "hay", "count": 2, "house": "north", "names": ["a", "b"]},
}


PARK: dict[str, Any] = {"apiVersion": "zoo.example.com/v1", "kind": "Park", "metadata": {"name": "west"}}
PARK["spec"] = SAMPLE["spec"]


def subject_of(
    register: Any,
    *,
    rules: Any = None,
    sample: Manifest = SAMPLE,
    once: tuple[str, ...] = (),
    invariants: tuple[Check, ...] = (),
    neighbours: tuple[Manifest, ...] = (),
    background: tuple[Manifest, ...] = (),
    crds: Sequence[Manifest] = CRDS,
    ranges: Ranges | None = None,
) -> Subject:
    """An operator of the zoo, as the explorer takes it."""
    checks = [invariant_of(each) for each in invariants]
    return Subject(
        register,
        crds,
        [sample],
        rules,
        HERE,
        once=once,
        invariants=checks,
        neighbours=neighbours,
        background=background,
        ranges=ranges,
    )

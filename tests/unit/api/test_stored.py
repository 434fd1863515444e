"""Objects are read though they break constraints that came later."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from pykb.api import CustomResource, Format, GroupVersion, Int32, ListMap, ListSet, Quantity, Struct
from pykb.api.core.v1 import PodTemplateSpec
from pykb.api.meta.v1 import Condition


class Port(Struct):
    name: Annotated[str, Field(max_length=3)]


class Spec(Struct):
    cpu: Annotated[str, Field(pattern="^[0-9]+$")] = "1"
    replicas: Annotated[Int32, Field(ge=1, le=5)] = 1
    ratio: Annotated[float | None, Field(multiple_of=0.5)] = None
    mode: Literal["a", "b"] = "a"
    address: Annotated[str | None, Format("ipv4")] = None
    tags: Annotated[list[str] | None, ListSet()] = None
    ports: Annotated[list[Port] | None, ListMap("name"), Field(max_length=1)] = None
    labels: Annotated[dict[str, str] | None, Field(min_length=1)] = None
    memory: Quantity = Quantity("1Gi")
    every: timedelta | None = None
    conditions: list[Condition] | None = None
    template: PodTemplateSpec | None = None


class Thing(CustomResource, group_version=GroupVersion("example.com", "v1")):
    spec: Spec


GOOD: dict[str, Any] = {"cpu": "2", "memory": "2Gi", "every": "1m0s", "new": {"kept": [None]}}


@pytest.mark.parametrize(
    "broken",
    [
        {"cpu": "two"},
        {"replicas": 0},
        {"replicas": 2**40},
        {"ratio": 0.3},
        {"mode": "c"},
        {"address": "localhost"},
        {"tags": ["a", "a"]},
        {"ports": [{"name": "long name"}, {"name": "long name"}]},
        {"labels": {}},
    ],
)
def test_broken_constraints_do_not_hinder_reading(broken: dict[str, Any]) -> None:
    """The object is read as it is, and goes back as it came; `from_wire` still refuses it."""
    wire = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {**GOOD, **broken}}
    with pytest.raises(ValidationError):
        Thing.from_wire(wire)
    read = Thing.from_stored(wire)
    assert read.to_wire() == wire
    read.spec.every = timedelta(seconds=1)
    assert read.to_wire()["spec"] == {**GOOD, **broken, "every": "1s"}


@pytest.mark.parametrize("broken", [{"cpu": 1}, {"replicas": "1"}, {"ports": [{}]}, {"tags": "a"}, {"every": "soon"}])
def test_types_have_to_be_right(broken: dict[str, Any]) -> None:
    """Code that relies on a type is never handed another one."""
    with pytest.raises(ValidationError):
        Thing.from_stored({"metadata": {"name": "x"}, "spec": {**GOOD, **broken}})


def test_another_kind_is_refused_all_the_same() -> None:
    """Leniency does not turn one kind into another."""
    with pytest.raises(ValidationError):
        Thing.from_stored({"apiVersion": "example.com/v1", "kind": "Other", "spec": {"cpu": "two"}})

"""What two versions of a type have in common is carried from one to the other, and nothing else."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import model_validator

from pykb.api import (
    CustomResource,
    Duration,
    Field,
    GroupVersion,
    Int32,
    IntOrString,
    MicroTime,
    Nullable,
    Quantity,
    RawExtension,
    Struct,
    Time,
    Wire,
    carry_over,
)
from pykb.api.meta.v1 import Condition, ObjectMeta

V1 = GroupVersion("batch.example.com", "v1")
V2 = GroupVersion("batch.example.com", "v2")


class Schedule(Struct):
    """When, in parts."""

    minute: str | None = None
    hour: str | None = None


class Container(Struct):
    """Common, but for one field of another type."""

    name: str
    port: Int32 | None = None


class ContainerV2(Struct):
    """Common, but for one field of another type and one more."""

    name: str
    port: str | None = None
    tier: str = "web"


class JobSpecV1(Struct):
    """The schedule is text."""

    schedule: str
    replicas: Int32 = 1
    old_name: str | None = None
    memory: Quantity | None = None
    containers: list[Container] = []
    by_name: dict[str, Container] = {}
    anything: dict[str, Any] | None = None


class JobSpecV2(Struct):
    """The schedule is in parts."""

    schedule: Schedule
    replicas: Int32 = Field(default=3, ge=0)
    new_name: str | None = None
    memory: Quantity | None = None
    containers: list[ContainerV2] = []
    by_name: dict[str, ContainerV2] = {}
    anything: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _judge(self):
        assert self.schedule, "a validator of the author's, which expects the whole object"
        return self


class Status(Struct):
    """The same in both."""

    active: Int32 | None = None
    conditions: list[Condition] = []


class JobV1(CustomResource, group_version=V1, kind="Job"):
    """The older version."""

    spec: JobSpecV1
    status: Status = Field(default_factory=Status)


class JobV2(CustomResource, group_version=V2, kind="Job"):
    """The newer one."""

    spec: JobSpecV2
    status: Status = Field(default_factory=Status)


OLD = {
    "apiVersion": "batch.example.com/v1",
    "kind": "Job",
    "metadata": {"name": "a", "labels": {"x": "y"}, "future": {"a": 1}},
    "spec": {
        "schedule": "* * * * *",
        "replicas": 2,
        "oldName": "gone",
        "memory": 1024,
        "containers": [{"name": "c", "port": 80, "extra": [1]}],
        "byName": {"d": {"name": "d", "port": 81}},
        "anything": {"deep": [{"er": None}]},
        "unknown": {"kept": True},
    },
    "status": {"active": 1, "more": "kept"},
}


def test_what_both_know_is_carried_and_what_neither_knows_is_kept():
    """Status and metadata too; what only one knows, or knows otherwise, is left to the converter."""
    made = carry_over(JobV1.from_wire(OLD), JobV2)
    assert type(made) is JobV2
    assert made.to_wire() == {
        "apiVersion": "batch.example.com/v2",
        "kind": "Job",
        "metadata": {"name": "a", "labels": {"x": "y"}, "future": {"a": 1}},
        "spec": {
            "replicas": 2,
            "memory": 1024,
            "containers": [{"name": "c", "extra": [1]}],
            "byName": {"d": {"name": "d"}},
            "anything": {"deep": [{"er": None}]},
            "unknown": {"kept": True},
        },
        "status": {"active": 1, "more": "kept"},
    }


def test_a_required_field_that_was_not_carried_is_to_be_set():
    """Reading it before is an error that says so."""
    made = carry_over(JobV1.from_wire(OLD), JobV2)
    with pytest.raises(AttributeError, match="JobSpecV2 has no 'schedule' yet: set it first"):
        _ = made.spec.schedule
    made.spec.schedule = Schedule(minute="*")
    assert made.spec.schedule.minute == "*"
    assert made.to_wire()["spec"]["schedule"] == {"minute": "*"}


def test_what_the_target_calls_unknown_to_the_source_is_carried():
    """An older program's object may have newer fields."""
    made = carry_over(JobV1.from_wire({**OLD, "spec": {"schedule": "x", "newName": "known to v2"}}), JobV2)
    assert made.spec.new_name == "known to v2"


def test_defaults_are_each_versions_own():
    """What was not set is not carried."""
    made = carry_over(JobV1(spec=JobSpecV1(schedule="x")), JobV2)
    assert made.spec.replicas == 3
    assert made.to_wire()["spec"] == {}
    made = carry_over(JobV1(spec=JobSpecV1(schedule="x", replicas=1)), JobV2)
    assert made.to_wire()["spec"] == {"replicas": 1}


def test_constraints_are_not_judged():
    """The object is stored already."""
    assert carry_over(JobV1.from_wire({**OLD, "spec": {"schedule": "", "replicas": -1}}), JobV2).spec.replicas == -1


def test_nothing_is_shared():
    """The converter may change the result in place."""
    source = JobV1.from_wire(OLD)
    made = carry_over(source, JobV2)
    made.metadata.labels["x"] = "z"
    made.spec.containers[0].name = "other"
    made.spec.anything["deep"].append(1)
    assert source.to_wire() == JobV1.from_wire(OLD).to_wire()


def test_structs_are_carried_too():
    """Not only whole objects."""
    made = carry_over(Container.from_wire({"name": "a", "port": 1, "extra": 2}), ContainerV2)
    assert (made.name, made.port, made.tier) == ("a", None, "web")
    assert made.to_wire() == {"name": "a", "extra": 2}


def test_metadata_is_of_the_same_type():
    """Nothing of it is lost."""
    source = JobV1(metadata=ObjectMeta(name="a", finalizers=["x"]), spec=JobSpecV1(schedule="x"))
    assert carry_over(source, JobV2).metadata == source.metadata


class Tree(Struct):
    """A type within itself."""

    name: str
    kids: list["Tree"] = []


class Everything(Struct):
    """A field of each sort."""

    at: Time | None = None
    micro: MicroTime | None = None
    for_: Annotated[Duration | None, Wire("for")] = None
    data: bytes | None = None
    tags: set[str] = set()
    port: IntOrString | None = None
    mode: Literal["x", "y"] | None = None
    tree: Tree | None = None
    raw: RawExtension | None = None
    nothing: Annotated[str | None, Nullable()] = None
    ratio: float | None = None
    either: int | str | None = None
    numbers: tuple[int, ...] = ()
    amounts: dict[str, Quantity] = {}
    rows: list[list[Tree]] = []


class SameAgain(Everything):
    """Another type with the same fields."""


def test_values_of_every_sort_are_carried():
    """With unknown fields in places, and without."""
    known = {
        "at": "2026-01-01T00:00:00Z",
        "micro": "2026-01-01T00:00:00.000001Z",
        "for": "1h0m0s",
        "data": "aGk=",
        "tags": ["a", "b"],
        "port": "http",
        "mode": "y",
        "tree": {"name": "r", "kids": [{"name": "c", "kids": [{"name": "d"}]}]},
        "raw": {"a": {"b": None}},
        "nothing": None,
        "ratio": 1.5,
        "either": "x",
        "numbers": [1, 2],
        "amounts": {"a": "1Gi", "b": 5},
        "rows": [[{"name": "z"}]],
    }
    unknown = {**known, "rows": [[{"name": "z", "y": 0}]], "extra": {"k": [1]}}
    unknown["tree"] = {"name": "r", "kids": [{"name": "c", "x": {"deep": None}}]}
    for wire in (known, unknown):
        assert carry_over(Everything.from_wire(wire), SameAgain).to_wire() == wire


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {"schedule": st.text(max_size=3)},
        optional={
            "replicas": st.integers(-5, 5),
            "memory": st.sampled_from([1, "1Gi", "0.5"]),
            "containers": st.lists(st.fixed_dictionaries({"name": st.text(max_size=2)}, optional={"x": json_values})),
            "byName": st.dictionaries(st.text(max_size=2), st.fixed_dictionaries({"name": st.text(max_size=2)})),
            "anything": st.dictionaries(st.text(max_size=2), json_values, max_size=3),
            "unknown": json_values,
        },
    )
)
def test_into_the_same_type_everything_is_carried(spec):
    """Then nothing is left to set."""
    source = JobV1.from_wire({**OLD, "spec": spec})
    assert carry_over(source, JobV1).to_wire() == source.to_wire()
    there = carry_over(source, JobV2)
    there.spec.schedule = Schedule(minute=source.spec.schedule)
    back = carry_over(there, JobV1)
    back.spec.schedule = there.spec.schedule.minute
    assert back.to_wire() == source.to_wire()

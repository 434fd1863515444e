"""Converters that lose something are found, with the smallest object that shows it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from functools import cache
from typing import Annotated

import pytest
import yaml

from pykb.api import CustomResource, Field, GroupVersion, Int32, ListMap, Quantity, Struct
from pykb.api.conversion import Converter, Unconvertible, carry_over
from pykb.api.core.v1 import PodTemplateSpec
from pykb.testing import assert_round_trips

V1, V2 = GroupVersion("batch.example.com", "v1"), GroupVersion("batch.example.com", "v2")
LEFT = "batch.example.com/hub"


class PortV1(Struct):
    """A port."""

    name: Annotated[str, Field(pattern="^[a-z]{1,8}$")]
    number: Annotated[Int32, Field(ge=1, le=65535)]


class JobSpecV1(Struct):
    """The schedule is one text."""

    schedule: Annotated[str, Field(pattern=r"^[0-9*]+ [0-9*]+ [0-9*]+$")]
    cpu: Quantity = Quantity("1")
    ports: Annotated[list[PortV1] | None, ListMap("name")] = None
    template: PodTemplateSpec | None = None


class JobV1(CustomResource, group_version=V1, kind="Job"):
    """The spoke."""

    spec: JobSpecV1


class ScheduleV2(Struct):
    """The schedule in parts."""

    minute: Annotated[str, Field(pattern="^[0-9*]+$")] = "*"
    hour: Annotated[str, Field(pattern="^[0-9*]+$")] = "*"
    day: Annotated[str, Field(pattern="^[0-9*]+$")] = "*"


class JobSpecV2(Struct):
    """Knows more than v1."""

    schedule: ScheduleV2 = Field(default_factory=ScheduleV2)
    cpu: Quantity = Quantity("1")
    ports: Annotated[list[PortV1] | None, ListMap("name")] = None
    template: PodTemplateSpec | None = None
    grace: timedelta | None = None
    """Only here."""


class JobV2(CustomResource, group_version=V2, kind="Job"):
    """The hub."""

    spec: JobSpecV2 = Field(default_factory=JobSpecV2)


class Losing(Converter[JobV1, JobV2]):
    """Forgets what v1 has no place for."""

    def to_hub(self, spoke: JobV1) -> JobV2:
        """Take the schedule apart."""
        hub = carry_over(spoke, JobV2)
        minute, hour, day = spoke.spec.schedule.split(" ")
        hub.spec.schedule = ScheduleV2(minute=minute, hour=hour, day=day)
        return hub

    def from_hub(self, hub: JobV2) -> JobV1:
        """Put the schedule together."""
        spoke = carry_over(hub, JobV1)
        schedule = hub.spec.schedule
        if not hasattr(spoke, "spec"):
            spoke.spec = JobSpecV1(schedule="* * *")
        spoke.spec.schedule = f"{schedule.minute} {schedule.hour} {schedule.day}"
        return spoke


class Keeping(Losing):
    """Keeps it in an annotation."""

    def to_hub(self, spoke: JobV1) -> JobV2:
        """Take it out of the annotation."""
        hub = super().to_hub(spoke)
        annotations = dict(hub.metadata.annotations or {})
        kept = annotations.pop(LEFT, None)
        if kept is not None:
            hub.spec.grace = JobSpecV2.from_wire(json.loads(kept)).grace
            hub.metadata.annotations = annotations
        return hub

    def from_hub(self, hub: JobV2) -> JobV1:
        """Put it into the annotation."""
        spoke = super().from_hub(hub)
        if hub.spec.grace is not None:
            kept = {"grace": hub.to_wire()["spec"]["grace"]}
            spoke.metadata.annotations = {**(hub.metadata.annotations or {}), LEFT: json.dumps(kept)}
        return spoke


def message_of(converter: Converter[JobV1, JobV2], **arguments: object) -> str:
    """What a failure says."""
    with pytest.raises(AssertionError) as raised:
        assert_round_trips(converter, samples=40, **arguments)  # type: ignore[arg-type]
    return str(raised.value)


@cache
def loss() -> str:
    """What the failure of `Losing` says, which takes seconds to find."""
    return message_of(Losing())


def test_a_converter_that_keeps_everything_passes() -> None:
    """With an annotation for what the spoke cannot say; nothing else of the metadata changes."""
    assert_round_trips(Keeping(), samples=30)


def test_what_is_lost_is_told_with_the_smallest_object() -> None:
    """The field, before and after, the object, the seed, the remedy; and only the fields that matter."""
    text = loss()
    assert text.startswith("Losing: v2.Job -> v1.Job -> v2.Job gives another object\n")
    assert re.search(r'^  spec\.grace: "\S+" became absent$', text, re.MULTILINE)
    assert 'ignore=("spec.grace",)' in text
    shown = text[text.index("the smallest v2.Job") : text.index("the same object as v1.Job")]
    assert yaml.safe_load(shown.partition("\n")[2]) == {
        "apiVersion": "batch.example.com/v2",
        "kind": "Job",
        "metadata": {"name": "0"},
        "spec": {"grace": "0s"},
    }


def test_a_failure_is_there_again() -> None:
    """The next run of the test makes the same objects, and says the same."""
    assert message_of(Losing()) == loss()


def test_what_is_lost_on_purpose_is_ignored() -> None:
    """By its path; the rest is still held."""
    assert_round_trips(Losing(), samples=30, ignore=("spec.grace",))
    assert "spec.grace" in message_of(Losing(), ignore=("spec.template", "spec.ports[].name"))


class Broken(Losing):
    """Fails on some objects."""

    def to_hub(self, spoke: JobV1) -> JobV2:
        """Fail where there are ports."""
        if spoke.spec.ports:
            raise ZeroDivisionError("on purpose")
        return super().to_hub(spoke)


class Mutating(Losing):
    """Writes into what it was given."""

    def to_hub(self, spoke: JobV1) -> JobV2:
        """Normalise in place."""
        hub = super().to_hub(spoke)
        spoke.spec.cpu = Quantity("7")
        return hub


class Wrong(Losing):
    """Returns the wrong version."""

    def from_hub(self, hub: JobV2) -> JobV1:
        """Give the hub back."""
        return hub  # type: ignore[return-value]


class Changing(Losing):
    """Changes an item of a list."""

    def to_hub(self, spoke: JobV1) -> JobV2:
        """Forget where ports are."""
        hub = super().to_hub(spoke)
        for port in hub.spec.ports or []:
            port.number = 80
        return hub


class Refusing(Losing):
    """Refuses everything."""

    def to_hub(self, spoke: JobV1) -> JobV2:
        """Have no form for it."""
        raise Unconvertible("v1 is over")


@pytest.mark.parametrize(
    ("converter", "wanted"),
    [
        (Broken(), r"^Broken: `to_hub` failed: on purpose\n"),
        (Mutating(), r"^Mutating: `to_hub` changed its argument\n  spec\.cpu: "),
        (Wrong(), r"^Wrong: `from_hub` failed: it must return a v1\.JobV1"),
        (Changing(), r"^  spec\.ports\[\d\]\.number: \d+ became 80$"),
        (Refusing(), r"^every random v1\.Job was refused: v1 is over$"),
    ],
)
def test_faults_of_a_converter_are_told(converter: Converter[JobV1, JobV2], wanted: str) -> None:
    """Not only what it loses."""
    text = message_of(converter, ignore=("spec.grace",))
    assert re.search(wanted, text, re.MULTILINE), text


def test_objects_that_are_refused_are_left_out() -> None:
    """A converter may say that an object has no form in the other version."""

    class Choosy(Losing):
        def to_hub(self, spoke: JobV1) -> JobV2:
            if spoke.spec.ports:
                raise Unconvertible("ports are gone")
            return super().to_hub(spoke)

    assert_round_trips(Choosy(), samples=30, ignore=("spec.grace",))


def test_overrides_reach_the_objects() -> None:
    """A field that needs more than its type says."""
    seen: list[str] = []

    class Strict(Losing):
        def to_hub(self, spoke: JobV1) -> JobV2:
            seen.append(spoke.spec.schedule)
            return super().to_hub(spoke)

    def schedule(random: object) -> str:
        return "0 0 1"

    assert_round_trips(Strict(), samples=20, overrides={"spec.schedule": schedule}, ignore=("spec",))
    assert "0 0 1" in seen


def test_overrides_are_given_by_version() -> None:
    """A field of one name can need something else in each version."""
    seen: set[str] = set()

    class Watching(Losing):
        def to_hub(self, spoke: JobV1) -> JobV2:
            seen.add(spoke.spec.schedule)
            return super().to_hub(spoke)

    overrides = {
        JobV1: {"spec.schedule": lambda _: "0 0 1"},
        JobV2: {"spec.schedule": lambda _: ScheduleV2(minute="1", hour="2", day="3")},
    }
    assert_round_trips(Watching(), samples=20, overrides=overrides, ignore=("spec",))
    assert seen <= {"0 0 1", "1 2 3", "* * *"}
    assert {"0 0 1", "1 2 3"} <= seen


def test_overrides_by_version_are_checked() -> None:
    """A path against its own version, a version against those of the converter."""
    with pytest.raises(ValueError, match=r"`spec\.shedule` does not lead to a field: JobSpecV1 has no `shedule`"):
        assert_round_trips(Losing(), overrides={JobV1: {"spec.shedule": str}})
    with pytest.raises(ValueError, match=r"`ScheduleV2` in `overrides` is not a version of the converter"):
        assert_round_trips(Losing(), overrides={ScheduleV2: {"minute": str}})


@pytest.mark.parametrize("arguments", [{"ignore": ("spec.grase",)}, {"overrides": {"spec.shedule": str}}])
def test_a_misspelt_path_is_told(arguments: dict[str, object]) -> None:
    """It has to be a field of the spoke or of the hub."""
    with pytest.raises(ValueError, match=r"does not lead to a field: JobSpecV1 has no `\w+`.* and JobSpecV2 has no"):
        assert_round_trips(Losing(), **arguments)  # type: ignore[arg-type]

"""Webhooks and converters take part in histories: what they refuse is no fault, what they spoil is found."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pykb.api import Converter
from pykb.explore import Explorer, Report, Subject
from pykb.explore._history import Manifest
from pykb.runtime import (
    ControllerBuilder,
    Defaulter,
    FieldError,
    Invalid,
    Manager,
    MergePatch,
    Reconciler,
    Request,
    Validator,
)
from pykb.runtime import Warnings as Told
from pykb.runtime import WebhookBuilder as Builder
from tests.explorer.zoo.kinds import CRDS, SAMPLE, Animal
from tests.unit.runtime_fake.test_webhooks import CRD as BOX_CRD
from tests.unit.runtime_fake.test_webhooks import GROUP as BOX_GROUP
from tests.unit.runtime_fake.test_webhooks import Box, BoxV1
from tests.unit.runtime_fake.test_webhooks import BoxConverter as LosesNote

HERE = Path(__file__).parent


class Picky(Reconciler):
    """Divides by the count, which only the validator keeps above zero."""

    async def reconcile(self, request: Request) -> None:
        """Divide."""
        animal = await self.client.find(Animal, request)
        if animal is None or animal.status.count == (count := 100 // animal.spec.count):
            return
        animal.status.count = count
        await self.client.status.update(animal)

    def setup(self, manager: Manager) -> None:
        """Register with the manager."""
        ControllerBuilder(manager).for_(Animal).complete(self)


class Counts(Validator[Animal]):
    """Refuses animals that are not there."""

    async def validate_create(self, obj: Animal) -> Told:
        """Judge."""
        return self.judge(obj)

    def validate_update(self, old: Animal, new: Animal) -> Told:
        """Judge, in a thread."""
        return self.judge(new)

    def judge(self, animal: Animal) -> Told:
        """The same for both."""
        if animal.spec.count < 1:
            raise Invalid.of(animal, [FieldError("spec.count", "must be there", value=animal.spec.count)])
        return None


class Stumbles(Counts):
    """Forgets that the house may be missing."""

    def judge(self, animal: Animal) -> Told:
        """Judge."""
        assert len(animal.spec.house) < 100
        return super().judge(animal)


class Feeds(Defaulter[Animal]):
    """Fills in a name."""

    async def default(self, obj: Animal) -> None:
        """Once."""
        if not obj.spec.names:
            obj.spec.names = ["nameless"]


class Overfeeds(Feeds):
    """Adds a name with each update."""

    async def default(self, obj: Animal) -> None:
        """Always."""
        obj.spec.names.append(f"{len(obj.spec.names)}")


class NamesByCount(Defaulter[Animal]):
    """Fills in a name that depends on another field."""

    async def default(self, obj: Animal) -> None:
        """Once. It stays when the other field changes."""
        if not obj.spec.names:
            obj.spec.names = [f"number {obj.spec.count}"]


def hooks(operations: Sequence[str] = ("CREATE", "UPDATE"), resource: str = "animals") -> list[Manifest]:
    """The configurations."""
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource], "operations": operations}

    def one(kind: str) -> Manifest:
        service = {"path": f"/{kind.lower()}"}
        hook = {"name": f"{kind}.example.com", "clientConfig": {"service": service}, "rules": [rule]}
        return {"kind": f"{kind}WebhookConfiguration", "metadata": {"name": kind}, "webhooks": [hook]}

    return [one("Mutating"), one("Validating")]


SPEC: Manifest = {**SAMPLE["spec"], "names": ["a"]}


def explored(
    validator: Validator[Animal],
    defaulter: Defaulter[Animal],
    *only: str,
    conditions: Sequence[str] = (),
    spec: Manifest = SPEC,
    reconciler: type[Reconciler] = Picky,
) -> Report:
    """What the explorer says of webhooks."""
    configurations = hooks()
    for configuration in configurations if conditions else ():
        [hook] = configuration["webhooks"]
        hook["matchConditions"] = [{"name": f"c{number}", "expression": each} for number, each in enumerate(conditions)]

    def register(manager: Manager) -> None:
        reconciler(manager.client).setup(manager)
        builder = Builder(manager).for_(Animal).with_validator(validator, path="/validating")
        builder.with_defaulter(defaulter, path="/mutating").complete()

    sample = {**SAMPLE, "spec": spec}
    return Explorer(Subject(register, CRDS, [sample], None, HERE, webhooks=configurations), only=only).run()


def test_a_condition_decides_whether_a_webhook_is_called():
    """The validator is asked for large counts only, so the reconciler divides by zero. A condition about accounts holds."""
    sender = "request.userInfo.username != 'admin'"
    report = explored(Counts(), Feeds(), "explore-bug", conditions=["object.spec.count > 5", sender])
    [finding] = report.findings
    assert finding.message.startswith("ZeroDivisionError, though the schema accepts `spec.count = 0`")
    [note] = report.notes()
    assert (note.code.slug, note.message) == ("explore-unknown-condition", f"the explorer cannot evaluate `{sender}`")


def test_what_a_webhook_refuses_is_not_tried():
    """The reconciler would divide by zero, and the defaulter fills in what the edges leave out."""
    report = explored(Counts(), Feeds())
    report.check()
    assert report.histories["explore-bug"] > 5
    assert not [note for note in report.notes() if note.code.slug != "explore-real-world"]  # it names a slow machine


def test_a_default_that_depends_on_another_field_stays():
    """As with `kubectl apply`: the object is another one than with the sample, and nobody's fault."""
    report = explored(Counts(), NamesByCount(), "explore-bug", "explore-history", spec={"count": 2})
    report.check()
    assert {*report.histories} >= {"explore-bug", "explore-history"}


def test_an_error_of_a_webhook_is_found_with_its_line():
    """The spec is valid for the schema."""
    report = explored(Stumbles(), Feeds(), "explore-bug")
    [finding] = report.findings
    assert finding.code.slug == "explore-bug"
    assert finding.message.startswith("TypeError, though the schema accepts `no spec.house`")
    assert line_of(finding) == "assert len(animal.spec.house) < 100"


def test_a_webhook_that_changes_each_update_is_found():
    """With the line of its function."""
    report = explored(Counts(), Overfeeds(), "explore-loop")
    [finding] = report.findings
    assert "after an update without a change: the webhook is not idempotent" in finding.message
    assert line_of(finding) == "async def default(self, obj: Animal) -> None:"
    assert finding.span.line == Overfeeds.default.__code__.co_firstlineno


class Notes(Picky):
    """Notes in an annotation what it has seen."""

    async def reconcile(self, request: Request) -> None:
        """With an update, which calls the webhook."""
        animal = await self.client.find(Animal, request)
        if animal is not None:
            seen = {"zoo.example.com/seen": ",".join(animal.spec.names)}
            await self.client.patch(animal, MergePatch({"metadata": {"annotations": seen}}))


def test_a_webhook_that_lets_nobody_come_to_rest_is_found():
    """Not the line of the update, which changes nothing of the spec."""
    report = explored(Counts(), Overfeeds(), "explore-loop", reconciler=Notes)
    [finding] = report.findings
    assert "again with each update: it is not idempotent" in finding.message
    assert line_of(finding) == "async def default(self, obj: Animal) -> None:"
    explored(Counts(), Feeds(), "explore-loop", reconciler=Notes).check()


def test_a_sample_that_a_webhook_cannot_judge_is_told_with_its_line():
    """It is not the sample's fault."""

    class Broken(Counts):
        def judge(self, animal: Animal) -> Told:
            raise KeyError(animal.spec.food)

    report = explored(Broken(), Feeds())
    [problem] = report.problems
    assert "KeyError: 'hay'" in problem.message
    assert problem.span.path == "test_webhooks.py"
    assert problem.help == ("correct the webhook or the converter",)


class KeepsNote(LosesNote):
    """Without a loss."""

    def to_hub(self, spoke: BoxV1) -> Box:
        """The note comes back."""
        hub = super().to_hub(spoke)
        annotations = dict(spoke.metadata.annotations or {})
        hub.spec.note = annotations.pop("note", None)
        hub.metadata.annotations = annotations or None
        return hub

    def from_hub(self, hub: Box) -> BoxV1:
        """The note is kept."""
        spoke = super().from_hub(hub)
        if hub.spec.note is not None:
            spoke.metadata.annotations = {**(hub.metadata.annotations or {}), "note": hub.spec.note}
        return spoke


class Raises(KeepsNote):
    """Not for all values."""

    def from_hub(self, hub: Box) -> BoxV1:
        """A table of widths."""
        [None, "small"][min(hub.spec.width or 0, 2)]
        return super().from_hub(hub)


def converted(converter: Converter[Any, Any], version: str, spec: dict[str, Any], *only: str) -> Report:
    """What the explorer says of a converter."""
    folder = Path(inspect.getfile(type(converter))).parent

    def register(manager: Manager) -> None:
        Builder(manager).for_(Box).with_converter(converter).complete()

    sample = {"apiVersion": f"{BOX_GROUP}/{version}", "kind": "Box", "spec": spec}
    sample["metadata"] = {"name": "box", "namespace": "default"}
    crd = copy.deepcopy(BOX_CRD)
    fields = crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["lid"] = {"type": "string", "default": "flat", "enum": ["flat"]}  # which no converter needs to know
    return Explorer(Subject(register, [crd], [sample], None, folder), only=only).run()


class MakesAnew(KeepsNote):
    """Without what its classes do not know."""

    def from_hub(self, hub: Box) -> BoxV1:
        """Only the size."""
        spoke = super().from_hub(hub)
        return BoxV1(metadata=spoke.metadata, spec=type(spoke.spec)(size=spoke.spec.size))


@pytest.mark.parametrize(("version", "spec"), [("v2", {"width": 1, "note": "n"}), ("v1", {"size": "1"})])
@pytest.mark.parametrize("converter", [KeepsNote(), MakesAnew()])
def test_a_sound_converter_is_not_accused(converter, version, spec):
    """In both versions. The API server fills in the defaults of that in which the object is stored."""
    report = converted(converter, version, spec, "explore-history", "explore-loop", "explore-leak")
    report.check()
    assert report.histories["explore-history"] > 1


def test_a_converter_that_loses_a_field_is_found():
    """By an update in the other version that changes nothing."""
    report = converted(LosesNote(), "v2", {"width": 1, "note": "n"}, "explore-history")
    [finding] = report.findings
    assert finding.message == "Box box: `spec.note` is lost by the conversion to v1 and back"
    assert finding.story[1].startswith("Somebody reads and writes back Box box: `apiVersion = ")
    assert finding.span.path == "test_webhooks.py"
    assert "annotation" in finding.to_diagnostic().help[0]


class Rounds(KeepsNote):
    """Only even widths."""

    def from_hub(self, hub: Box) -> BoxV1:
        """One less."""
        spoke = super().from_hub(hub)
        spoke.spec.size = str((hub.spec.width or 0) // 2 * 2)
        return spoke


def test_a_converter_that_changes_a_value_is_found():
    """With both values."""
    [finding] = converted(Rounds(), "v2", {"width": 1}, "explore-history").findings
    assert finding.message == "Box box: `spec.width = 1` becomes 0 by the conversion to v1 and back"


def test_a_converter_that_fails_is_found():
    """With its line."""
    report = converted(Raises(), "v2", {"width": 1}, "explore-bug")
    [finding] = report.findings
    assert finding.message.startswith("IndexError, though the schema accepts `spec.width")
    assert line_of(finding) == '[None, "small"][min(hub.spec.width or 0, 2)]'


def line_of(finding: Any) -> str:
    """The line that a finding names."""
    return (HERE / finding.span.path).read_text(encoding="utf-8").splitlines()[finding.span.line - 1].strip()

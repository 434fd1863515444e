"""What type checkers see of webhooks."""

PROGRAM = """
from typing import assert_type
from pykb.api import Converter, CustomResource, Field, GroupVersion, Int32, Struct, Unstructured, carry_over
from pykb.runtime import (
    AdmissionRequest, AdmissionResponse, Defaulter, Denied, FieldError, Invalid, Manager, Validator, Warnings,
    WebhookBuilder, current_admission_request,
)
from pykb.runtime.fake import fake_client
from pykb.runtime.webhook import allowed, denied, errored, patched


class Spec(Struct):
    cpu: Int32 = 0


class Old(CustomResource, group_version=GroupVersion("example.com", "v1"), kind="Thing"):
    spec: Spec = Field(default_factory=Spec)


class New(CustomResource, group_version=GroupVersion("example.com", "v2"), kind="Thing"):
    spec: Spec = Field(default_factory=Spec)


class ThingDefaulter(Defaulter[New]):
    async def default(self, thing: New) -> None:
        assert_type(self.request, AdmissionRequest)
        thing.spec.cpu = thing.spec.cpu or 1
        self.logger.info("defaulted")


class PlainDefaulter(Defaulter[Unstructured]):
    def default(self, obj: Unstructured) -> None:
        obj.data["spec"] = {}


class ThingValidator(Validator[New]):
    async def validate_create(self, obj: New) -> Warnings:
        if obj.spec.cpu == 13:
            raise Denied("no")
        raise Invalid.of(obj, [FieldError("spec.cpu", "must be even", value=3)])

    def validate_update(self, old: New, new: New) -> list[str] | None:
        return ["hm"] if old.spec.cpu > new.spec.cpu else None

    async def validate_delete(self, obj: New) -> None: ...


class ThingConverter(Converter[Old, New]):
    def to_hub(self, spoke: Old) -> New:
        hub = carry_over(spoke, New)
        assert_type(hub, New)
        return hub

    def from_hub(self, hub: New) -> Old:
        return carry_over(hub, Old)


async def judge(request: AdmissionRequest) -> AdmissionResponse:
    match request.name:
        case "a":
            return denied("no")
        case "b":
            return errored("no", 500)
        case "c":
            return patched(request, {**(request.object or {}), "spec": {}})
    return allowed("hm")


manager = Manager(client=fake_client())
WebhookBuilder(manager).for_(New).with_defaulter(ThingDefaulter()).with_validator(
    ThingValidator(manager.client), path="/validate"
).with_converter(ThingConverter()).complete()
manager.webhook_server.register("/judge", judge)
assert_type(manager.webhook_server.paths, frozenset[str])
assert_type(current_admission_request(), AdmissionRequest | None)


class Wrong(Defaulter[int]):  # type: ignore[type-var]
    async def default(self, obj: int) -> None: ...


class AlsoWrong(Validator[New]):
    async def validate_create(self, obj: Old) -> Warnings: ...  # type: ignore[override]


WebhookBuilder(manager).for_(New).with_defaulter(ThingValidator())  # type: ignore[arg-type]
"""


def test_type_checkers_know_what_webhooks_are_for(tmp_path, mypy):
    """A user's webhooks pass `mypy --strict`, coroutines and plain methods alike, and mistakes are found."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, "utf-8")
    done = mypy(program)
    assert done.returncode == 0, done.stdout + done.stderr

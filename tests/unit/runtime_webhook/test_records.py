"""What listeners learn of a call: what was asked, what it changed, how it ended, and where in the program."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from pykb.api import Converter, CustomResource, Field, Quantity, Struct, Unconvertible, carry_over
from pykb.api.core.v1 import Secret
from pykb.runtime import (
    Defaulter,
    Denied,
    FieldError,
    Invalid,
    Manager,
    Validator,
    WebhookBuilder,
    WebhookListener,
    WebhookRecord,
    WebhookType,
)
from pykb.runtime.records.causes import ObjectId, ReconcileId
from pykb.runtime.records.lines import own_line_of
from pykb.runtime.webhook import allowed
from pykb.serving import HttpError, HttpRequest

from .conftest import GROUP, V2, Machine, review, wire  # noqa: TID252 - shared by this folder only

MUTATE = "/mutate-infra-example-com-v1-machine"
VALIDATE = "/validate-infra-example-com-v1-machine"
MACHINE = ObjectId(f"{GROUP}/v1", "Machine", "demo", "m")


class Fills(Defaulter[Machine]):
    """Sets the memory."""

    async def default(self, obj: Machine) -> None:
        if obj.spec.memory is None:
            obj.spec.memory = Quantity("2Gi")


class Judges(Validator[Machine]):
    """Refuses by the number of processors."""

    async def validate_create(self, obj: Machine) -> list[str]:
        self.logger.info("looks at it")
        match obj.spec.cpu:
            case 1:
                raise Invalid.of(obj, [FieldError("spec.cpu", "must be even", value=1)])
            case 2:
                raise Denied("no more room")
            case 3:
                {}["hole"]
            case 4:
                await asyncio.Event().wait()
        return ["be quick"]

    async def validate_update(self, old: Machine, new: Machine) -> None:
        """Allow it."""


class SpecV2(Struct):
    """What is wanted."""

    cpus: int = 0


class MachineV2(CustomResource, group_version=V2, kind="Machine"):
    """A spoke."""

    spec: SpecV2 = Field(default_factory=SpecV2)


class Converts(Converter[MachineV2, Machine]):
    """Refuses machines without processors."""

    def to_hub(self, spoke: MachineV2) -> Machine:
        if not spoke.spec.cpus:
            raise Unconvertible("no processors")
        hub = carry_over(spoke, Machine)
        hub.spec.cpu = spoke.spec.cpus
        return hub

    def from_hub(self, hub: Machine) -> MachineV2:
        spoke = carry_over(hub, MachineV2)
        spoke.spec.cpus = hub.spec.cpu
        return spoke


class Kept(WebhookListener):
    """Keeps the records."""

    def __init__(self) -> None:
        self.records: list[WebhookRecord] = []

    def answered(self, record: WebhookRecord) -> None:
        self.records.append(record)


@pytest.fixture
def manager(manager_of: Any) -> Manager:
    """A manager with webhooks of all types."""
    manager: Manager = manager_of()
    builder = WebhookBuilder(manager).for_(Machine)
    builder.with_defaulter(Fills()).with_validator(Judges()).with_converter(Converts()).complete()
    return manager


@pytest.fixture
def kept(manager: Manager) -> Kept:
    """What a listener gets."""
    kept = Kept()
    manager.listen(kept)
    return kept


async def asked(manager: Manager, kept: Kept, path: str, body: Any) -> WebhookRecord:
    """The record of a call."""
    await manager.webhook_server.ask(path, body if isinstance(body, bytes) else json.dumps(body).encode())
    return kept.records.pop()


def conversion(*objects: Any, to: str = f"{GROUP}/v2") -> dict[str, Any]:
    """A question."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "1", "desiredAPIVersion": to, "objects": objects},
    }


def line_of(function: Any, text: str) -> tuple[str, int]:
    """The place of a line of a function in this file."""
    code = function.__code__
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return __file__, next(n for n in range(code.co_firstlineno, len(lines)) if text in lines[n - 1])


async def test_a_defaulter_shows_what_it_changed(manager: Manager, kept: Kept) -> None:
    """The object as it was sent and as it becomes."""
    record = await asked(manager, kept, MUTATE, review(wire(cpu=6)))
    assert (record.type, record.path, record.object) == (WebhookType.MUTATING, MUTATE, MACHINE)
    assert (record.operation, record.user, record.allowed, record.error) == ("CREATE", "jane", True, None)
    assert [str(each) for each in record.changes] == ['spec.memory: unset -> "2Gi"']
    assert (record.before or {})["spec"].get("memory") is None
    assert (record.after or {})["spec"]["memory"] == "2Gi"
    assert record.seconds > 0
    record = await asked(manager, kept, MUTATE, review(None, wire(), operation="DELETE"))
    assert (record.changes, record.after, (record.before or {})["kind"]) == ((), None, "Machine")


async def test_a_validator_shows_what_it_judged(manager: Manager, kept: Kept) -> None:
    """An update is compared with what is stored. A denial has its fields and the line that raised it."""
    record = await asked(manager, kept, VALIDATE, review(wire(cpu=8), wire(cpu=6), "UPDATE", dryRun=True))
    assert (record.type, record.allowed, record.dry_run) == (WebhookType.VALIDATING, True, True)
    assert [str(each) for each in record.changes] == ["spec.cpu: 6 -> 8"]
    record = await asked(manager, kept, VALIDATE, review(wire(cpu=6)))
    assert (record.before, record.changes, record.warnings) == (None, (), ("be quick",))
    record = await asked(manager, kept, VALIDATE, review(wire(cpu=1)))
    assert record.allowed is False
    assert record.message.startswith('Machine.infra.example.com "m" is invalid')
    assert record.fields == (("spec.cpu", "Invalid value: 1: must be even"),)
    assert own_line_of(record.error or OSError()) == line_of(Judges.validate_create, "raise Invalid")
    record = await asked(manager, kept, VALIDATE, review(wire(cpu=2)))
    assert (record.message, type(record.error), record.fields) == ("no more room", Denied, ())


async def test_a_bug_has_its_line(manager: Manager, kept: Kept) -> None:
    """The client only learns that there was one."""
    record = await asked(manager, kept, VALIDATE, review(wire(cpu=3)))
    assert (record.allowed, record.message, type(record.error)) == (False, "internal error", KeyError)
    assert own_line_of(record.error or OSError()) == line_of(Judges.validate_create, '{}["hole"]')


async def test_a_call_without_an_answer_shows_where_it_waits(manager: Manager, kept: Kept) -> None:
    """The API server, or its own limit, ends it."""
    body = json.dumps(review(wire(cpu=4))).encode()
    asking = asyncio.ensure_future(manager.webhook_server.ask(VALIDATE, body))
    await asyncio.sleep(0.01)
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking
    [record] = kept.records
    assert (record.object, record.allowed, record.message) == (MACHINE, None, "not answered in time")
    assert own_line_of(record.error or OSError()) == line_of(Judges.validate_create, "await asyncio.Event")


async def test_a_conversion_shows_both_versions(manager: Manager, kept: Kept) -> None:
    """Of the first object, and how many there are."""
    old = {**wire(cpu=6), "metadata": {"name": "m", "namespace": "demo"}}
    record = await asked(manager, kept, "/convert", conversion(old, wire()))
    assert (record.type, record.object, record.objects) == (WebhookType.CONVERSION, MACHINE, 2)
    assert (record.allowed, record.operation, record.user) == (True, "", "")
    assert {str(each) for each in record.changes} >= {"spec.cpu: 6 -> unset", "spec.cpus: unset -> 6"}
    assert (record.after or {})["apiVersion"] == f"{GROUP}/v2"
    new = {"apiVersion": f"{GROUP}/v2", "kind": "Machine", "metadata": {"name": "n"}, "spec": {}}
    record = await asked(manager, kept, "/convert", conversion(new, to=f"{GROUP}/v1"))
    assert (record.allowed, record.after) == (False, None)
    assert "no processors" in record.message
    assert own_line_of(record.error or OSError()) == line_of(Converts.to_hub, "raise Unconvertible")


async def test_no_secret_is_in_a_record(manager: Manager, kept: Kept) -> None:
    """Neither in the objects, nor in what changed, nor in what kubectl noted."""
    noted = {"kubectl.kubernetes.io/last-applied-configuration": '{"spec": "hush"}'}
    secret = Secret(string_data={"a": "hush"}).to_wire()
    secret["metadata"] = {"name": "s", "annotations": noted, "managedFields": [{"manager": "hush"}]}
    secret["data"] = {"b": "hush"}
    manager.webhook_server.register("/any", lambda _: asyncio.sleep(0, allowed()))
    record = await asked(manager, kept, "/any", review(secret, {**secret, "data": {"b": "hush2"}}, "UPDATE"))
    assert (record.type, (record.after or {})["data"]) == (WebhookType.ADMISSION, {"b": "***"})
    assert "hush" not in repr(record)
    record = await asked(manager, kept, MUTATE, review(wire(password={"value": "hush"})))
    assert (record.after or {})["spec"]["password"] == "***"
    assert "hush" not in repr(record)


def deep(levels: int) -> Any:
    """A value of many levels."""
    return {"a": deep(levels - 1)} if levels else 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (VALIDATE, b"{"),
        (VALIDATE, b"[]"),
        (VALIDATE, json.dumps(review({"metadata": 7})).encode()),
        (VALIDATE, json.dumps(review([])).encode()),
        (VALIDATE, json.dumps(review(wire(), namespace="n" * 10_000, subResource="s" * 10_000)).encode()),
        (VALIDATE, json.dumps(review(wire(unknown=deep(900)), wire(), "UPDATE")).encode()),
        (VALIDATE, json.dumps(review({"command": ["sh"]}, None, "CONNECT")).encode()),
        (MUTATE, json.dumps(review(wire(unknown=deep(900)))).encode()),
        ("/convert", b"{}"),
        ("/convert", json.dumps(conversion()).encode()),
        ("/convert", json.dumps(conversion(7, None)).encode()),
        ("/convert", json.dumps(conversion({**wire(unknown=deep(900)), "metadata": 7})).encode()),
    ],
)
async def test_what_anybody_sends_is_answered_as_without_a_listener(manager: Manager, path: str, body: bytes) -> None:
    """A record says as much as can be read."""
    plain = await manager.webhook_server.ask(path, body)
    kept = Kept()
    manager.listen(kept)
    assert await manager.webhook_server.ask(path, body) == plain
    [record] = kept.records
    assert record.path == path
    assert len(f"{record.object} {record.subresource} {record.user}") < 1000


async def test_a_failing_listener_and_a_failing_server_change_nothing(
    manager: Manager, kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    """The call is answered, or fails as it did. Its error is in the record."""

    class Fails(WebhookListener):
        def answered(self, record: WebhookRecord) -> None:
            raise RuntimeError("a listener's")

    class Refuses:
        async def answer(self, request: HttpRequest) -> Any:
            raise HttpError(409, "which of them?")

    manager.listen(Fails())
    manager.webhook_server.mount("/refuses", Refuses())
    with pytest.raises(HttpError):
        await manager.webhook_server.ask("/refuses", json.dumps(review(wire())).encode())
    [record] = kept.records
    assert (record.message, record.allowed, record.object) == ("409: which of them?", None, MACHINE)
    assert [each.message for each in caplog.records if "listener" in each.message] == ["listener failed"]


async def test_nothing_is_recorded_while_nobody_listens(manager: Manager) -> None:
    """Not even the module is loaded for it."""
    assert manager.webhook_server.recorder is None


async def test_a_call_for_a_reconcile_names_it(manager: Manager, kept: Kept) -> None:
    """If its request has the trace parent of one that a reconcile sends now. The API server passes that on."""
    writer = ReconcileId("machine", "demo/m", "r1")
    manager._recorders._ledger.sending["00-1-2-00"] = writer
    server = manager.webhook_server
    for parent, expected in (("00-1-2-00", writer), ("00-1-3-00", None), ("", None)):
        headers = {"content-type": "application/json", "traceparent": parent}
        request = HttpRequest("POST", VALIDATE, headers=headers, content=json.dumps(review(wire(cpu=6))).encode())
        await server._serve(request)
        assert kept.records.pop().sent_by == expected

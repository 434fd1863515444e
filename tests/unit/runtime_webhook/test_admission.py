"""Typed webhooks, asked by HTTPS: what is defaulted, refused, and told to whom."""

import asyncio
import json
import logging
import threading
from typing import Any

import pytest

from pykb.api import CustomResource, Field, Int32, Quantity, Struct, Unstructured
from pykb.client.errors import error_from_status
from pykb.runtime import (
    Defaulter,
    Denied,
    FieldError,
    Forbidden,
    Invalid,
    Validator,
    WebhookBuilder,
    answering,
    current_admission_request,
)
from pykb.runtime._logging import TextFormatter, fields_of
from pykb.runtime.webhook import AdmissionRequest, Operation, allowed, denied, errored
from pykb.runtime.webhook import patched as patching

from .conftest import V1, Disk, Machine, patch_of, patched, review, wire  # noqa: TID252 - shared by this folder only

MUTATE = "/mutate-infra-example-com-v1-machine"
VALIDATE = "/validate-infra-example-com-v1-machine"
GVK = V1.with_kind("Machine")


class MachineDefaulter(Defaulter[Machine]):
    """Fills in."""

    async def default(self, obj: Machine) -> None:
        """One processor at least."""
        if not obj.spec.cpu:
            obj.spec.cpu = 1
        if obj.spec.image == "fail":
            raise RuntimeError("a secret of the author")


class MachineValidator(Validator[Machine]):
    """Judges."""

    async def validate_create(self, obj: Machine):
        """By number."""
        if obj.spec.cpu == 13:
            raise Denied("no thirteens here")
        if obj.spec.cpu % 2:
            raise Invalid.of(obj, [FieldError("spec.cpu", "must be even", value=obj.spec.cpu)])
        return ["rather large"] if obj.spec.cpu > 10 else None

    async def validate_update(self, old: Machine, new: Machine):
        """Never less."""
        if new.spec.cpu < old.spec.cpu:
            raise Denied(f"{old.spec.cpu} cannot become {new.spec.cpu}", warnings=["grow only"])

    async def validate_delete(self, obj: Machine):
        """Not the large ones."""
        if obj.spec.cpu > 10:
            raise error_from_status(409, {"kind": "Status", "reason": "Conflict", "message": "in use", "code": 409})


@pytest.fixture
def manager(manager_of):
    """With both webhooks."""
    made = manager_of()
    builder = WebhookBuilder(made).for_(Machine)
    builder.with_defaulter(MachineDefaulter()).with_validator(MachineValidator()).complete()
    return made


async def test_what_the_defaulter_changed_is_the_patch(manager, serving):
    """And nothing else of the object: not its nulls, its unknown fields, or how its numbers are written."""
    obj = wire(memory=1024, zones=["b", "a"])
    async with serving(manager) as caller:
        answer = await caller.ask(MUTATE, review(obj))
        assert answer["allowed"] is True
        assert patch_of(answer) == [{"op": "add", "path": "/spec/cpu", "value": 1}]
        again = await caller.ask(MUTATE, review(patched(obj, answer)))
        assert patch_of(again) == []
        deleted = await caller.ask(MUTATE, review(None, obj, "DELETE"))
        assert deleted == {"uid": "705ab4f5", "allowed": True}
        exec_options = {"kind": {"group": "", "version": "v1", "kind": "PodExecOptions"}}
        connected = await caller.ask(MUTATE, review({"stdin": True}, None, "CONNECT", **exec_options))
        assert connected == {"uid": "705ab4f5", "allowed": True}


class Bag(CustomResource, group_version=V1):
    """Holds values without types."""

    values: dict[str, Any] = {}
    one: Any = None
    many: list[Any] = []


class BagDefaulter(Defaulter[Bag]):
    """Changes what is deep within."""

    async def default(self, obj: Bag) -> None:
        """In place."""
        obj.values["a"]["b"] = 1
        obj.one["x"]["y"] = 2
        obj.many[0]["z"] = 3
        obj.model_extra["unknown"]["k"]["q"] = 4


async def test_changes_within_untyped_values_are_sent_back(manager_of, serving):
    """Pydantic hands these over as they came, so the object shares them with what it was read from."""
    made = manager_of()
    WebhookBuilder(made).for_(Bag).with_defaulter(BagDefaulter()).complete()
    bag = {"metadata": {"name": "b"}, "values": {"a": {}}, "one": {"x": {}}, "many": [{}], "unknown": {"k": {}}}
    async with serving(made) as caller:
        asked = review(bag, kind={"group": V1.group, "version": "v1", "kind": "Bag"})
        answer = await caller.ask("/mutate-infra-example-com-v1-bag", asked)
    assert {operation["path"]: operation["value"] for operation in patch_of(answer)} == {
        "/values/a/b": 1,
        "/one/x/y": 2,
        "/many/0/z": 3,
        "/unknown/k/q": 4,
    }


async def test_the_validator_is_asked_by_operation(manager, serving):
    """Creation, change with the old object, deletion with the old object; CONNECT is let through."""
    async with serving(manager) as caller:
        assert (await caller.ask(VALIDATE, review(wire(cpu=2))))["allowed"]
        large = await caller.ask(VALIDATE, review(wire(cpu=12)))
        assert (large["allowed"], large["warnings"]) == (True, ["rather large"])
        assert (await caller.ask(VALIDATE, review(wire(cpu=3), wire(cpu=2), "UPDATE")))["allowed"]
        less = await caller.ask(VALIDATE, review(wire(cpu=2), wire(cpu=3), "UPDATE"))
        assert less["status"]["message"] == "3 cannot become 2"
        assert less["warnings"] == ["grow only"]
        assert (await caller.ask(VALIDATE, review(None, wire(cpu=3), "DELETE")))["allowed"]
        kept = await caller.ask(VALIDATE, review(None, wire(cpu=12), "DELETE"))
        assert (kept["status"]["code"], kept["status"]["reason"]) == (409, "Conflict")
        assert (await caller.ask(VALIDATE, review({"kind": "PodExecOptions"}, None, "CONNECT")))["allowed"]


async def test_a_refusal_has_a_status_of_its_own(manager, serving):
    """403 where it is denied, 422 with a cause for each field where the object is invalid."""
    async with serving(manager) as caller:
        no = await caller.ask(VALIDATE, review(wire(cpu=13)))
        assert no["allowed"] is False
        assert no["status"] == {
            "status": "Failure",
            "message": "no thirteens here",
            "reason": "Forbidden",
            "code": 403,
        }
        odd = await caller.ask(VALIDATE, review(wire(cpu=3)))
        assert odd["status"] == {
            "status": "Failure",
            "message": 'Machine.infra.example.com "m" is invalid: spec.cpu: Invalid value: 3: must be even',
            "reason": "Invalid",
            "code": 422,
            "details": {
                "name": "m",
                "group": "infra.example.com",
                "kind": "Machine",
                "causes": [
                    {"reason": "FieldValueInvalid", "message": "Invalid value: 3: must be even", "field": "spec.cpu"}
                ],
            },
        }


@pytest.mark.parametrize("path", [MUTATE, VALIDATE])
async def test_an_object_of_wrong_types_is_invalid_and_each_field_named(manager, serving, path):
    """The values are not repeated: they may be secret."""
    obj = wire(cpu="hunter2", disks=[{"size": 1}])
    async with serving(manager) as caller:
        answer = await caller.ask(path, review(obj))
    assert answer["status"]["code"] == 422
    causes = {cause["field"]: cause["reason"] for cause in answer["status"]["details"]["causes"]}
    assert causes == {"spec.cpu": "FieldValueTypeInvalid", "spec.disks[0].name": "FieldValueRequired"}
    assert "hunter2" not in str(answer)


async def test_what_only_breaks_a_constraint_is_passed_on(manager, serving):
    """The API server judges that itself, after defaulting."""
    async with serving(manager) as caller:
        assert (await caller.ask(VALIDATE, review(wire(cpu=-2))))["allowed"]


async def test_a_stored_object_that_does_not_fit_can_be_mended_and_deleted(manager, serving, told):
    """What does not fit is left out of the old object."""
    broken = wire(cpu="many", disks=[{"size": 1}, {"name": "b"}])
    async with serving(manager) as caller:
        assert (await caller.ask(VALIDATE, review(wire(cpu=2), broken, "UPDATE")))["allowed"]
        assert (await caller.ask(VALIDATE, review(None, broken, "DELETE")))["allowed"]
        hopeless = {**wire(), "spec": "none", "metadata": 5}
        gone = await caller.ask(VALIDATE, review(None, hopeless, "DELETE"))
    assert gone["allowed"] is True
    assert "fields are left out" in told.text
    assert "many" not in told.text


class Sized(Struct):
    """What has a field that is required since lately."""

    size: Int32
    limit: Quantity
    name: str = ""
    parts: list[Disk] = []


class Box(CustomResource, group_version=V1):
    """A box."""

    spec: Sized


class CarefulValidator(Validator[Box]):
    """Looks at what may not be there."""

    async def judge(self, obj):
        """By number."""
        if obj.spec.name == "kept":
            raise Denied("it stays")
        if obj.spec.limit.amount > 3:
            raise Denied("too much")

    async def validate_update(self, old: Box, new: Box):
        """The new one."""
        await self.judge(new)

    async def validate_delete(self, obj: Box):
        """The stored one."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.judge(obj))


class BoxDefaulter(Defaulter[Box]):
    """Labels."""

    async def default(self, obj: Box) -> None:
        """By size."""
        obj.metadata.labels = {"size": str(obj.spec.size)}


class BoxValidator(Validator[Box]):
    """Keeps names."""

    async def validate_update(self, old: Box, new: Box):
        """Both are read."""
        if old.spec.name != new.spec.name:
            raise Denied(f"{old.spec.name} stays")
        return [f"{old.spec.size} {new.spec.size} {len(old.spec.parts)}"]


def box(*finalizers, **spec):
    """As the API server sends it."""
    return {"metadata": {"name": "b", "finalizers": list(finalizers)}, "spec": spec}


BOX = {"kind": {"group": V1.group, "version": "v1", "kind": "Box"}}


async def test_an_object_that_lacks_what_became_required_can_be_mended_and_let_go(manager_of, serving):
    """What fits of the stored object is judged by; who changes only metadata need not mend the rest."""
    made = manager_of()
    WebhookBuilder(made).for_(Box).with_defaulter(BoxDefaulter()).with_validator(BoxValidator()).complete()
    validate, mutate = "/validate-infra-example-com-v1-box", "/mutate-infra-example-com-v1-box"
    lacking = {"name": "n", "parts": [{"size": "1Gi"}, {"name": "b"}]}
    async with serving(made) as caller:

        async def update(path, new, old):
            return await caller.ask(path, review(new, old, "UPDATE", **BOX))

        mended = box(name="n", size=3, limit=1)
        assert (await update(validate, mended, box(**lacking)))["warnings"] == ["0 3 2"]
        renamed = await update(validate, box(name="m", size=3, limit=1), box(**lacking))
        assert renamed["status"]["message"] == "n stays"
        freed = await update(validate, box(**lacking), box("a/b", **lacking))
        assert (freed["allowed"], freed["warnings"]) == (True, ["0 0 2"])
        freed = await update(mutate, box(**lacking), box("a/b", **lacking))
        assert (freed["allowed"], patch_of(freed)) == (True, [])
        assert freed["warnings"][0].startswith("not defaulted: ")
        for path in (validate, mutate):
            changed = await update(path, box(**lacking, other=1), box(**lacking))
            assert changed["status"]["code"] == 422
        assert patch_of(await update(mutate, mended, box(**lacking)))
        going = {**mended, "metadata": {"name": "b", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
        held = {**going, "metadata": {**going["metadata"], "finalizers": ["a/b"]}}
        assert patch_of(await update(mutate, going, held)) == []


async def test_what_a_validator_cannot_read_does_not_stay_for_ever(manager_of, serving, told):
    """Where its code fails on what is not there the object may go, unless it is denied; nothing else is let through."""
    made = manager_of()
    WebhookBuilder(made).for_(Box).with_validator(CarefulValidator()).complete()
    path, lacking = "/validate-infra-example-com-v1-box", {"size": 1}
    async with serving(made) as caller:
        gone = await caller.ask(path, review(None, box(**lacking), "DELETE", **BOX))
        assert gone["warnings"] == ["not validated: the stored object does not fit its type"]
        assert "has no attribute 'amount'" in told.text
        freed = await caller.ask(path, review(box(**lacking), box("a/b", **lacking), "UPDATE", **BOX))
        assert freed["allowed"] is True
        kept = await caller.ask(path, review(None, box(**lacking, name="kept"), "DELETE", **BOX))
        assert kept["status"]["message"] == "it stays"
        whole = box(size=1, limit=9, name="n")
        assert (await caller.ask(path, review(None, whole, "DELETE", **BOX)))["status"]["message"] == "too much"
        assert (await caller.ask(path, review(box(size=1), whole, "UPDATE", **BOX)))["status"]["code"] == 422


async def test_any_other_error_is_internal(manager, serving, told):
    """The client learns no more than that; the log has the traceback with the request's identity, and it is counted."""
    records = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append((record, fields_of(record)))
    logging.getLogger("pykb.webhook").addHandler(handler)
    async with serving(manager) as caller:
        answer = await caller.ask(MUTATE, review(wire(image="fail")))
        assert caller.value("controller_runtime_webhook_panics_total") == 1
    logging.getLogger("pykb.webhook").removeHandler(handler)
    assert answer["status"] == {
        "status": "Failure",
        "message": "internal error",
        "reason": "InternalError",
        "code": 500,
    }
    record, fields = next(found for found in records if found[0].msg == "webhook failed")
    assert record.exc_info[0] is RuntimeError
    identity = {
        "webhook": MUTATE,
        "kind": "Machine.infra.example.com",
        "namespace": "demo",
        "name": "m",
        "operation": "CREATE",
        "user": "jane",
        "uid": "705ab4f5",
    }
    assert identity.items() <= fields.items()


async def test_values_do_not_leak_into_the_log(manager_of, serving, told):
    """Pydantic's errors repeat what they refuse; what is logged does not."""

    class Careless(Defaulter[Machine]):
        async def default(self, obj):
            try:
                obj.spec.cpu = obj.spec.image
            except ValueError as error:
                raise RuntimeError("assignment failed") from error

    manager = manager_of()
    WebhookBuilder(manager).for_(Machine).with_defaulter(Careless()).complete()
    async with serving(manager) as caller:
        answer = await caller.ask(MUTATE, review(wire(image="hunter2")))
    assert answer["status"]["code"] == 500
    assert "webhook failed" in told.text
    assert "assignment failed" in told.text
    assert "`cpu` should be a valid integer" in told.text
    assert "hunter2" not in told.text


async def test_errors_of_task_groups_count_as_what_they_hold(manager_of, serving, told):
    """A single one is what it is; of several none tells its values."""

    class Grouped(Validator[Machine]):
        async def validate_create(self, obj):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.judge(obj))
                if obj.spec.image == "geheim":
                    tasks.create_task(self.spoil(obj))

        async def judge(self, obj):
            raise Denied("no")

        async def spoil(self, obj):
            obj.spec.cpu = obj.spec.image

    manager = manager_of()
    WebhookBuilder(manager).for_(Machine).with_validator(Grouped()).complete()
    async with serving(manager) as caller:
        assert (await caller.ask(VALIDATE, review(wire())))["status"]["code"] == 403
        assert (await caller.ask(VALIDATE, review(wire(image="geheim"))))["status"]["code"] == 500
    assert "`cpu` should be a valid integer" in told.text
    assert "geheim" not in told.text


async def test_a_refusal_has_the_code_of_one():
    """The API server would make it a 400 without a word."""
    with pytest.raises(ValueError, match="from 400 to 599, got 200"):
        Denied("no", code=200)


async def test_another_kind_is_refused(manager, serving):
    """A configuration that names the wrong path is told so."""
    other = review(wire(), kind={"group": "autoscaling", "version": "v1", "kind": "Scale"})
    async with serving(manager) as caller:
        answer = await caller.ask(VALIDATE, other)
    assert answer["status"]["code"] == 400
    assert answer["status"]["message"] == (
        "this webhook is for infra.example.com/v1 Machine, but the request is about autoscaling/v1 Scale"
    )


async def test_plain_methods_run_in_threads_and_know_their_request(manager_of, serving):
    """As plain reconcilers do."""
    seen = []

    class Plain(Validator[Machine]):
        def validate_create(self, obj):
            seen.append((threading.current_thread().name, self.request.user.username, self.request.user.extra))
            return "one warning"

    manager = manager_of()
    WebhookBuilder(manager).for_(Machine).with_validator(Plain(manager.client)).complete()
    async with serving(manager) as caller:
        answer = await caller.ask(VALIDATE, review(wire()))
    assert answer["warnings"] == ["one warning"]
    ((thread, user, extra),) = seen
    assert thread.startswith("webhook-")
    assert (user, extra) == ("jane", {"scopes": ("a",)})


async def test_a_request_is_at_hand_only_while_one_is_answered():
    """A test can say which."""
    validator = MachineValidator()
    assert current_admission_request() is None
    with pytest.raises(LookupError, match="answering"):
        _ = validator.request
    request = AdmissionRequest("1", Operation.CREATE, GVK)
    with answering(request):
        assert validator.request is request
    with pytest.raises(RuntimeError, match=r"MachineValidator\(manager.client\)"):
        _ = validator.client


async def test_kinds_without_a_class_have_webhooks_too(manager_of, serving):
    """They work on untyped objects."""

    class Marks(Defaulter[Unstructured]):
        async def default(self, obj):
            obj.metadata.setdefault("labels", {})["a/b~c"] = "yes"

    manager = manager_of()
    WebhookBuilder(manager).for_(GVK).with_defaulter(Marks(), path="/mark").complete()
    async with serving(manager) as caller:
        answer = await caller.ask("/mark", review(wire()))
    assert patch_of(answer) == [{"op": "add", "path": "/metadata/labels", "value": {"a/b~c": "yes"}}]


async def test_the_raw_layer_answers_by_hand(manager_of, serving):
    """With helpers for each kind of answer, and at any time also while the manager runs."""
    manager = manager_of()

    async def judge(request):
        match request.name:
            case "fine":
                return allowed("watch out")
            case "no":
                return denied("no", code=429)
            case "broken":
                return errored("out of order", 503)
            case "forbidden":
                return errored(Forbidden(403, "Forbidden", "not you"))
            case "nothing":
                return None
            case "no JSON":
                return patching(request, {**request.object, "spec": {"at": object()}})
        return patching(request, {**request.object, "spec": {}})

    manager.webhook_server.register("/judge", judge)
    async with serving(manager) as caller:

        async def ask(name):
            return await caller.ask("/judge", review(wire(), name=name))

        assert await ask("fine") == {"uid": "705ab4f5", "allowed": True, "warnings": ["watch out"]}
        names = ("no", "broken", "forbidden", "nothing", "no JSON")
        codes = {name: (await ask(name))["status"]["code"] for name in names}
        assert codes == {"no": 429, "broken": 503, "forbidden": 403, "nothing": 500, "no JSON": 500}
        assert [op["op"] for op in patch_of(await ask("other"))] == ["remove", "remove"]
        manager.webhook_server.register("/late", judge)
        assert (await caller.ask("/late", review(wire(), name="fine")))["allowed"]


DEEP = "nested deeper than 250 levels"


class Loose(Struct, extra="allow"):
    """Anything."""

    size: int = 0


class Crate(CustomResource, group_version=V1):
    """Holds anything."""

    spec: Loose = Field(default_factory=Loose)


class CrateDefaulter(Defaulter[Crate]):
    """Sets a label."""

    async def default(self, obj: Crate) -> None:
        """By size."""
        obj.metadata.labels = {"size": str(obj.spec.size)}


class CrateValidator(Validator[Crate]):
    """Says what it saw."""

    async def validate_create(self, obj: Crate):
        """Its size."""
        return [f"new {obj.spec.size}"]

    async def validate_update(self, old: Crate, new: Crate):
        """Both sizes."""
        return [f"{old.spec.size} to {new.spec.size}"]

    async def validate_delete(self, obj: Crate):
        """Its size."""
        return [f"gone {obj.spec.size}"]


def crate_review(operation, new=None, old=None, *, kind="Crate"):
    """A review of crates. A depth stands for a value of so many levels in the spec."""
    objects = {}
    body = json.dumps(review("NEW", "OLD", operation, kind={"group": V1.group, "version": "v1", "kind": kind}))
    for mark, (depth, metadata, size) in (("NEW", new or (None, {}, 0)), ("OLD", old or (None, {}, 0))):
        wire = {"apiVersion": V1.api_version, "kind": kind, "metadata": {"name": "c", **metadata}}
        text = json.dumps({**wire, "spec": {"size": size, "x": "HERE"}})
        objects[mark] = "null" if depth is None else text.replace('"HERE"', '{"a":' * depth + "1" + "}" * depth)
    return body.replace('"NEW"', objects["NEW"]).replace('"OLD"', objects["OLD"]).encode()


@pytest.mark.parametrize("depth", [300, 960, 1100, 9000])
async def test_an_object_that_is_nested_too_deeply_is_refused_and_can_be_mended_and_deleted(
    manager_of, serving, depth, told
):
    """The refusal names the field. It is none of the webhook's failures."""
    made = manager_of()
    WebhookBuilder(made).for_(Crate).with_defaulter(CrateDefaulter()).with_validator(CrateValidator()).complete()
    validate, mutate = "/validate-infra-example-com-v1-crate", "/mutate-infra-example-com-v1-crate"
    deep, held, plain = (depth, {}, 1), (depth, {"finalizers": ["a/b"]}, 1), (1, {}, 2)
    async with serving(made) as caller:

        async def ask(path, body):
            async with caller.post(path, body) as response:
                assert response.status == 200
                answer = (await response.json())["response"]
            assert answer["uid"] == "705ab4f5"
            return answer

        for path in (validate, mutate) if depth > 1000 else (mutate,):  # a validator gets what the parser reads
            for body in (crate_review("CREATE", deep), crate_review("UPDATE", deep, plain)):
                answer = await ask(path, body)
                assert (answer["allowed"], answer["status"]["code"]) == (False, 422)
                assert DEEP in answer["status"]["message"]
                assert answer["status"]["details"]["causes"][0]["field"] == "spec.x.a"
        assert (await ask(validate, crate_review("UPDATE", plain, deep)))["warnings"] == ["1 to 2"]
        assert (await ask(validate, crate_review("UPDATE", deep, held)))["warnings"] == ["1 to 1"]
        assert (await ask(validate, crate_review("DELETE", None, deep)))["warnings"] == ["gone 1"]
        assert patch_of(await ask(mutate, crate_review("UPDATE", plain, deep)))
        freed = await ask(mutate, crate_review("UPDATE", deep, held))
        assert (freed["allowed"], patch_of(freed)) == (True, [])
        assert freed["warnings"][0].startswith("not defaulted: ")
        assert caller.value("controller_runtime_webhook_panics_total") == 0
    assert "webhook failed" not in told.text


async def test_kinds_without_a_class_are_refused_alike(manager_of, serving):
    """And requests to handlers of the raw layer, which cannot see what they allow."""
    made = manager_of()

    class Anything(Validator[Unstructured]):
        """Allows everything."""

        async def validate_update(self, old: Unstructured, new: Unstructured):
            """Says what it saw."""
            return [f"{old.data['spec']['size']} to {new.data['spec']['size']}"]

    gvk = V1.with_kind("Loose")
    WebhookBuilder(made).for_(gvk).with_validator(Anything(), path="/loose").complete()

    async def allow(_):
        return allowed()

    made.webhook_server.register("/raw", allow)
    async with serving(made) as caller:
        for path in ("/loose", "/raw"):
            for body in (
                crate_review("CREATE", (3000, {}, 1), kind="Loose"),
                crate_review("UPDATE", (1100, {}, 1), (1, {}, 1), kind="Loose"),
            ):
                async with caller.post(path, body) as response:
                    answer = (await response.json())["response"]
                assert DEEP in answer["status"]["message"]
        body = crate_review("UPDATE", (1, {}, 2), (3000, {}, 1), kind="Loose")
        async with caller.post("/loose", body) as response:
            assert (await response.json())["response"]["warnings"] == ["1 to 2"]


async def test_what_comes_from_outside_is_cut_in_answers_and_in_the_log(manager_of, told):
    """A field of megabytes is neither sent back nor logged, and what controls a terminal is an escape."""
    large = "\x1b[2J" + "x" * 1_500_000

    class Own(Validator[Machine]):
        async def validate_create(self, obj: Machine):
            raise Invalid.of(obj, [FieldError("spec.image", "is not allowed", value=obj.spec.image)] * 100)

        async def validate_update(self, old: Machine, new: Machine):
            return [new.spec.image] * 1000

    manager = manager_of()
    WebhookBuilder(manager).for_(Machine).with_validator(Own()).complete()
    obj = wire(image=large)
    reviews = [
        review(obj),
        review(obj, obj, "UPDATE"),
        review(obj, name=large, userInfo={"username": large}),
        review(obj, uid=large),
        review(obj, operation=large),
        {"apiVersion": large, "kind": large, "request": {"uid": large}},
    ]
    formatter = TextFormatter()
    for body in reviews:
        told.clear()
        answer = await manager.webhook_server.ask(VALIDATE, json.dumps(body).encode())
        assert len(answer) < 120_000
        assert b"\x1b" not in answer
        assert json.loads(answer)["response"]["uid"] in ("705ab4f5", large[:256])
        lines = "".join(formatter.format(record) for record in told.records)
        assert len(lines) < 40_000
        assert "\x1b" not in lines

"""Conversion between versions, asked by HTTPS: what is converted, kept, and told when it fails."""

import asyncio
import json
import threading

import pytest

from pykb.api import Converter, CustomResource, Field, GroupVersion, Int32, Struct, Unconvertible, carry_over
from pykb.runtime import Validator, WebhookBuilder
from pykb.webhook.steps import ADMISSION, THREADS

GROUP = "batch.example.com"


class SpecV1(Struct):
    """One text."""

    schedule: str = ""
    replicas: Int32 = 1


class SpecV2(Struct):
    """Words."""

    words: list[str] = []
    replicas: Int32 = Field(default=1, ge=0)


class SpecV3(Struct):
    """How many words."""

    count: Int32 = 0


class Status(Struct):
    """The same in all."""

    active: Int32 | None = None


class JobV1(CustomResource, group_version=GroupVersion(GROUP, "v1"), kind="Job"):
    """A spoke."""

    spec: SpecV1 = Field(default_factory=SpecV1)
    status: Status = Field(default_factory=Status)


class JobV2(CustomResource, group_version=GroupVersion(GROUP, "v2"), kind="Job"):
    """The hub."""

    spec: SpecV2 = Field(default_factory=SpecV2)
    status: Status = Field(default_factory=Status)


class JobV3(CustomResource, group_version=GroupVersion(GROUP, "v3"), kind="Job"):
    """Another spoke."""

    spec: SpecV3 = Field(default_factory=SpecV3)
    status: Status = Field(default_factory=Status)


MAY_END = threading.Event()
"""Lets slow conversions end."""


class V1Converter(Converter[JobV1, JobV2]):
    """Splits and joins; one schedule is a bug, one has no form, one gives something else."""

    def to_hub(self, spoke: JobV1) -> JobV2:
        """Words of the text."""
        match spoke.spec.schedule:
            case "@never":
                raise Unconvertible("`@never` has no words")
            case "hunter2":
                raise ValueError("a bug")
            case "wrong":
                return spoke  # type: ignore[return-value]
            case "slow":
                assert MAY_END.wait(30)
        hub = carry_over(spoke, JobV2)
        hub.spec.words = spoke.spec.schedule.split()
        return hub

    def from_hub(self, hub: JobV2) -> JobV1:
        """A text of the words."""
        spoke = carry_over(hub, JobV1)
        spoke.spec.schedule = " ".join(hub.spec.words)
        return spoke


class V3Converter(Converter[JobV3, JobV2]):
    """Loses the words but for an annotation."""

    def to_hub(self, spoke: JobV3) -> JobV2:
        """Words that were put aside."""
        hub = carry_over(spoke, JobV2)
        annotations = dict(spoke.metadata.annotations or {})
        hub.spec.words = json.loads(annotations.pop("words", "[]"))
        hub.metadata.annotations = annotations
        return hub

    def from_hub(self, hub: JobV2) -> JobV3:
        """Puts them aside."""
        spoke = JobV3(spec=SpecV3(count=len(hub.spec.words)), status=hub.status)
        spoke.metadata.annotations = {**(hub.metadata.annotations or {}), "words": json.dumps(hub.spec.words)}
        spoke.metadata.finalizers = ["not.the/converters"]
        return spoke


METADATA = {
    "name": "a",
    "namespace": "demo",
    "uid": "1",
    "creationTimestamp": None,
    "managedFields": [{"manager": "x"}],
    "labels": {"b": "c"},
    "future": [1],
}


def job(version, name="a", **spec):
    """An object of the wire, with fields that no class knows."""
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Job",
        "metadata": {**METADATA, "name": name},
        "spec": {"replicas": 2, "extra": {"x": None}, **spec},
        "status": {"active": 1, "more": 2},
    }


def review(desired, *objects):
    """A question."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "705ab4f5", "desiredAPIVersion": f"{GROUP}/{desired}", "objects": list(objects)},
    }


@pytest.fixture
def manager(manager_of):
    """With converters for two spokes."""
    made = manager_of()
    WebhookBuilder(made).for_(JobV2).with_converter(V1Converter()).with_converter(V3Converter()).complete()
    return made


async def converted(caller, desired, *objects):
    """The objects in another version."""
    answer = await caller.ask("/convert", review(desired, *objects))
    assert answer["result"] == {"status": "Success"}, answer
    return answer["convertedObjects"]


async def refusal(caller, desired, *objects):
    """Why there are none."""
    answer = await caller.ask("/convert", review(desired, *objects))
    assert "convertedObjects" not in answer
    assert answer["result"]["status"] == "Failure"
    return answer["result"]["message"]


async def test_spokes_become_the_hub_and_the_hub_spokes(manager, serving):
    """With the source's metadata to the byte, its status, and what no class knows; in the order asked for."""
    async with serving(manager) as caller:
        first, second = job("v1", "a", schedule="x y"), job("v1", "b", schedule="z")
        hubs = await converted(caller, "v2", first, second)
        assert hubs[0] == {
            "apiVersion": f"{GROUP}/v2",
            "kind": "Job",
            "metadata": METADATA,
            "spec": {"replicas": 2, "words": ["x", "y"], "extra": {"x": None}},
            "status": {"active": 1, "more": 2},
        }
        assert [hub["metadata"]["name"] for hub in hubs] == ["a", "b"]
        assert await converted(caller, "v1", *hubs) == [first, second]


async def test_a_spoke_becomes_another_through_the_hub(manager, serving):
    """Labels and annotations are the source's unless a converter sets them; the rest of metadata is never its."""
    async with serving(manager) as caller:
        (third,) = await converted(caller, "v3", job("v1", schedule="x y"))
        assert third["spec"] == {"count": 2}
        assert third["metadata"] == {**METADATA, "annotations": {"words": '["x", "y"]'}}
        (back,) = await converted(caller, "v1", third)
        assert back["spec"]["schedule"] == "x y"
        assert back["metadata"] == METADATA  # no empty annotations are left behind


async def test_what_is_in_the_version_already_is_given_back(manager, serving):
    """As it came, whatever it holds."""
    mixed = [job("v2", words=5), job("v1", schedule="x"), {**job("v2"), "kind": "Unknown"}]
    async with serving(manager) as caller:
        answer = await converted(caller, "v2", *mixed)
    assert (answer[0], answer[2]) == (mixed[0], mixed[2])
    assert answer[1]["spec"]["words"] == ["x"]


async def test_lists_are_converted_item_by_item(manager, serving):
    """And keep their own metadata."""
    listed = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "JobList",
        "metadata": {"resourceVersion": "7"},
        "items": [job("v1", "a", schedule="x"), job("v1", "b", schedule="y")],
    }
    async with serving(manager) as caller:
        (answer,) = await converted(caller, "v2", listed)
    assert (answer["apiVersion"], answer["kind"], answer["metadata"]) == (
        f"{GROUP}/v2",
        "JobList",
        {"resourceVersion": "7"},
    )
    assert [item["spec"]["words"] for item in answer["items"]] == [["x"], ["y"]]


UNFIT = (
    "cannot convert Job.batch.example.com `demo/a` from v1 to v2: the object does not fit its type: "
    "`spec.schedule` should be a valid string, found an integer"
)
FAILURES = {
    "a kind without converters": (
        "v2",
        {**job("v1"), "kind": "Other"},
        "there is no converter for Other.batch.example.com; there are converters for Job.batch.example.com",
    ),
    "a version without a converter": (
        "v2",
        job("v9"),
        "there is no converter for version v9 of Job.batch.example.com; the versions are v1, v2, v3",
    ),
    "a wanted version without one": (
        "v9",
        job("v1"),
        "there is no converter for version v9 of Job.batch.example.com; the versions are v1, v2, v3",
    ),
    "no form in the other version": (
        "v2",
        job("v1", schedule="@never"),
        "cannot convert Job.batch.example.com `demo/a` from v1 to v2: `@never` has no words",
    ),
    "an object that does not fit": (
        "v2",
        job("v1", schedule=7),
        UNFIT,
    ),
    "something else than the version": (
        "v2",
        job("v1", schedule="wrong"),
        "cannot convert Job.batch.example.com `demo/a` from v1 to v2: V1Converter.to_hub failed: internal error",
    ),
    "no object": ("v2", {"spec": {}}, "an object without `apiVersion` and `kind` cannot be converted"),
}


@pytest.mark.parametrize("case", FAILURES)
async def test_one_failure_fails_the_review_and_is_told(manager, serving, case):
    """With the object, the versions and the converter."""
    desired, broken, message = FAILURES[case]
    async with serving(manager) as caller:
        assert await refusal(caller, desired, job("v1", "fine"), broken) == message


async def test_a_bug_of_a_converter_is_counted_and_logged_without_values(manager, serving, told):
    """The client learns which object and which converter; the log has the traceback."""
    async with serving(manager) as caller:
        message = await refusal(caller, "v2", job("v1", schedule="hunter2"))
        assert message == (
            "cannot convert Job.batch.example.com `demo/a` from v1 to v2: V1Converter.to_hub failed: internal error"
        )
        assert caller.value("controller_runtime_conversion_webhook_panics_total") == 1
        assert caller.value("controller_runtime_webhook_requests_total", webhook="/convert", code="200") == 1
    assert "conversion failed" in told.text
    assert "in to_hub" in told.text
    assert "ValueError: a bug" in told.text
    assert '"hunter2"' not in told.text.replace('case "hunter2"', "")


async def test_values_that_pydantic_repeats_are_left_out_of_the_log(manager_of, serving, told):
    """A converter that builds an object which does not fit."""

    class Careless(V1Converter):
        def to_hub(self, spoke):
            return JobV2.from_wire({"spec": {"replicas": spoke.spec.schedule}})

    manager = manager_of()
    WebhookBuilder(manager).for_(JobV2).with_converter(Careless()).complete()
    async with serving(manager) as caller:
        await refusal(caller, "v2", job("v1", schedule="geheim"))
    assert "`spec.replicas` should be a valid integer, found a string" in told.text
    assert "geheim" not in told.text


class Strict(Struct):
    """All is required."""

    schedule: str
    replicas: Int32
    status: Status


class StrictJob(CustomResource, group_version=GroupVersion(GROUP, "v1"), kind="Job"):
    """A spoke that misses much."""

    spec: Strict


class StrictConverter(Converter[StrictJob, JobV2]):
    """As one writes it who thinks of whole objects."""

    def to_hub(self, spoke):
        """Words of the text."""
        hub = carry_over(spoke, JobV2)
        hub.spec.words = spoke.spec.schedule.split()
        hub.status.active = spoke.spec.status.active
        return hub

    def from_hub(self, hub):
        """A text of the words."""
        return carry_over(hub, StrictJob)


@pytest.mark.parametrize("spec", [{}, {"spec": {}}, {"spec": {"replicas": 3}}])
async def test_what_is_required_and_not_there_is_empty(manager_of, serving, spec):
    """One object that was stored before would hide all others, and a server-side apply cuts objects up."""
    manager = manager_of()
    WebhookBuilder(manager).for_(JobV2).with_converter(StrictConverter()).complete()
    head = {"apiVersion": f"{GROUP}/v1", "kind": "Job", "metadata": METADATA}
    async with serving(manager) as caller:
        (made,) = await converted(caller, "v2", {**head, **spec})
        assert made["spec"] == {"words": [], "replicas": spec.get("spec", {}).get("replicas", 0)}
        message = await refusal(caller, "v2", {**head, "spec": {"schedule": 7}})
        assert "`spec.schedule` should be a valid string" in message


HEAD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
NO_REVIEWS = {
    "no JSON": b"{",
    "no object": b"[]",
    "no review": b"{}",
    "no request": json.dumps(HEAD).encode(),
    "no objects": json.dumps({**HEAD, "request": {"uid": "1", "desiredAPIVersion": "a/v1"}}).encode(),
    "objects that are none": json.dumps(
        {**HEAD, "request": {"uid": "1", "desiredAPIVersion": "a/v1", "objects": 5}}
    ).encode(),
    "an older version": json.dumps(review("v2") | {"apiVersion": "apiextensions.k8s.io/v1beta1"}).encode(),
}


@pytest.mark.parametrize("case", NO_REVIEWS)
async def test_what_is_no_review_is_refused(manager, serving, case):
    """By 400."""
    async with serving(manager) as caller, caller.post("/convert", NO_REVIEWS[case]) as response:
        assert response.status == 400
        assert "expected a `ConversionReview` of apiextensions.k8s.io/v1" in await response.text()


async def test_conversion_holds_nothing_else_up(manager, serving):
    """It runs in a thread; and what takes longer than the API server waits is given up."""
    async with serving(manager) as caller:
        MAY_END.clear()
        asked = asyncio.create_task(converted(caller, "v2", job("v1", schedule="slow")))
        for _ in range(6):
            await asyncio.sleep(0.01)
        assert not asked.done()
        MAY_END.set()
        await asked
        MAY_END.clear()
        async with caller.post("/convert?timeout=10ms", review("v2", job("v1", schedule="slow"))) as response:
            assert response.status == 504
        MAY_END.set()


class Asking(Validator[JobV2]):
    """Waits for what has to be converted first."""

    def __init__(self):
        """With what is waited for."""
        super().__init__()
        self.asked = threading.Semaphore(0)
        self.converted = threading.Event()

    def validate_create(self, obj):
        """In a thread."""
        self.asked.release()
        self.converted.wait(30)


async def test_validators_that_wait_for_a_conversion_do_not_hold_it_up(manager, serving):
    """All threads of plain functions may be taken by such."""
    asking = Asking()
    WebhookBuilder(manager).for_(JobV2).with_validator(asking, path="/validate").complete()
    request = {"uid": "1", "operation": "CREATE", "object": job("v2")}
    request["kind"] = {"group": GROUP, "version": "v2", "kind": "Job"}
    question = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    async with serving(manager) as caller:
        waiting = [asyncio.create_task(caller.ask("/validate", question)) for _ in range(THREADS[ADMISSION])]
        try:
            for _ in waiting:
                await asyncio.to_thread(asking.asked.acquire)
            async with asyncio.timeout(60):
                await converted(caller, "v2", job("v1"))
        finally:
            asking.converted.set()
        assert all(answer["allowed"] for answer in await asyncio.gather(*waiting))


def test_a_converter_works_without_a_server():
    """It is two plain functions."""
    hub = V1Converter().to_hub(JobV1.from_wire(job("v1", schedule="a b")))
    assert hub.spec.words == ["a", "b"]
    assert V1Converter().from_hub(hub).to_wire() == job("v1", schedule="a b") | {
        "metadata": {key: value for key, value in METADATA.items() if value is not None}
    }


class LooseSpec(Struct, extra="allow"):
    """Anything."""


class LooseV1(CustomResource, group_version=GroupVersion(GROUP, "v1"), kind="Loose"):
    """A spoke."""

    spec: LooseSpec = Field(default_factory=LooseSpec)


class LooseV2(CustomResource, group_version=GroupVersion(GROUP, "v2"), kind="Loose"):
    """The hub, which has everything two levels deeper."""

    spec: LooseSpec = Field(default_factory=LooseSpec)


class LooseConverter(Converter[LooseV1, LooseV2]):
    """Moves what it does not know."""

    def to_hub(self, spoke: LooseV1) -> LooseV2:
        """Down."""
        return LooseV2(spec=LooseSpec.model_validate({"was": {"in": spoke.spec.to_wire()}}))

    def from_hub(self, hub: LooseV2) -> LooseV1:
        """Up."""
        return LooseV1(spec=LooseSpec.model_validate(hub.spec.to_wire()["was"]["in"]))


@pytest.mark.parametrize("depth", [197, 250, 340, 900, 1100, 9000])
async def test_objects_that_are_nested_deeply_are_converted(manager_of, serving, depth):
    """Else the API server could list none of their kind. What the parser does not read comes back as it was."""
    made = manager_of()
    WebhookBuilder(made).for_(LooseV2).with_converter(LooseConverter()).complete()
    deep = '{"a":' * depth + r'"\"}]"' + "}" * depth
    plain = {"apiVersion": LooseV1.gvk.api_version, "kind": "Loose", "metadata": METADATA, "spec": {"x": 1}}
    review = {"uid": "u", "desiredAPIVersion": LooseV2.gvk.api_version, "objects": [plain, {**plain, "spec": {"x": 2}}]}
    asked = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": review}
    body = json.dumps(asked).replace('"x": 2', f'"x": {deep}')
    async with serving(made) as caller, caller.post("/convert", body.encode()) as response:
        assert response.status == 200
        answer = await response.text()
    assert answer.count(deep) == 1
    converted = json.loads(answer.replace(deep, "2"))["response"]
    assert converted["result"] == {"status": "Success"}
    assert [made["spec"] for made in converted["convertedObjects"]] == [{"was": {"in": {"x": n}}} for n in (1, 2)]


async def test_a_body_that_is_not_json_is_refused(manager_of, serving):
    """Whether it ends early or has bytes that are not a text."""
    made = manager_of()
    WebhookBuilder(made).for_(LooseV2).with_converter(LooseConverter()).complete()
    async with serving(made) as caller:
        for body in (b"", b"\xff", b"[]", b"{" * 3000, b'{"a":"\xff"}'):
            async with caller.post("/convert", body) as response:
                assert response.status == 400
                assert "ConversionReview" in await response.text()

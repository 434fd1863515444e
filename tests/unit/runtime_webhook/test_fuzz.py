"""Reviews of any shape: anybody who reaches the port can send one. Each gets an answer, none an exception."""

import copy
import json
import os
import random
import socket

import pytest

from pykb.api import Converter, CustomResource, Field, carry_over
from pykb.dev.page._events import FROM_MANAGER, read_event
from pykb.runtime import Defaulter, Validator
from pykb.runtime._metrics import Metrics
from pykb.runtime._stream import RecordStream
from pykb.runtime.records._webhooks import WebhookRecorder
from pykb.runtime.records.context import Ledger
from pykb.serving import HttpRequest
from pykb.webhook._admission import AdmissionEndpoint
from pykb.webhook.builder import DefaulterHandler, ValidatorHandler
from pykb.webhook.conversion import Conversions

from .conftest import V2, Machine, MachineSpec, review, wire  # noqa: TID252 - shared by this folder only

CASES = max(200, int(os.environ.get("PYKB_FUZZ_CASES", "2000")) // 5)
ODD = (None, True, 0, -1, 1e308, 2**63, "", "x", "\0", "a/b/c", [], {}, [1], [[]], [None], {"": None}, {"a": {"b": []}})


class Grown(CustomResource, group_version=V2, kind="Machine"):
    """The same kind in another version."""

    spec: MachineSpec = Field(default_factory=MachineSpec)


class Growing(Converter[Grown, Machine]):
    """Between the two."""

    def to_hub(self, spoke: Grown) -> Machine:
        """Everything."""
        return carry_over(spoke, Machine)

    def from_hub(self, hub: Machine) -> Grown:
        """Everything."""
        return carry_over(hub, Grown)


class Filling(Defaulter[Machine]):
    """Changes something."""

    async def default(self, obj: Machine) -> None:
        """An image."""
        obj.spec.image = obj.spec.image or "debian"


class Judging(Validator[Machine]):
    """Looks at everything."""

    async def validate_create(self, obj: Machine) -> None:
        """Nothing against it."""

    async def validate_update(self, old: Machine, new: Machine) -> None:
        """Nothing against it."""

    async def validate_delete(self, obj: Machine) -> None:
        """Nothing against it."""


def places(value, path=()):
    """The paths of all values within a value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from places(below, (*path, key))


def bent(chance: random.Random, document):
    """A copy in which a few values are others, gone, or deeper than any review."""
    made = copy.deepcopy(document)
    for _ in range(chance.randint(1, 3)):
        path = chance.choice([path for path in places(made) if path])
        around = made
        for key in path[:-1]:
            around = around[key]
        if isinstance(around, dict) and chance.random() < 0.2:
            del around[path[-1]]
        else:
            around[path[-1]] = copy.deepcopy(chance.choice(ODD))
    return made


@pytest.fixture
def listened():
    """Answers a request while the page of `pykb dev` listens, and checks that it understands the record."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        recorder = WebhookRecorder([RecordStream(ours)], Ledger())

        async def answered(endpoint, request):
            answer = await recorder.recorded(endpoint.type, request, endpoint.answer)
            assert read_event(theirs.recv(2**20), FROM_MANAGER)[0] == "webhook"
            return answer

        yield answered


async def test_every_admission_review_is_answered(listened):
    """With what is wrong: 400 where it is no review, a verdict otherwise, and never `internal error`."""
    metrics = Metrics()
    handlers = (DefaulterHandler(Machine.gvk, Filling()), ValidatorHandler(Machine.gvk, Judging()))
    endpoints = [AdmissionEndpoint("/x", handler, metrics) for handler in handlers]
    chance = random.Random(7)
    for _ in range(CASES):
        disk = {"name": "a", "size": "1Gi"}
        question = review(wire(cpu=1, disks=[disk]), wire(zones=["b"]), chance.choice(["CREATE", "UPDATE", "DELETE"]))
        body = json.dumps(bent(chance, question)).encode()
        for endpoint in endpoints:
            answer = await listened(endpoint, HttpRequest("POST", "/x", content=body))
            said = json.loads(answer.body)["response"]
            assert answer.status in {200, 400}, body
            assert said.get("status", {}).get("code") != 500, (body, said)


async def test_every_conversion_review_is_answered(listened):
    """With a refusal, where it cannot be done; what is no review is a 400."""
    conversions = Conversions(Metrics())
    conversions.add(Growing())
    chance = random.Random(7)
    for _ in range(CASES):
        listed = {"apiVersion": Grown.gvk.api_version, "kind": "MachineList", "items": [{**wire(cpu=1)}]}
        question = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "request": {"uid": "u", "desiredAPIVersion": V2.api_version, "objects": [wire(cpu=2), listed]},
        }
        body = json.dumps(bent(chance, question)).encode()
        answer = await listened(conversions, HttpRequest("POST", "/convert", content=body))
        assert answer.status in {200, 400}, body

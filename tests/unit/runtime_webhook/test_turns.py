"""How many reviews are answered at once: their memory is estimated, and those that do not fit together take turns."""

import asyncio
import itertools
import json
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta

import pytest

from pykb.runtime import VirtualClock
from pykb.runtime.webhook import allowed
from pykb.serving import HttpError
from pykb.testing import eventually
from pykb.webhook.server import LARGEST, TOGETHER, WAITING, Turns, memory_of

from .conftest import review, wire  # noqa: TID252 - shared by this folder only


class Rig:
    """Requests that are begun, and answered when the test says so."""

    def __init__(self):
        self.clock = VirtualClock()
        self.cpu = 0.0
        self.turns = Turns(self.clock, lambda: self.cpu)
        self.begun: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._ends: dict[str, asyncio.Event] = {}

    async def _answer(self, name, content):
        async with self.turns.taken(content):
            self.begun.append(name)
            await self._ends[name].wait()

    async def ask(self, name, content):
        """Send one."""
        self._ends[name] = asyncio.Event()
        task = asyncio.create_task(self._answer(name, content))
        self.tasks.append(task)
        await asyncio.sleep(0)
        return task

    def end(self, name):
        """Answer it."""
        self._ends[name].set()


def body(share):
    """A body that takes a part of what fits together."""
    size = int(TOGETHER * share / memory_of(b"{"))
    made = b"{" * size
    assert memory_of(made) == pytest.approx(TOGETHER * share, rel=0.01)
    return made


@pytest.fixture
async def rig():
    """A rig that leaves no task behind."""
    made = Rig()
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


async def test_a_run_of_the_event_loop_answers_some_reviews_and_then_looks_for_other_work(rig):
    """Reviews that are answered without waiting fit one after another, however many there are: a probe would wait."""
    answered, between = 0, []

    async def answer():
        nonlocal answered
        async with rig.turns.taken(body(0.1)):
            answered += 1

    async def look():
        while answered < 50:
            between.append(answered)
            await asyncio.sleep(0)

    await asyncio.gather(look(), *(answer() for _ in range(50)))
    steps = [after - before for before, after in itertools.pairwise([*between, answered])]
    assert max(steps) == 2  # of 3.2 MiB each, in 8 MiB
    assert len(between) <= 30


async def test_reviews_that_fit_into_memory_together_are_answered_at_once(rig):
    """However many there are. Larger ones leave room for smaller ones."""
    for name in ("a", "b", "c"):
        await rig.ask(name, body(0.25))
    await rig.ask("late", body(0.25))
    await rig.ask("small", body(0.01))
    await rig.ask("later", body(0.25))
    assert rig.begun == ["a", "b", "c", "late", "small"]  # the late one did not fit, so the later one waits for its end


async def test_reviews_that_do_not_fit_together_are_answered_one_after_another(rig):
    """In the order in which they came, with a pause as long as the one before kept the process busy."""
    first = await rig.ask("first", body(0.6))
    await rig.ask("second", body(0.6))
    await rig.ask("third", body(2.9))
    await rig.ask("small", body(0.01))
    assert rig.begun == ["first", "small"]
    rig.cpu += 0.5
    rig.end("first")
    await first
    await asyncio.sleep(0)
    assert rig.begun == ["first", "small"]
    rig.clock.advance(timedelta(seconds=0.5))
    await eventually(lambda: rig.begun == ["first", "small", "second"])
    rig.end("second")
    await eventually(lambda: rig.begun == ["first", "small", "second", "third"])


async def test_a_review_that_takes_too_much_memory_is_refused(rig):
    """Before it is read: 6 MB of brackets, for example, however deep they are nested."""
    for content in (b"[" * 6_000_000, b"{}," * 60_000 + b'"",' * 200_000):
        assert memory_of(content) > LARGEST
        with pytest.raises(HttpError) as refused:
            await (await rig.ask("large", content))
        assert refused.value.status == 413
    assert rig.begun == []


async def test_those_that_wait_are_bounded_and_others_are_asked_to_come_back(rig):
    """By their bytes. Who waits no longer makes room."""
    text = b" " * (WAITING // 2 - 1)
    await rig.ask("running", text)
    waiting = await rig.ask("waiting", text)
    with pytest.raises(HttpError) as refused:
        await (await rig.ask("too many", b" " * (WAITING // 2)))
    assert (refused.value.status, refused.value.response.headers) == (503, {"Retry-After": "1"})
    assert rig.begun == ["running"]
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    await rig.ask("next", text)
    rig.end("running")
    await eventually(lambda: rig.begun == ["running", "next"])


MEASURE = """
import asyncio, json, os, sys
from pykb.api import CustomResource, Field, GroupVersion, Quantity, Struct
from pykb.runtime import Defaulter
from pykb.runtime import Defaulter
from pykb.runtime._metrics import Metrics
from pykb.serving import HttpRequest
from pykb.webhook._admission import AdmissionEndpoint
from pykb.webhook.server import memory_of
from pykb.webhook.builder import DefaulterHandler

class Disk(Struct):
    name: str = ""
    size: Quantity | None = None

class MachineSpec(Struct):
    disks: list[Disk] = []
    zones: list[str] = []

class Machine(CustomResource, group_version=GroupVersion("infra.example.com", "v1")):
    spec: MachineSpec = Field(default_factory=MachineSpec)

class Nothing(Defaulter[Machine]):
    async def default(self, obj):
        pass

SHAPES = {
    "typed objects": {"disks": [{"name": "disk-number-1", "size": "10Gi"}] * 20_000},
    "empty typed objects": {"disks": [{}] * 40_000},
    "typed texts": {"zones": ["zone-a"] * 200_000},
    "empty objects": {"unknown": [{}] * 100_000},
    "empty lists": {"unknown": [[]] * 100_000},
    "small objects": {"unknown": [{"a": 1}] * 60_000},
    "short texts": {"unknown": ["\u00e9"] * 200_000},
    "keys": {"unknown": {f"{number:x}": 1 for number in range(100_000)}},
    "digits": {"unknown": [1] * 500_000},
    "fractions": {"unknown": [1.5] * 250_000},
    "long text": {"unknown": "x" * 4_000_000},
}

def content_of(spec):
    kind = {"group": "infra.example.com", "version": "v1", "kind": "Machine"}
    obj = {"apiVersion": "infra.example.com/v1", "kind": "Machine", "metadata": {"name": "m"}, "spec": spec}
    request = {"uid": "1", "kind": kind, "operation": "CREATE", "name": "m", "object": obj}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review, separators=(",", ":"), ensure_ascii=False).encode()

def used(what):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(what)) * 1024

async def answer(content):
    endpoint = AdmissionEndpoint("/x", DefaulterHandler(Machine.gvk, Nothing()), Metrics())
    answer = await endpoint.answer(HttpRequest("POST", "/x", content=content))
    assert b'"allowed":true' in answer.body, answer.body

asyncio.run(answer(content_of({})))
for name, spec in SHAPES.items():
    content = content_of(spec)
    if os.fork() == 0:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = used("VmRSS")
        asyncio.run(answer(content))
        print(json.dumps([name, used("VmHWM") - before, memory_of(content), len(content)]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_a_review_takes_no_more_memory_than_was_estimated():
    """By the one that takes most, a defaulter of a typed object. The estimate is not far too large either."""
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 11
    above = [(name, took, estimate) for name, took, estimate, _ in found if took > estimate + 4 * 1024 * 1024]
    assert above == []


async def test_a_server_that_has_no_room_says_when_to_come_back(manager_of, serving, monkeypatch):
    """By the header that the API server heeds, and it is counted."""
    monkeypatch.setattr("pykb.webhook.server.WAITING", 1)
    manager, may_end, arrived = manager_of(), asyncio.Event(), []

    async def judge(request):
        if request.name == "large":
            arrived.append(request)
            await may_end.wait()
        return allowed()

    manager.webhook_server.register("/judge", judge)
    large = review(wire(unknown=[{"a": 1}] * 20_000), name="large")
    name = "controller_runtime_webhook_requests_in_flight"
    async with serving(manager) as caller:
        running = asyncio.create_task(caller.ask("/judge", large))
        await eventually(lambda: bool(arrived))
        waiting = asyncio.create_task(caller.ask("/judge", large))
        await eventually(lambda: caller.value(name, webhook="/judge") == 2)
        async with caller.post("/judge", large) as response:
            assert (response.status, response.headers["Retry-After"]) == (503, "1")
        assert (await caller.ask("/judge", review(wire())))["allowed"]
        may_end.set()
        assert [answer["allowed"] for answer in await asyncio.gather(running, waiting)] == [True, True]
        async with caller.post("/judge", b"[" * (LARGEST // 700)) as response:
            assert response.status == 413
        name = "controller_runtime_webhook_requests_total"
        counts = [caller.value(name, webhook="/judge", code=code) for code in ("200", "503", "413")]
    assert counts == [3, 1, 1]

"""Hot loops are found, and nothing else is taken for one."""

import asyncio
import logging
from contextvars import Context
from datetime import UTC, datetime, timedelta

import pytest

from pykb.api.apps.v1 import Deployment, DeploymentSpec
from pykb.api.core.v1 import ConfigMap, Container, EnvVar, PodSpec, PodTemplateSpec, Secret
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.runtime import (
    Client,
    ClientOptions,
    ControllerBuilder,
    Manager,
    MergePatch,
    Reconciler,
    Request,
    Result,
    VirtualClock,
    set_controller_reference,
)
from pykb.runtime._lasting import SILENCE
from pykb.runtime.fake import fake_client
from pykb.runtime.records.recording import PERIOD, STEPS, SUSPICIOUS, HotLoops
from pykb.testing import eventually, running

ENOUGH = 3 * STEPS
"""Reconciles in which every loop is found."""


def config_map(name="a", **data):
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


class Counting(Reconciler):
    """Calls a function until it was called often enough."""

    def __init__(self, client, work, most=ENOUGH):
        super().__init__(client)
        self.work, self.most, self.count = work, most, 0

    async def reconcile(self, request: Request) -> Result | None:
        """Call it."""
        self.count += 1
        return await self.work(self.client, request, self.count) if self.count <= self.most else None


class Rig:
    """A manager with one controller on a virtual clock."""

    def __init__(self, client, work, most=ENOUGH, **options):
        self.client, self.clock = client, VirtualClock()
        self.manager = Manager(client=client, clock=self.clock)
        self.reconciler = Counting(self.manager.client, work, most)
        self.builder = ControllerBuilder(self.manager).named("looping").for_(ConfigMap)

    def start(self):
        self.controller = self.builder.complete(self.reconciler)
        return running(self.manager)

    async def until(self, count):
        await eventually(lambda: self.reconciler.count >= count)

    @property
    def loops(self):
        return self.manager.metrics.registry.get_sample_value("pykb_reconcile_loops_total", {"controller": "looping"})


def reported(caplog):
    """The fields of the reports."""
    return [
        {name: getattr(record, name) for name in ("object", "field", "before", "after", "times")}
        for record in caplog.records
        if record.getMessage().startswith("hot loop")
    ]


async def moves_time(client, request, count):
    """The most common loop."""
    found = await client.get(ConfigMap, request)
    found.data = {"lastTransitionTime": datetime.now(UTC).isoformat(), "kept": "x"}
    await client.update(found)


async def flips_list(client, request, count):
    """A set, say, whose order is another one each time."""
    found = await client.get(ConfigMap, request)
    order = ["b", "a"] if (found.metadata.finalizers or [""])[0] == "example.com/a" else ["a", "b"]
    await client.patch(found, MergePatch({"metadata": {"finalizers": [f"example.com/{each}" for each in order]}}))


async def test_a_time_that_always_moves_is_reported_once_with_its_values(caplog):
    """Once in an hour for an object, and counted on while it lasts."""
    rig = Rig(fake_client(config_map()), moves_time, 10_000)
    async with rig.start():
        await eventually(lambda: (rig.loops or 0) >= 2)
        (found,) = reported(caplog)
        assert (found["object"], found["field"], found["times"]) == (
            "ConfigMap default/a",
            "data.lastTransitionTime",
            STEPS,
        )
        assert found["before"] < found["after"]
        rig.clock.advance(SILENCE)
        await eventually(lambda: len(reported(caplog)) == 2)


async def test_a_list_that_changes_its_order_is_reported_as_a_whole(caplog):
    """Both orders are shown."""
    rig = Rig(fake_client(config_map()), flips_list)
    async with rig.start():
        await rig.until(ENOUGH)
    (found,) = reported(caplog)
    assert found["field"] == "metadata.finalizers"
    assert {found["before"], found["after"]} == {
        '["example.com/a","example.com/b"]',
        '["example.com/b","example.com/a"]',
    }


async def test_a_loop_whose_reconciles_fail_is_one_too(caplog):
    """The write wakes it before the retry is due."""

    async def fail(client, request, count):
        await moves_time(client, request, count)
        raise RuntimeError("and then it fails")

    rig = Rig(fake_client(config_map()), fail)
    async with rig.start():
        await rig.until(ENOUGH)
    assert len(reported(caplog)) == 1


async def test_the_log_has_no_value_of_a_secret(caplog):
    """Not even of one that moves."""
    client = fake_client(config_map())

    async def rotate(client, request, count):
        found = await client.find(Secret, "default/s")
        secret = Secret(metadata=ObjectMeta(name="s", namespace="default"), string_data={"key": f"hunter{count}"})
        if found is None:
            await client.create(secret)
        else:
            await client.patch(found, MergePatch({"stringData": {"key": f"hunter{count}"}}))

    rig = Rig(client, rotate)
    rig.builder.watches(Secret, lambda _: [Request("default", "a")])
    async with rig.start():
        await rig.until(ENOUGH)
    (found,) = reported(caplog)
    assert (found["field"], found["before"], found["after"]) == ("data.key", '"***"', '"***"')
    assert "hunter" not in caplog.text


async def test_a_child_whose_controller_answers_is_one_too(caplog):
    """The Deployment's controller writes its status after each change. That is not a reason to change it again."""
    client = fake_client(config_map())
    other = Client(client.connection, mapper=client.mapper, options=ClientOptions(field_manager="kcm"))

    async def work(client, request, count):
        found = await client.find(Deployment, request)
        if found is None:
            labels = {"app": "a"}
            env = [EnvVar(name=name) for name in "ab"]
            spec = PodSpec(containers=[Container(name="c", image="i", env=env)])
            found = Deployment(
                metadata=ObjectMeta(name=request.name, namespace=request.namespace),
                spec=DeploymentSpec(
                    selector=LabelSelector(match_labels=labels),
                    template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=spec),
                ),
            )
            set_controller_reference(await client.get(ConfigMap, request), found)
            await client.create(found)
        else:
            found.spec.template.spec.containers[0].env.reverse()
            await client.update(found)
        answers.append(asyncio.create_task(answer(request, count), context=Context()))  # as another program

    async def answer(request, count):
        status = {"status": {"observedGeneration": count}}
        await other.status.patch(await other.get(Deployment, request), MergePatch(status))

    answers = []
    rig = Rig(client, work, 10_000)
    rig.builder.owns(Deployment)
    async with rig.start():
        await eventually(lambda: len(reported(caplog)) == 1)
    (found,) = reported(caplog)
    assert (found["object"], found["field"]) == ("Deployment default/a", "spec.template.spec.containers[0].env")


# -- what is not a loop


async def settles(client, request, count):
    """Write a result once, after each change."""
    found = await client.get(ConfigMap, request)
    if found.data.get("seen") != found.data.get("wanted"):
        found.data["seen"] = found.data["wanted"]
        await client.update(found)


async def test_a_write_that_settles_is_silent(caplog):
    """Two reconciles for each change of somebody else: the change, and the own write."""
    client = fake_client(config_map(wanted="0"))
    rig = Rig(client, settles, 10_000)
    async with rig.start():
        for wanted in range(1, ENOUGH):
            await client.patch(config_map(), MergePatch({"data": {"wanted": str(wanted)}}))
            await eventually(lambda wanted=wanted: seen(client, wanted))
        assert not rig.controller.recorder._loops.suspects
    assert (reported(caplog), rig.loops) == ([], 0)


async def seen(client, wanted):
    """Whether the result is written."""
    assert (await client.get(ConfigMap, "default/a")).data["seen"] == str(wanted)


async def test_a_poll_that_always_writes_is_silent(caplog):
    """It has a pause of its own choice. Its own event finds nothing to do."""
    polls = []

    async def poll(client, request, count):
        if not polls or rig.clock.now() - polls[-1] >= 10:
            polls.append(rig.clock.now())
            await moves_time(client, request, count)
        return Result(requeue_after=timedelta(seconds=10))

    rig = Rig(fake_client(config_map()), poll, 10_000)
    async with rig.start():
        for number in range(ENOUGH):
            await rig.until(2 * number + 2)
            rig.clock.advance(timedelta(seconds=10))
        await rig.until(2 * ENOUGH)
    assert (reported(caplog), rig.loops) == ([], 0)


async def test_a_delay_of_the_own_choice_is_silent_even_without_a_settled_reconcile(caplog):
    """Each write is followed by a pause: nothing but the clock wakes it."""

    async def poll(client, request, count):
        found = await client.get(ConfigMap, "default/log")
        found.data = {"count": str(count)}
        await client.update(found)
        return Result(requeue_after=timedelta(seconds=1))

    rig = Rig(fake_client(config_map(), config_map("log")), poll, 10_000)
    rig.builder.with_event_filter(lambda event: event.name == "a")
    async with rig.start():
        for number in range(ENOUGH):
            await rig.until(number + 1)
            await asyncio.sleep(0)
            rig.clock.advance(timedelta(seconds=1))
        await rig.until(ENOUGH)
        assert rig.controller.recorder._loops.suspects
    assert (reported(caplog), rig.loops) == ([], 0)


async def test_work_in_steps_is_silent(caplog):
    """A child for each reconcile, and a phase after the other."""

    async def step(client, request, count):
        if count <= ENOUGH - 10:
            await client.create(config_map(f"child-{count}"))
        else:
            await client.patch(config_map(), MergePatch({"data": {"phase": str(count)}}))

    rig = Rig(fake_client(config_map()), step)
    rig.builder = (
        ControllerBuilder(rig.manager).named("looping").watches(ConfigMap, lambda _: [Request("default", "a")])
    )
    async with rig.start():
        await rig.until(ENOUGH)
    assert (reported(caplog), rig.loops) == ([], 0)


async def test_steps_that_wait_for_a_childs_controller_are_silent(caplog):
    """A rollout, one replica after the other, by a reconciler that applies everything each time."""
    client = fake_client(config_map(), config_map("child", size="0", ready="0"))
    other = Client(client.connection, mapper=client.mapper, options=ClientOptions(field_manager="kcm"))

    async def work(client, request, count):
        child = await client.get(ConfigMap, "default/child")
        size = int(child.data["size"]) + (child.data["size"] == child.metadata.annotations.get("ready"))
        await client.patch(child, MergePatch({"data": {"size": str(size)}}))  # often without an effect

    async def answer():
        child = await other.get(ConfigMap, "default/child")
        await other.patch(child, MergePatch({"metadata": {"annotations": {"ready": child.data["size"]}}}))
        return int(child.data["size"])

    owner = await client.get(ConfigMap, "default/a")
    child = await client.get(ConfigMap, "default/child")
    child.metadata.annotations = {"ready": "0"}
    set_controller_reference(owner, child)
    await client.update(child)
    rig = Rig(client, work, 10_000)
    rig.builder = (
        ControllerBuilder(rig.manager).named("looping").watches(ConfigMap, lambda _: [Request("default", "a")])
    )
    async with rig.start():
        for size in range(1, ENOUGH):
            await eventually(lambda size=size: sized(client, size))
            await eventually(lambda: not rig.controller.queue._entries and not rig.controller.queue._processing)
            assert await answer() == size
        assert rig.controller.recorder._loops.suspects
    assert (reported(caplog), rig.loops) == ([], 0)


async def sized(client, size):
    """Whether the child has this size."""
    assert (await client.get(ConfigMap, "default/child")).data["size"] == str(size)


async def test_somebody_elses_version_does_not_become_ours_by_a_write_without_effect(caplog):
    """The answer to such a write has the version that somebody else made a moment before."""
    client = fake_client(config_map(kept="x"))
    other = Client(client.connection, mapper=client.mapper, options=ClientOptions(field_manager="somebody"))

    async def work(client, request, count):
        change = other.patch(config_map(), MergePatch({"data": {"count": str(count)}}))
        await asyncio.create_task(change, context=Context())  # as another program
        await client.patch(config_map(), MergePatch({"data": {"kept": "x"}}))

    rig = Rig(client, work)
    async with rig.start():
        await rig.until(ENOUGH)
    assert (reported(caplog), rig.loops) == ([], 0)


async def test_two_programs_that_fight_are_not_an_own_loop(caplog):
    """Each is woken by the other's change. Both know who it was."""
    client = fake_client(config_map(owner="nobody"))

    def wants(name):
        async def work(client, request, count):
            found = await client.get(ConfigMap, request)
            if found.data["owner"] != name:
                await client.patch(found, MergePatch({"data": {"owner": name}}))

        return work

    other = Client(client.connection, mapper=client.mapper, options=ClientOptions(field_manager="other"))
    rigs = [Rig(client, wants("one")), Rig(other, wants("two"))]
    async with rigs[0].start(), rigs[1].start():
        for rig in rigs:
            await rig.until(ENOUGH)
    assert reported(caplog) == []
    assert [rig.loops for rig in rigs] == [0, 0]


async def test_two_controllers_of_one_program_that_fight_are_not_reported(caplog):
    """Each is woken by the other's write, which its causes say."""
    client = fake_client(config_map())
    rig = Rig(client, moves_time, 0)

    def wants(name):
        async def work(client, request, count):
            found = await client.get(ConfigMap, request)
            if (found.data or {}).get("owner") != name:
                await client.patch(found, MergePatch({"data": {"owner": name}}))

        return work

    fighters = [Counting(rig.manager.client, wants(name)) for name in ("one", "two")]
    for name, fighter in zip(("one", "two"), fighters, strict=True):
        ControllerBuilder(rig.manager).named(name).for_(ConfigMap).complete(fighter)
    async with rig.start():
        await eventually(lambda: all(each.count >= ENOUGH for each in fighters))
    assert reported(caplog) == []


def test_nothing_is_kept_of_objects_that_rest():
    """Neither of those that settled, nor of those that were not written any more, be they suspects or not."""
    clock, watching = VirtualClock(), []
    loops = HotLoops(clock, watching.append, lambda: None)
    for name in range(1000):
        for _ in range(name % (SUSPICIOUS + 2)):
            loops.wrote(name)
    assert (len(loops._young), len(loops.suspects)) == (572, 285)
    for name in range(500):
        loops.settled(name)
    assert (len(loops._young), len(loops.suspects)) == (286, 143)
    clock.advance(PERIOD)
    loops.wrote(999)
    clock.advance(PERIOD)
    assert set(loops.suspects) == {999}
    assert not loops._old
    clock.advance(PERIOD)
    assert not loops.suspects
    assert not loops._young
    assert not loops._old
    assert not clock.pending
    assert watching[-2:] == [True, False]


async def test_a_manager_at_work_notes_no_event_without_suspects_and_listeners():
    """What costs time is switched off."""
    client = fake_client(config_map(wanted="0"))
    rig = Rig(client, settles, 10_000)
    async with rig.start():
        await client.patch(config_map(), MergePatch({"data": {"wanted": "1"}}))
        await eventually(lambda: seen(client, 1))
        assert rig.controller.queue.tracker is None


@pytest.fixture(autouse=True)
def _only_warnings(caplog):
    caplog.set_level(logging.WARNING)

"""Whom an event wakes, and with which priority."""

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest

from pykb.api.unreadable import FieldProblem, UnreadableObject
from pykb.client.clock import VirtualClock
from pykb.meta.gvk import GroupKind, NamespacedName
from pykb.runtime.cache.event import Event, EventType, Where
from pykb.runtime.controller._handler import (
    EnqueueRequestForObject,
    EnqueueRequestForOwner,
    EnqueueRequestsFromMap,
    FuncHandler,
)
from pykb.runtime.controller._source import Channel, ChannelSource, Dispatcher, FuncSource
from pykb.runtime.requests.queue import LOW_PRIORITY, WorkQueue
from pykb.runtime.requests.reconcile import Request

from .conftest import WIDGET, turn, widget  # noqa: TID252 - shared by this folder only


def created(raw, **options):
    """A creation."""
    return Event(EventType.CREATE, raw, parse=lambda r: r, **options)


def updated(old, new):
    """An update."""
    version = old["metadata"]["resourceVersion"]
    return Event(EventType.UPDATE, new, parse=lambda r: r, load_old=lambda: old, old_resource_version=version)


def woken(handler, event):
    """What a handler puts on a queue, with priorities."""
    queue = WorkQueue(clock=VirtualClock())
    assert handler.handle(event, queue) is None
    return {str(key): entry.priority for key, entry in queue._entries.items()}


def owned(name, *references, version="1"):
    """An object with owners: (api version, kind, name, controller)."""
    return widget(
        name,
        version,
        metadata={
            "ownerReferences": [
                {"apiVersion": api, "kind": kind, "name": owner, "uid": owner, "controller": controller}
                for api, kind, owner, controller in references
            ]
        },
    )


@pytest.mark.parametrize(
    ("event", "priority"),
    [
        (created(widget("a")), 0),
        (created(widget("a"), initial=True), LOW_PRIORITY),
        (updated(widget("a", "1"), widget("a", "2")), 0),
        (updated(widget("a", "2"), widget("a", "2")), LOW_PRIORITY),
    ],
)
def test_the_object_itself_is_woken_with_low_priority_when_nobody_waits(event, priority):
    """The first list and what changed nothing give way to real changes."""
    assert woken(EnqueueRequestForObject(), event) == {"default/a": priority}


def test_the_controlling_owner_is_woken_whatever_its_version():
    """Group and kind must fit; the version an owner was written in need not."""
    child = owned(
        "c",
        ("example.com/v1beta1", "Fleet", "mine", True),
        ("example.com/v1", "Fleet", "other", False),
        ("example.org/v1", "Fleet", "foreign", True),
        ("example.com/v1", "Boat", "boat", True),
    )
    fleet = GroupKind("example.com", "Fleet")
    assert set(woken(EnqueueRequestForOwner(fleet), created(child))) == {"default/mine"}
    every = EnqueueRequestForOwner(fleet, only_controller=False)
    assert set(woken(every, created(child))) == {"default/mine", "default/other"}
    cluster = EnqueueRequestForOwner(fleet, owner_namespaced=False)
    assert set(woken(cluster, created(child))) == {"mine"}


def test_both_owners_are_woken_when_a_child_changes_hands():
    """The owner before must notice what it lost."""
    before = owned("c", ("example.com/v1", "Fleet", "old", True))
    after = owned("c", ("example.com/v1", "Fleet", "new", True), version="2")
    handler = EnqueueRequestForOwner(GroupKind("example.com", "Fleet"))
    assert set(woken(handler, updated(before, after))) == {"default/old", "default/new"}


def test_a_map_function_is_asked_for_the_old_and_the_new_object():
    """What an object no longer points at is woken as well."""

    def points_at(raw):
        return [NamespacedName("default", raw["spec"]["target"])]

    event = updated(widget("a", "1", spec={"target": "x"}), widget("a", "2", spec={"target": "y"}))
    assert set(woken(EnqueueRequestsFromMap(points_at), event)) == {"default/x", "default/y"}


async def dispatch(handler, event, predicates=(), *, advance=0):
    """Bring an event to a handler, and give what it woke after a while."""
    clock = VirtualClock()
    queue = WorkQueue(clock=clock)

    async def run():
        async with asyncio.TaskGroup() as tasks:
            Dispatcher(handler, predicates, queue, tasks, clock=clock)(event)
            await turn()
            for _ in range(advance):
                clock.advance(timedelta(seconds=1))
                await turn()

    await asyncio.wait_for(run(), 60)
    return set(map(str, queue._entries))


async def test_an_async_map_function_is_awaited_off_the_informers_path():
    """It may read through the client; nobody waits for it."""

    async def points_at(raw):
        await asyncio.sleep(0)
        return [NamespacedName("default", "x")]

    assert await dispatch(EnqueueRequestsFromMap(points_at), created(widget("a"))) == {"default/x"}


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_failing_map_function_is_tried_again_until_it_succeeds(asynchronous, caplog):
    """An event whose handler failed is not lost."""
    failures = [RuntimeError("1"), RuntimeError("2"), RuntimeError("3")]

    def points_at(raw):
        if failures:
            raise failures.pop()
        return [NamespacedName("default", "x")]

    async def points_at_async(raw):
        return points_at(raw)

    handler = EnqueueRequestsFromMap(points_at_async if asynchronous else points_at)
    assert await dispatch(handler, created(widget("a")), advance=4) == {"default/x"}
    assert len(caplog.records) == 3


def everybody(obj=None):
    """More requests than the loop should wait for."""
    return [Request("d", f"all-{number}") for number in range(20_000)]


async def ticks(over):
    """How often another task got its turn until something was over."""
    count = 0
    while not over():
        count += 1
        await asyncio.sleep(0)
    return count


async def test_a_large_answer_of_a_map_function_does_not_hold_up_the_loop(running):
    """Its requests are added a part at a time, and others run in between."""
    queue = WorkQueue(clock=VirtualClock())
    async with asyncio.TaskGroup() as tasks:
        dispatch = Dispatcher(EnqueueRequestsFromMap(everybody), (), queue, tasks)
        dispatch(created(widget("a")))
        assert len(queue._entries) < 1000
        assert await ticks(lambda: len(queue._entries) == 20_000) > 20


async def test_an_async_answer_does_not_hold_it_up_either(running):
    """The same for what an async function gives."""

    async def found(obj):
        return everybody()

    queue = WorkQueue(clock=VirtualClock())
    async with asyncio.TaskGroup() as tasks:
        Dispatcher(EnqueueRequestsFromMap(found), (), queue, tasks)(created(widget("a")))
        assert await ticks(lambda: len(queue._entries) == 20_000) > 20


async def test_large_answers_are_not_gathered(running):
    """A first list of many objects, each of which concerns many: one answer after the other, none is lost."""
    asked, gone = [], []

    def many(obj):
        asked.append(obj)
        for number in range(1500):
            yield Request("d", f"{obj['metadata']['name']}-{number}")
        gone.append(obj)

    queue = WorkQueue(clock=VirtualClock())
    held = []
    async with asyncio.TaskGroup() as tasks:
        dispatch = Dispatcher(EnqueueRequestsFromMap(many), (), queue, tasks)
        for number in range(100):
            dispatch(created(widget(f"w{number}")))
            await asyncio.sleep(0)
            held.append(len(asked) - len(gone))
    assert len(queue._entries) == 150_000
    assert max(held) <= 3


async def test_async_map_functions_run_a_few_at_a_time(running):
    """They make requests: those of a first list of thousands must not be on their way all at once."""
    busy, most = 0, 0

    async def slow(obj):
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0)
        busy -= 1
        return [Request("d", obj["metadata"]["name"])]

    queue = WorkQueue(clock=VirtualClock())
    async with asyncio.TaskGroup() as tasks:
        dispatch = Dispatcher(EnqueueRequestsFromMap(slow), (), queue, tasks)
        for number in range(500):
            dispatch(created(widget(f"w{number}")))
    assert len(queue._entries) == 500
    assert most == 32


async def test_predicates_keep_events_from_the_handler():
    """All must pass."""
    passes, holds = Where(lambda _: True), Where(lambda _: False)
    handler = EnqueueRequestForObject()
    assert await dispatch(handler, created(widget("a")), [passes, passes]) == {"default/a"}
    assert await dispatch(handler, created(widget("a")), [passes, holds]) == set()


async def test_a_channel_wakes_its_listeners_also_for_what_was_sent_before(running):
    """Events from outside are kept until the controller has started."""
    channel = Channel()
    channel.send_key(NamespacedName("default", "early"))
    queue = WorkQueue(clock=VirtualClock())
    running(ChannelSource(channel, EnqueueRequestForObject()).run(queue))
    await turn()
    channel.send_key(NamespacedName("default", "late"))
    channel.send({"metadata": {"name": "cluster-wide"}})
    assert set(map(str, queue._entries)) == {"default/early", "default/late", "cluster-wide"}


async def test_functions_serve_as_handlers_and_as_sources(running):
    """The plainest of all forms."""
    queue = WorkQueue(clock=VirtualClock())
    FuncHandler(lambda event, q: q.add(Request("default", event.name))).handle(created(widget("a")), queue)

    async def feed(q):
        q.add(Request("default", "b"))

    source = FuncSource(feed)
    running(source.run(queue))
    await source.wait_for_sync()
    await turn()
    assert set(map(str, queue._entries)) == {"default/a", "default/b"}


@pytest.mark.parametrize("fails", [lambda _: 1 / 0, lambda event: event.raw["spec"]["absent"]])
async def test_what_a_predicate_cannot_judge_passes(fails, caplog):
    """A bug of a filter costs a reconcile too many, never one too few, and is told with its name."""
    assert await dispatch(EnqueueRequestForObject(), created(widget("a")), [fails]) == {"default/a"}
    assert [record.predicate for record in caplog.records] == [fails.__qualname__]


async def test_an_async_predicate_is_told_and_holds_nothing_back(caplog):
    """Nobody awaits it: taken for true as it stands, it would seem to work."""

    async def wanted(_):
        return False

    assert await dispatch(EnqueueRequestForObject(), created(widget("a")), [wanted]) == {"default/a"}
    assert "must be a plain function" in caplog.text


async def test_a_map_function_never_sees_what_does_not_fit():
    """An object that cannot be read is left out, and its other state is still asked about; nothing is retried."""

    def parse(raw):
        if raw["spec"]["target"] == "bad":
            raise UnreadableObject(
                WIDGET, NamespacedName("default", "a"), "1", (FieldProblem("spec.target", "is bad"),)
            )
        return raw

    def points_at(raw):
        return [NamespacedName("default", raw["spec"]["target"])]

    bad, good = widget("a", "1", spec={"target": "bad"}), widget("a", "2", spec={"target": "x"})
    handler = EnqueueRequestsFromMap(points_at)
    assert await dispatch(handler, Event(EventType.CREATE, bad, parse=parse)) == set()
    for old, new in ((bad, good), (good, bad)):
        event = Event(EventType.UPDATE, new, parse=parse, load_old=lambda old=old: old, old_resource_version="1")
        assert await dispatch(handler, event) == {"default/x"}


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_object_whose_handling_keeps_failing_is_retried_by_one_task(is_async, caplog):
    """However often it changes meanwhile: what it was at first and what it is at last are asked about in the end."""
    broken, asked = [True], []

    def answer(raw):
        if broken:
            raise ConnectionError("down")
        asked.append(raw["spec"]["n"])
        return [NamespacedName("default", f"x{raw['spec']['n']}")]

    async def answer_later(raw):
        return answer(raw)

    clock = VirtualClock()
    queue = WorkQueue(clock=clock)
    before = len(asyncio.all_tasks())
    states = [widget("a", str(n), spec={"n": n}) for n in range(50)]

    async def run():
        async with asyncio.TaskGroup() as tasks:
            handler = EnqueueRequestsFromMap(answer_later if is_async else answer)
            dispatch = Dispatcher(handler, (), queue, tasks, clock=clock)
            for old, new in pairwise(states):
                dispatch(updated(old, new))
                await turn()
            assert len(asyncio.all_tasks()) <= before + 2
            broken.clear()
            for _ in range(120):
                clock.advance(timedelta(seconds=1))
                await turn()

    await asyncio.wait_for(run(), 60)
    assert set(map(str, queue._entries)) == {"default/x0", "default/x1", "default/x48", "default/x49"}
    assert len(asked) == 4


async def test_a_handler_that_is_cancelled_from_inside_is_tried_again():
    """What it waited for was cancelled by someone else: the event is not lost for that."""
    cancelled = []

    async def answer(_):
        if not cancelled:
            cancelled.append(True)
            raise asyncio.CancelledError
        return [NamespacedName("default", "x")]

    assert await dispatch(EnqueueRequestsFromMap(answer), created(widget("a")), advance=2) == {"default/x"}

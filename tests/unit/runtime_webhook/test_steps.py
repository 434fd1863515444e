"""An async webhook that blocks the event loop is named and counted, and the others go on between its steps."""

import asyncio
from datetime import timedelta

import pytest

from pykb.runtime import Denied, Validator, VirtualClock, WebhookBuilder
from pykb.runtime._metrics import Metrics
from pykb.runtime.webhook import allowed
from pykb.testing import eventually
from pykb.webhook.steps import INTERVAL, LIMIT, Lane, Steps

from .conftest import Machine, review, wire  # noqa: TID252 - shared by this folder only

BLOCKED = "pykb_webhook_blocked_seconds_total"


class Rig:
    """Webhooks on a virtual clock, whose steps take as long as they say."""

    def __init__(self):
        self.clock = VirtualClock()
        self.metrics = Metrics()
        self.lane = Lane()
        self.done = []

    def steps(self, webhook="/slow"):
        return Steps(webhook, self.lane, self.metrics, self.clock)

    def block(self, seconds):
        """Waits or computes without `await`."""
        self.clock.advance(timedelta(seconds=seconds))

    async def answer(self, name, *blocking):
        """Has a step for each of these, with an `await` in between."""
        for number, seconds in enumerate(blocking):
            if number:
                await asyncio.sleep(0)
            self.block(seconds)
        self.done.append(name)
        return name

    def counted(self, webhook="/slow"):
        return self.metrics.registry.get_sample_value(BLOCKED, {"webhook": webhook})


@pytest.fixture
def rig():
    """One."""
    return Rig()


async def turns(times=10):
    """Let others run."""
    for _ in range(times):
        await asyncio.sleep(0)


def told_of(caplog):
    """What the log says of blocking webhooks."""
    return [record for record in caplog.records if "blocks the event loop" in record.getMessage()]


async def test_a_step_that_takes_long_is_named_with_the_remedy_and_counted(rig, caplog):
    """Not the whole call: two short steps are none that blocks."""
    assert await rig.steps("/quick").follow(rig.answer("a", LIMIT * 0.9, LIMIT * 0.9), "quick") == "a"
    assert told_of(caplog) == []
    assert rig.counted("/quick") is None
    assert await rig.steps().follow(rig.answer("a", 0.4), "Checks.validate_create") == "a"
    (record,) = told_of(caplog)
    assert (record.webhook, record.function, record.seconds) == ("/slow", "Checks.validate_create", 0.4)
    assert "plain `def`" in record.help
    assert "`client.sync`" in record.help
    assert rig.counted() == pytest.approx(0.4)


async def test_the_log_names_each_webhook_once_an_interval(rig, caplog):
    """The metric counts every time."""
    steps, other = rig.steps(), rig.steps("/other")
    for _ in range(3):
        await steps.follow(rig.answer("a", 0.2), "slow")
        rig.block(1)
    await other.follow(rig.answer("b", 0.2), "other")
    assert [record.webhook for record in told_of(caplog)] == ["/slow", "/other"]
    rig.block(INTERVAL)
    await steps.follow(rig.answer("a", 0.2), "slow")
    assert [record.webhook for record in told_of(caplog)] == ["/slow", "/other", "/slow"]
    assert rig.counted() == pytest.approx(0.8)


async def test_calls_that_block_leave_a_pause_for_the_others(rig):
    """Of several calls that wait, of whatever webhooks that block, one goes on; then the others of the loop have a turn."""
    first, second = rig.steps("/a"), rig.steps("/b")
    await first.follow(rig.answer("a", 2), "a")
    rig.block(10)
    await second.follow(rig.answer("b", 2), "b")
    calls = [asyncio.ensure_future(first.follow(rig.answer("a", 2), "a")) for _ in range(2)]
    calls += [asyncio.ensure_future(second.follow(rig.answer("b", 2), "b")) for _ in range(2)]
    rig.done.clear()
    quick = rig.steps("/quick")
    for answered in range(4):
        await turns()
        assert len(rig.done) - rig.done.count("quick") == answered
        assert await asyncio.wait_for(quick.follow(rig.answer("quick"), "quick"), 60) == "quick"
        rig.block(0.5)
    await asyncio.gather(*calls)
    assert [name for name in rig.done if name != "quick"] == ["a", "a", "b", "b"], "in the order in which they came"


async def test_one_that_blocks_no_longer_makes_no_pauses(rig):
    """After a while without a step that blocks it is one like others."""
    steps, other = rig.steps(), rig.steps("/other")
    await steps.follow(rig.answer("a", 2), "slow")
    rig.block(INTERVAL)
    await other.follow(rig.answer("b", 2), "other")
    assert await asyncio.wait_for(steps.follow(rig.answer("c"), "slow"), 60) == "c"


async def test_a_call_that_is_given_up_while_it_waits_never_begins(rig):
    """Its time is over; and nothing says that a coroutine was not awaited."""
    steps = rig.steps()
    await steps.follow(rig.answer("a", 2), "slow")
    call = asyncio.ensure_future(steps.follow(rig.answer("late", 2), "slow"))
    await turns()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert rig.done == ["a"]


async def test_what_a_coroutine_awaits_raises_and_catches_is_its_own(rig):
    """Results, errors, cancellations and time limits reach it as if nobody looked."""
    seen = []

    async def fails():
        await asyncio.sleep(0)
        raise Denied("no")

    async def waits():
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append("too late")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            return await asyncio.gather(rig.answer(1), rig.answer(2))

    with pytest.raises(Denied):
        await rig.steps().follow(fails(), "fails")
    call = asyncio.ensure_future(rig.steps().follow(waits(), "waits"))
    await eventually(lambda: seen == ["too late"])
    call.cancel()
    assert await call == [1, 2]
    assert seen == ["too late", "cancelled"]


async def test_validators_defaulters_and_handlers_are_followed_and_plain_methods_are_not(manager_of, serving, told):
    """Each by the path that it answers at; a plain method may take its time in its thread."""
    clock = VirtualClock()

    class Slow(Validator[Machine]):
        async def validate_create(self, obj):
            clock.advance(timedelta(seconds=1))

    class Plain(Validator[Machine]):
        def validate_create(self, obj):
            clock.advance(timedelta(seconds=1))

    async def judge(request):
        clock.advance(timedelta(seconds=1))
        return allowed()

    manager = manager_of()
    manager.webhook_server._clock = clock
    WebhookBuilder(manager).for_(Machine).with_validator(Slow(), path="/slow").complete()
    WebhookBuilder(manager).for_(Machine).with_validator(Plain(), path="/plain").complete()
    manager.webhook_server.register("/judge", judge)
    async with serving(manager) as caller:
        for path in ("/slow", "/plain", "/judge"):
            clock.advance(timedelta(seconds=10))
            assert (await caller.ask(path, review(wire())))["allowed"]
        assert [caller.value(BLOCKED, webhook=path) for path in ("/slow", "/plain", "/judge")] == [1, None, 1]
    named = [(record.webhook, record.function.rpartition(".")[2]) for record in told_of(told)]
    assert named == [("/slow", "validate_create"), ("/judge", "judge")]


async def test_others_are_answered_in_time_while_calls_that_block_queue_up(manager_of, serving):
    """One that blocks at a time: what is left of the queue is given up by its own time limit, and holds up nobody."""
    clock = VirtualClock()
    begun = []

    async def slow(request):
        begun.append(request.uid)
        clock.advance(timedelta(seconds=4))
        return allowed()

    async def quick(request):
        return allowed()

    manager = manager_of()
    manager.webhook_server._clock = clock
    manager.webhook_server.register("/slow", slow)
    manager.webhook_server.register("/quick", quick)
    async with serving(manager) as caller:
        await caller.ask("/slow", review(wire()))
        async with caller.post("/slow?timeout=50ms", review(wire())) as refused:
            assert refused.status == 504
        waiting = asyncio.ensure_future(caller.ask("/slow", review(wire())))
        assert (await caller.ask("/quick?timeout=1s", review(wire())))["allowed"]
        assert len(begun) == 1
        while not waiting.done():
            clock.advance(timedelta(seconds=1))
            await asyncio.sleep(0.001)
        assert (await waiting)["allowed"]
        assert len(begun) == 2

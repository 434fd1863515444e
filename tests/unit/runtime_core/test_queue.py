"""The work queue: nothing is lost, nothing is worked on twice at once, the earliest time and highest priority win."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pykb.client.clock import VirtualClock
from pykb.runtime.requests.queue import LOW_PRIORITY, ItemExponentialLimiter, QueueShutDown, WorkQueue

KEYS = st.sampled_from("abcde")
PRIORITIES = st.sampled_from((LOW_PRIORITY, 0, 7))
DELAYS = st.sampled_from((0.0, 0.0, 0.5, 1.0, 3.0))


def queue(clock=None):
    """A queue without a bucket."""
    return WorkQueue(clock=clock or VirtualClock(), rate_limiter=ItemExponentialLimiter())


class QueueMachine(RuleBasedStateMachine):
    """Compares the queue with the most naive model there is."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = VirtualClock()
        self.queue = queue(self.clock)
        self.waiting = {}  # key -> (priority, ready at)
        self.working = set()
        self.held = set()
        self.getters = []

    @rule(key=KEYS, priority=PRIORITIES, delay=DELAYS)
    def add(self, key, priority, delay):
        self.queue.add(key, priority=priority, after=timedelta(seconds=delay))
        old_priority, old_ready = self.waiting.get(key, (priority, float("inf")))
        self.waiting[key] = (max(priority, old_priority), min(self.clock.now() + delay, old_ready))

    @rule()
    def get(self):
        self.getters.append(self.loop.create_task(self.queue.get()))

    @precondition(lambda self: any(not getter.done() for getter in self.getters))
    @rule()
    def give_up_getting(self):
        getter = next(getter for getter in self.getters if not getter.done())
        getter.cancel()
        self.getters.remove(getter)

    @precondition(lambda self: self.working)
    @rule(data=st.data(), hold=st.booleans())
    def done(self, data, hold):
        key = data.draw(st.sampled_from(sorted(self.working)))
        self.working.discard(key)
        if hold:
            self.held.add(key)
        self.queue.done(key, hold=hold)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data):
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.held.discard(key)
        self.queue.release(key)

    @rule(seconds=st.sampled_from((0.25, 0.5, 1.0, 4.0)))
    def advance(self, seconds):
        self.clock.advance(timedelta(seconds=seconds))

    @invariant()
    def hands_out_what_the_model_would(self):
        self.loop.run_until_complete(self.turn())
        for getter in [getter for getter in self.getters if getter.done()]:
            self.getters.remove(getter)
            work = getter.result()
            available = self.available()
            assert work.key in available, f"{work.key} was handed out, ready are {available}"
            assert work.priority == max(priority for priority, _ in available.values())
            del self.waiting[work.key]
            self.working.add(work.key)
        if self.getters:
            assert not self.available(), "a key is ready and a worker waits, but they did not meet"
        assert len(self.queue) == len(self.waiting)
        assert len(self.queue.running_since()) == len(self.working)

    def available(self):
        now = self.clock.now()
        return {k: v for k, v in self.waiting.items() if v[1] <= now and k not in self.working | self.held}

    def teardown(self):
        for getter in self.getters:
            getter.cancel()
        self.loop.run_until_complete(self.settle())
        self.loop.close()

    async def settle(self):
        await asyncio.gather(*self.getters, return_exceptions=True)

    async def turn(self):
        for _ in range(10):
            await asyncio.sleep(0)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


async def test_a_key_added_many_times_is_handed_out_once():
    """Deduplication: what waits already is not queued again."""
    q = queue()
    for _ in range(3):
        q.add("a")
    assert (await q.get()).key == "a"
    assert len(q) == 0


async def test_a_key_added_while_worked_on_is_handed_out_once_more_after_done():
    """The change that arrives during a reconcile is not lost, and waits for it to end."""
    q = queue()
    q.add("a")
    await q.get()
    q.add("a")
    q.add("a")
    second = asyncio.ensure_future(q.get())
    await asyncio.sleep(0)
    assert not second.done()
    q.done("a")
    assert (await second).key == "a"


async def test_the_earliest_delay_wins():
    """A later wish does not postpone an earlier one, and an earlier one is not kept waiting."""
    clock = VirtualClock()
    q = queue(clock)
    q.add("a", after=timedelta(seconds=10))
    q.add("a", after=timedelta(seconds=2))
    q.add("a", after=timedelta(seconds=5))
    got = asyncio.ensure_future(q.get())
    clock.advance(timedelta(seconds=1.9))
    await asyncio.sleep(0)
    assert not got.done()
    clock.advance(timedelta(seconds=0.1))
    assert (await got).key == "a"


async def test_higher_priority_goes_first_and_equals_in_order():
    """Priority orders what is ready; the order of adding decides among equals."""
    q = queue()
    q.add("low-1", priority=LOW_PRIORITY)
    q.add("low-2", priority=LOW_PRIORITY)
    q.add("normal-1")
    q.add("normal-2")
    assert [(await q.get()).key for _ in range(4)] == ["normal-1", "normal-2", "low-1", "low-2"]


async def test_adding_with_a_higher_priority_raises_a_waiting_key():
    """A user's change to an object of the initial list overtakes the rest of that list."""
    q = queue()
    q.add("a", priority=LOW_PRIORITY)
    q.add("b", priority=LOW_PRIORITY)
    q.add("b")
    assert await q.get() == ("b", 0)


async def test_rate_limited_adds_wait_longer_each_time_until_forgotten():
    """Failures of a key add up, success forgets them."""
    clock = VirtualClock()
    q = queue(clock)
    for delay in (0.005, 0.010, 0.020):
        q.add_rate_limited("a")
        got = asyncio.ensure_future(q.get())
        clock.advance(timedelta(seconds=delay * 0.99))
        await asyncio.sleep(0)
        assert not got.done()
        clock.advance(timedelta(seconds=delay * 0.02))
        await got
        q.done("a")
    assert q.failures("a") == 3
    q.forget("a")
    assert q.failures("a") == 0


async def test_shutting_down_ends_waiting_workers_and_ignores_adds():
    """After shut-down nothing is handed out or accepted."""
    q = queue()
    waiting = asyncio.ensure_future(q.get())
    await asyncio.sleep(0)
    q.shut_down()
    with pytest.raises(QueueShutDown):
        await waiting
    q.add("a")
    assert len(q) == 0
    with pytest.raises(QueueShutDown):
        await q.get()


async def test_draining_waits_for_running_work_only():
    """What is being worked on is waited for; what still waits is not."""
    q = queue()
    q.add("a")
    q.add("b")
    work = await q.get()
    q.shut_down()
    drained = asyncio.ensure_future(q.drained())
    await asyncio.sleep(0)
    assert not drained.done()
    q.done(work.key)
    await drained


async def test_a_key_rescheduled_for_ever_does_not_leak():
    """Outdated entries of the heaps are dropped."""
    q = queue()
    for step in range(5_000):
        q.add("a", after=timedelta(hours=10) - timedelta(seconds=step))
    assert len(q._delayed) < 200


async def test_one_timer_is_kept_however_many_keys_wait():
    """Delayed keys share the timer of the earliest."""
    clock = VirtualClock()
    q = queue(clock)
    for number in range(100):
        q.add(number, after=timedelta(seconds=100 + number))
    assert clock.pending == 1

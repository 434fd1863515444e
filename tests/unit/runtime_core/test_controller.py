"""The worker loop: what comes of a result, of each kind of error, and of a stop."""

import asyncio
import gc
import logging
import sys
import threading
from datetime import timedelta

import pytest
from pydantic import BaseModel, ValidationError

from pykb.api.meta.v1 import OwnerReference
from pykb.client.clock import VirtualClock
from pykb.client.errors import Conflict, StatusDetails, TooManyRequests
from pykb.client.owner import NotControlled
from pykb.runtime._metrics import Metrics
from pykb.runtime.controller._source import FuncSource
from pykb.runtime.controller.controller import Controller, ControllerOptions
from pykb.runtime.records.context import current_reconcile
from pykb.runtime.requests.queue import LOW_PRIORITY
from pykb.runtime.requests.reconcile import Reconciler, Request, Result, TerminalError
from pykb.testing import eventually

from .conftest import turn  # noqa: TID252 - shared by this folder only

A, B = Request("default", "a"), Request("default", "b")


class Scripted(Reconciler):
    """Returns or raises what it is given, in turn; then returns nothing."""

    def __init__(self, *answers):
        super().__init__(client=None)
        self.answers = list(answers)
        self.requests = []
        self.contexts = []

    async def reconcile(self, request):
        """Answer."""
        self.requests.append(request)
        self.contexts.append(current_reconcile.get())
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return await answer(request)
        return answer


class Rig:
    """A controller on a virtual clock."""

    def __init__(self, running, reconciler, **options):
        self.clock = VirtualClock()
        self.metrics = Metrics()
        self.controller = Controller(
            "widget", reconciler, ControllerOptions(**options), metrics=self.metrics, clock=self.clock
        )
        self.queue = self.controller.queue
        self.task = running(self.controller.run())

    async def after(self, **time):
        self.clock.advance(timedelta(**time))
        await turn()

    def value(self, name, **labels):
        return self.metrics.registry.get_sample_value(name, {"controller": "widget", **labels})


@pytest.fixture
def rig(running):
    """Make rigs."""
    return lambda reconciler, **options: Rig(running, reconciler, **options)


async def test_success_forgets_failures_and_waits_for_the_next_event(rig):
    """A plain return is the end of it."""
    reconciler = Scripted(RuntimeError("once"), Result())
    r = rig(reconciler)
    r.queue.add(A)
    await turn()
    assert r.queue.failures(A) == 1
    await r.after(milliseconds=5)
    assert reconciler.requests == [A, A]
    assert r.queue.failures(A) == 0
    await r.after(hours=1)
    assert len(reconciler.requests) == 2


async def test_an_error_is_retried_with_doubling_delays(rig):
    """5, 10, 20 ms: an error wins over whatever would have been returned."""
    reconciler = Scripted(*[ValueError("no")] * 3)
    r = rig(reconciler)
    r.queue.add(A)
    await turn()
    for calls, milliseconds in ((2, 5), (3, 10), (4, 20)):
        await r.after(milliseconds=milliseconds - 1)
        assert len(reconciler.requests) == calls - 1
        await r.after(milliseconds=1)
        assert len(reconciler.requests) == calls
    assert r.value("controller_runtime_reconcile_errors_total") == 3
    assert r.value("controller_runtime_reconcile_total", result="error") == 3
    assert r.value("controller_runtime_reconcile_total", result="success") == 1


async def test_a_retry_waits_as_long_as_the_server_asks(rig):
    """`Retry-After` of a busy server, which the client leaves to its caller if it is long."""
    busy = TooManyRequests(429, "TooManyRequests", "busy", StatusDetails(retry_after=timedelta(minutes=2)))
    reconciler = Scripted(busy)
    r = rig(reconciler)
    r.queue.add(A)
    await turn()
    await r.after(seconds=119)
    assert len(reconciler.requests) == 1
    await r.after(seconds=1)
    assert len(reconciler.requests) == 2


async def test_a_terminal_error_is_counted_and_not_retried(rig):
    """The request comes back only with the next event."""
    reconciler = Scripted(TerminalError("hopeless"))
    r = rig(reconciler)
    r.queue.add(A)
    await turn()
    await r.after(hours=24)
    assert reconciler.requests == [A]
    assert r.value("controller_runtime_terminal_reconcile_errors_total") == 1
    assert r.value("controller_runtime_reconcile_errors_total") == 1


async def test_retries_end_at_their_maximum(rig, caplog):
    """After `max_retries` the request is dropped and said so; its failures are forgotten."""
    reconciler = Scripted(*[RuntimeError("no")] * 10)
    r = rig(reconciler, max_retries=3)
    r.queue.add(A)
    await turn()
    for _ in range(10):
        await r.after(minutes=30)
    assert len(reconciler.requests) == 4
    assert caplog.records[-1].getMessage() == "reconcile failed, giving up"
    assert r.queue.failures(A) == 0


async def test_requeue_after_comes_back_in_time_with_its_priority(rig):
    """A result may ask for another run, and for another priority of it."""
    reconciler = Scripted(Result(requeue_after=timedelta(seconds=30), priority=5))
    r = rig(reconciler)
    r.queue.add(A, priority=LOW_PRIORITY)
    await turn()
    assert r.value("controller_runtime_reconcile_total", result="requeue_after") == 1
    assert r.queue._entries[A].priority == 5
    await r.after(seconds=29)
    assert len(reconciler.requests) == 1
    await r.after(seconds=1)
    assert len(reconciler.requests) == 2


async def test_a_retry_keeps_the_priority_of_its_request(rig):
    """What was unimportant stays so when it fails."""
    r = rig(Scripted(RuntimeError("no")))
    r.queue.add(A, priority=LOW_PRIORITY)
    await turn()
    assert r.queue._entries[A].priority == LOW_PRIORITY


@pytest.mark.parametrize("exits", [SystemExit, GeneratorExit])
async def test_what_would_end_a_program_ends_one_reconcile(rig, exits):
    """`sys.exit()` in a reconciler, async or in a thread, is a bug of it: counted, and tried again."""

    async def leave(_):
        raise exits(3)

    class Plain(Reconciler):
        left = 0

        def reconcile(self, request):
            self.left += 1
            if self.left == 1:
                raise exits(3)

    for reconciler in (Scripted(leave), Plain(client=None)):
        r = rig(reconciler)
        r.queue.add(A)
        await eventually(lambda r=r: r.value("controller_runtime_reconcile_panics_total") == 1)
        assert not r.task.done()
        await r.after(seconds=1)
        await eventually(lambda r=r: r.value("controller_runtime_reconcile_total", result="success") == 1)


async def test_a_bug_is_survived_and_counted_as_a_panic(rig, caplog):
    """A TypeError ends the call, not the worker; its traceback is logged."""
    reconciler = Scripted(TypeError("bug"))
    r = rig(reconciler)
    r.queue.add(A)
    r.queue.add(B)
    await turn()
    assert reconciler.requests[:2] == [A, B]
    assert r.value("controller_runtime_reconcile_panics_total") == 1
    assert caplog.records[0].exc_info is not None


APP = OwnerReference(api_version="v1", kind="App", name="web", uid="u1")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Conflict(409, "Conflict", "the object has been modified"), "has been modified"),
        (NotControlled("Service", A, APP), "Service `default/a` already exists and is not controlled by App `web`"),
    ],
)
async def test_a_refusal_is_logged_without_a_traceback(rig, caplog, error, text):
    """A conflict is everyday life, and so is a name that is taken."""
    r = rig(Scripted(error))
    r.queue.add(A)
    await turn()
    assert caplog.records[0].exc_info is None
    assert text in caplog.records[0].error
    assert r.value("controller_runtime_reconcile_panics_total") == 0


async def test_something_else_than_a_result_is_an_error(rig, caplog):
    """`return True` is not taken for anything."""
    r = rig(Scripted(True))
    r.queue.add(A)
    await turn()
    assert "must return a Result or None, got bool" in caplog.records[0].error


async def test_a_call_beyond_its_timeout_is_broken_off_and_retried(rig):
    """The timeout counts as an error of its own kind."""
    broken_off = asyncio.Event()

    async def hang(request):
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            broken_off.set()

    r = rig(Scripted(hang), timeout=timedelta(milliseconds=10))
    r.queue.add(A)
    await asyncio.wait_for(broken_off.wait(), 60)
    await turn()
    assert r.value("controller_runtime_reconcile_timeouts_total") == 1
    assert r.queue.failures(A) == 1


async def test_a_timeout_error_of_the_reconciler_is_not_taken_for_ours(rig):
    """What the user's code raises is not counted as the controller's timeout."""
    r = rig(Scripted(TimeoutError("theirs")), timeout=timedelta(minutes=1))
    r.queue.add(A)
    await turn()
    assert r.value("controller_runtime_reconcile_timeouts_total") == 0
    assert r.value("controller_runtime_reconcile_errors_total") == 1


@pytest.mark.parametrize("workers", [1, 3])
async def test_no_more_calls_at_once_than_workers_and_one_per_request(rig, workers):
    """Concurrency is bounded, and a request is never worked on twice at once."""
    busy, most, go_on = set(), [], asyncio.Event()

    async def work(request):
        assert request not in busy
        busy.add(request)
        most.append(len(busy))
        await go_on.wait()
        busy.discard(request)

    r = rig(Scripted(*[work] * 20), max_concurrent_reconciles=workers)
    for number in range(5):
        r.queue.add(Request("default", str(number)))
    await turn()
    for number in range(5):
        r.queue.add(Request("default", str(number)))
    assert r.value("controller_runtime_active_workers") == workers
    assert r.value("controller_runtime_max_concurrent_reconciles") == workers
    go_on.set()
    await turn(100)
    assert max(most) == workers
    assert len(most) == 5 + workers, "those that were being worked on came back, the others were merged"


async def test_a_sync_reconciler_runs_in_a_thread_with_its_context(running):
    """Blocking code does not stop the loop, and its log lines know their reconcile."""
    seen = []

    class Sync(Reconciler):
        def reconcile(self, request):
            seen.append((threading.current_thread().name, current_reconcile.get().request.name))
            return Result()

    controller = Controller("widget", Sync(None))
    running(controller.run())
    controller.queue.add(A)
    await eventually(lambda: bool(seen))
    assert seen[0][0].startswith("widget-")
    assert seen[0][1] == "a"


async def test_a_slow_sync_reconciler_keeps_its_request_until_its_thread_ends(running):
    """A thread cannot be broken off: the timeout is reported when it ends, and nobody else gets the request meanwhile."""
    release, calls = threading.Event(), []

    class Sync(Reconciler):
        def reconcile(self, request):
            calls.append(request)
            release.wait(60)

    metrics = Metrics()
    options = ControllerOptions(timeout=timedelta(milliseconds=5), max_concurrent_reconciles=2)
    controller = Controller("widget", Sync(None), options, metrics=metrics)
    running(controller.run())
    controller.queue.add(A)
    await asyncio.sleep(0.05)
    controller.queue.add(A)
    await asyncio.sleep(0.05)
    assert calls == [A]
    release.set()
    timeouts = "controller_runtime_reconcile_timeouts_total"  # on a busy machine, the second call takes too long, too
    await eventually(lambda: metrics.registry.get_sample_value(timeouts, {"controller": "widget"}) in (1, 2))


async def test_every_call_has_an_id_of_its_own(rig):
    """Log lines of one reconcile are found by its id."""
    reconciler = Scripted()
    r = rig(reconciler)
    r.queue.add(A)
    await turn()
    r.queue.add(A)
    await turn()
    first, second = reconciler.contexts
    assert (first.controller, first.request) == ("widget", A)
    assert first.reconcile_id != second.reconcile_id
    assert current_reconcile.get() is None


async def test_log_records_of_a_reconcile_have_the_fields_of_its_controller(rig):
    """Asked for with the request."""
    reconciler = Scripted()
    r = rig(reconciler, log_fields=lambda request: {"tenant": request.namespace.upper()})
    r.queue.add(A)
    await turn()
    assert [dict(context.fields) for context in reconciler.contexts] == [{"tenant": "DEFAULT"}]


async def test_stopping_finishes_what_runs_and_starts_nothing(rig):
    """Cancelling drains; a second cancellation breaks off."""
    go_on = asyncio.Event()

    async def work(request):
        await go_on.wait()

    reconciler = Scripted(work, work)
    r = rig(reconciler)
    r.queue.add(A)
    r.queue.add(B)
    await turn()
    r.task.cancel()
    await turn()
    assert not r.task.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await r.task
    assert reconciler.requests == [A]


async def test_a_source_that_fails_ends_the_controller(running):
    """A controller that cannot hear is not left running."""

    async def broken(queue):
        raise RuntimeError("no events any more")

    controller = Controller("widget", Scripted())
    controller.watch(FuncSource(broken))
    with pytest.raises(RuntimeError, match="no events any more"):
        await asyncio.wait_for(controller.run(), 60)


async def test_a_source_may_be_added_while_the_controller_runs(rig):
    """Its requests are reconciled, and its failure ends the controller."""
    go_on = asyncio.Event()

    async def late(queue):
        queue.add(A)
        await go_on.wait()
        raise RuntimeError("no events any more")

    reconciler = Scripted()
    r = rig(reconciler)
    await turn()
    r.controller.watch(FuncSource(late))
    await turn()
    assert reconciler.requests == [A]
    go_on.set()
    with pytest.raises(RuntimeError, match="no events any more"):
        await asyncio.wait_for(r.task, 60)


async def test_a_sharded_controller_takes_no_source_while_it_runs(rig):
    """Its share of the objects is decided before."""
    r = rig(Scripted())
    r.controller.sharded = True
    await turn()
    with pytest.raises(RuntimeError, match="is sharded"):
        r.controller.watch(FuncSource(asyncio.sleep))


async def test_the_start_and_the_end_are_logged(rig, caplog):
    """People see which controllers run."""
    caplog.set_level(logging.INFO)
    r = rig(Scripted(), max_concurrent_reconciles=2)
    await turn()
    r.task.cancel()
    await asyncio.gather(r.task, return_exceptions=True)
    assert [record.getMessage() for record in caplog.records] == ["controller started", "controller stopped"]
    assert caplog.records[0].workers == 2


def test_a_controller_without_workers_is_refused():
    """It would never do anything."""
    with pytest.raises(ValueError, match="at least one worker"):
        ControllerOptions(max_concurrent_reconciles=0)


async def test_a_cancellation_inside_of_a_reconcile_is_an_error_like_any_other(rig):
    """Something that was awaited had been cancelled: the worker lives on, and the request comes back."""

    async def awaits_the_cancelled(request):
        lost = asyncio.ensure_future(asyncio.sleep(3600))
        lost.cancel()
        await lost

    reconciler = Scripted(awaits_the_cancelled)
    r = rig(reconciler)
    r.queue.add(A)
    r.queue.add(B)
    await turn()
    assert reconciler.requests == [A, B]
    await r.after(milliseconds=5)
    assert reconciler.requests == [A, B, A]
    assert not r.task.done()
    assert r.value("controller_runtime_reconcile_errors_total") == 1


async def test_a_wrapped_coroutine_has_a_timeout_too(rig):
    """A plain method that gives a coroutine, as decorators do, is broken off like an async one."""

    class Wrapped(Scripted):
        def reconcile(self, request):
            return super().reconcile(request)

    async def hangs(request):
        await asyncio.get_running_loop().create_future()

    reconciler = Wrapped(hangs)
    r = rig(reconciler, timeout=timedelta(milliseconds=20))
    r.queue.add(A)
    await eventually(lambda: r.value("controller_runtime_reconcile_timeouts_total") == 1)
    assert r.queue.failures(A) == 1


async def test_a_full_queue_lets_others_run(rig):
    """A reconciler that never waits keeps neither watches nor the lease from running until the queue is empty."""
    done = []

    class Busy(Reconciler):
        async def reconcile(self, request):
            r.clock.advance(timedelta(milliseconds=2))
            done.append(request)

    r = rig(Busy(client=None))
    for number in range(50):
        r.queue.add(Request("default", str(number)))
    seen = set()
    while len(done) < 50:
        await asyncio.sleep(0)
        seen.add(len(done))
    assert len(seen) >= 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"requeue_after": 30}, r"`requeue_after` is a timedelta, got `int`: `timedelta\(seconds=...\)`"),
        ({"requeue_after": 0.5}, "got `float`"),
        ({"priority": "high"}, "`priority` is an int, got `str`"),
    ],
)
def test_a_result_says_what_does_not_fit(arguments, message):
    """Few authors run a type checker; seconds as a number are told in the reconcile that gave them."""
    with pytest.raises(TypeError, match=message):
        Result(**arguments)


async def test_a_source_that_fails_before_it_listens_ends_the_controller_at_once(running):
    """Its error is told; nobody waits for a sync that cannot come."""

    class Broken:
        async def run(self, queue):
            raise OSError("no such bus")

        async def wait_for_sync(self):
            await asyncio.get_running_loop().create_future()

    controller = Controller("broken", Scripted())
    controller.watch(Broken())
    with pytest.raises(OSError, match="no such bus"):
        await asyncio.wait_for(controller.run(), 60)


class Login(BaseModel):
    """Wants a number."""

    password: int


@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_failure_is_logged_without_the_values_that_pydantic_quotes(rig, caplog, wrapped):
    """Neither in its text nor in its traceback, whoever formats the record."""
    secret = "hunter" + str(2)

    async def fail(request):
        try:
            Login(password=secret)
        except ValidationError as error:
            if wrapped:
                raise RuntimeError("cannot log in") from error
            raise

    r = rig(Scripted(fail))
    r.queue.add(A)
    await turn()
    (record,) = [record for record in caplog.records if record.getMessage() == "reconcile failed, will retry"]
    told = logging.Formatter().formatException(record.exc_info) + record.error
    assert secret not in told
    assert "should be a valid integer" in told


def test_a_reconcile_can_be_closed_with_its_loop(monkeypatch):
    """Python closes it in another context. What asyncio says of the closed loop is not ours."""
    unraisable, hanging = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: unraisable.append(repr(what.exc_value)))

    async def hang(request):
        hanging.append(request)
        await asyncio.get_running_loop().create_future()

    async def run():
        controller = Controller("widget", Scripted(hang), ControllerOptions(), metrics=Metrics())
        controller.queue.add(A)
        task = asyncio.ensure_future(controller.run())
        await eventually(lambda: bool(hanging))
        return task

    loop = asyncio.new_event_loop()
    task = loop.run_until_complete(run())
    loop.close()
    task._log_destroy_pending = False
    del task, loop
    gc.collect()
    assert {*unraisable} <= {"RuntimeError('Event loop is closed')"}

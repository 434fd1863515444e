"""What engineers see of a running manager: stacks without values, queues, profiles, memory, the level of the log."""

import asyncio
import json
import logging
import sys
import threading
from datetime import timedelta

import aiohttp
import pytest

from pykb.client.clock import SystemClock, VirtualClock
from pykb.runtime import _debug as measure
from pykb.runtime import set_log_level
from pykb.runtime._debug import DebugEndpoints, Group, bounded, grouped, groups_text, only_from_here, task_stack
from pykb.runtime._logging import configure_logging, log_levels
from pykb.runtime.controller.controller import Controller, ControllerOptions
from pykb.runtime.requests.reconcile import Request
from pykb.serving import BindAddress, HttpServer
from pykb.testing import eventually

from .conftest import turn  # noqa: TID252 - shared by this folder only

SECRET = "hunter2"


@pytest.fixture
async def ask(running):
    """Serve the endpoints and give a function that asks: (status, text)."""
    async with aiohttp.ClientSession() as session:

        async def serve(*controllers, middlewares=(), clock=None, **options):
            app = DebugEndpoints(lambda: controllers, clock=clock or SystemClock(), **options).app(middlewares)
            server = HttpServer("pprof", BindAddress("127.0.0.1", 0), app)
            running(server.run())
            await server.listening()

            async def one(path, method="GET", **rest):
                async with session.request(method, f"http://127.0.0.1:{server.port}{path}", **rest) as answer:
                    return answer.status, await answer.text()

            return one

        yield serve


@pytest.fixture
def levels():
    """Put the levels of all loggers back."""
    names = [None, "kopf", "aiohttp.access", "kopf.objects", "pykb", "pykb.runtime._debug"]
    before = {name: logging.getLogger(name).level for name in names}
    handlers = logging.getLogger().handlers[:]
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)
    logging.getLogger().handlers[:] = handlers


class Waiting:
    """Reconciles until it is let go; the innermost call is two awaits deep."""

    def __init__(self):
        self.go = asyncio.Event()

    async def reconcile(self, request):
        """Call down."""
        password = SECRET
        await self.calls_further(password)

    async def calls_further(self, password):
        """Wait."""
        await self.go.wait()
        assert password


class Plain:
    """The same in a thread."""

    def __init__(self):
        self.go = threading.Event()

    def reconcile(self, request):
        """Wait."""
        self.blocks_in_a_thread(SECRET)

    def blocks_in_a_thread(self, password):
        """Wait."""
        self.go.wait(60)
        assert password


@pytest.fixture
async def reconciling(running):
    """A controller that works on `default/a`, has `default/b` ready, and `default/c` in an hour."""
    stop = []

    async def start(reconciler):
        clock = VirtualClock()
        controller = Controller("widget", reconciler, ControllerOptions(), clock=clock)
        running(controller.run())
        controller.queue.add(Request("default", "a"))
        stop.append(reconciler.go)
        await eventually(lambda: bool(controller.running_now()))
        controller.queue.add(Request("default", "b"))
        controller.queue.add(Request("default", "c"), after=timedelta(hours=1))
        clock.advance(timedelta(seconds=12))
        return controller

    yield start
    for go in stop:
        go.set()


async def test_controllers_show_queues_and_what_runs_since_when(ask, reconciling):
    """The first question at night: what does it do, for which object, for how long, and where does it wait."""
    get = await ask(await reconciling(Waiting()))
    status, text = await get("/debug/pprof/controllers")
    lines = text.splitlines()
    assert status == 200
    assert lines[0] == "controller widget: 1 of 1 workers busy, 1 requests ready, 1 not due yet"
    assert lines[1] == "  default/a  12.0 s"
    calls = [line.split()[0] for line in lines[2:] if line]
    assert calls[:3] == ["Event.wait", "Waiting.calls_further", "Waiting.reconcile"]
    assert calls[-1] == "Controller._work"


async def test_a_plain_reconcile_is_shown_where_its_thread_stands(ask, reconciling):
    """Its task only waits for the thread."""
    controller = await reconciling(Plain())
    get = await ask(controller)
    await eventually(lambda: any(running.thread for running, _ in controller.running_now()))
    assert "Plain.blocks_in_a_thread (" in (await get("/debug/pprof/controllers"))[1]
    text = (await get("/debug/pprof/threads"))[1]
    assert "Plain.blocks_in_a_thread (" in text
    assert "1: MainThread\n" in text


async def test_tasks_show_their_chain_of_awaits_and_whom_they_work_for(ask, reconciling):
    """Each task by its name, that of a worker with its request; equal ones are grouped."""
    get = await ask(await reconciling(Waiting()))
    idle = [asyncio.create_task(asyncio.sleep(60), name=f"idle {number:02}") for number in range(12)]
    await turn()
    text = (await get("/debug/pprof/tasks"))[1]
    for task in idle:
        task.cancel()
    assert "1: widget worker (default/a, 12.0 s)\n    Event.wait (" in text
    assert "12: idle 00, idle 01, " in text
    assert "idle 09, and 2 more\n    sleep (" in text


async def test_nothing_shows_the_values_of_variables(ask, reconciling):
    """Not of arguments, of results, of objects."""
    get = await ask(await reconciling(Waiting()), await reconciling(Plain()))
    for page in (
        "",
        "controllers",
        "tasks",
        "threads",
        "memory",
        "heap?seconds=0.01",
        "profile?seconds=0.02&wall=true",
    ):
        status, text = await get(f"/debug/pprof/{page}")
        assert status == 200
        assert SECRET not in text


async def test_a_chain_leads_through_async_generators_and_to_other_tasks():
    """A watch is one generator in another; a task may wait for a task."""

    async def innermost():
        await asyncio.get_running_loop().create_future()
        yield

    async def outer():
        async for each in innermost():
            yield each

    async def consume():
        async for _ in outer():
            pass

    async def waits(other):
        await other

    consuming = asyncio.create_task(consume(), name="consumer")
    waiting = asyncio.create_task(waits(consuming))
    await turn()
    calls = [place.split()[0].rpartition(".")[2] for place in task_stack(consuming)]
    assert calls == ["innermost", "outer", "consume"]
    assert task_stack(waiting)[0] == "task `consumer`"
    consuming.cancel()
    await asyncio.gather(consuming, waiting, return_exceptions=True)


async def test_a_chain_of_any_length_is_cut():
    """A recursion is shown by its innermost calls."""

    async def down(levels):
        await (down(levels - 1) if levels else asyncio.sleep(60))

    task = asyncio.create_task(down(500))
    await turn()
    stack = task_stack(task)
    task.cancel()
    assert len(stack) == 64
    assert stack[0].startswith("sleep (")


def test_text_is_bounded_in_groups_and_in_size():
    """Whatever the program does, an answer stays readable."""
    text = groups_text([Group([f"n{number}"], ("place",)) for number in range(205)])
    assert text.endswith("and 5 other stacks\n")
    assert len(bounded("x" * 2_000_000)) < 1_100_000
    assert [group.names for group in grouped([("b", ("x",)), ("c", ("y",)), ("a", ("x",))])] == [["a", "b"], ["c"]]


async def test_a_profile_names_the_thread_that_computes_and_not_those_that_wait(ask):
    """One line a stack, outermost first, microseconds at the end: what flame graph programs read."""
    ended = threading.Event()

    def computes():
        while not ended.is_set():
            sum(range(1000))

    def waits():
        ended.wait(60)

    threads = [threading.Thread(target=work, name=work.__name__) for work in (computes, waits)]
    for thread in threads:
        thread.start()
    get = await ask()
    try:
        text = (await get("/debug/pprof/profile?seconds=0.5"))[1]
        wall = (await get("/debug/pprof/profile?seconds=0.2&wall=true"))[1]
    finally:
        ended.set()
    computed = [line for line in text.splitlines() if line.startswith("computes;")]
    assert computed
    assert ";" in computed[0]
    assert all(line.rpartition(" ")[2].isdigit() for line in text.splitlines())
    assert not any(line.startswith("waits;") and int(line.split()[-1]) > 50_000 for line in text.splitlines())
    assert any(line.startswith("waits;") for line in wall.splitlines())


async def test_where_a_system_tells_no_cpu_time_every_look_counts(ask):
    """Only Linux has it by thread."""
    get = await ask(cpu_time=lambda native_id: None)
    assert "MainThread;" in (await get("/debug/pprof/profile?seconds=0.1"))[1]


async def test_stacks_of_a_profile_are_bounded(ask, monkeypatch):
    """What does not fit is counted together."""
    monkeypatch.setattr(measure, "DIFFERENT", 0)
    get = await ask()
    assert (await get("/debug/pprof/profile?seconds=0.1&wall=true"))[1].startswith("(others) ")


async def test_one_measurement_at_a_time_ended_by_its_time_or_by_the_caller(ask):
    """A second one is refused; when the caller goes, the first one ends and makes room."""
    clock = VirtualClock()
    get = await ask(clock=clock)
    first = asyncio.create_task(get("/debug/pprof/profile?seconds=60"))
    await eventually(lambda: clock.pending == 1)
    assert (await get("/debug/pprof/heap?seconds=1"))[0] == 409
    clock.advance(timedelta(seconds=60))
    assert (await first)[0] == 200
    abandoned = asyncio.create_task(get("/debug/pprof/profile?seconds=60"))
    await eventually(lambda: clock.pending == 1)
    abandoned.cancel()
    await eventually(lambda: all(thread.name != "debug measurement" for thread in threading.enumerate()))
    third = asyncio.create_task(get("/debug/pprof/heap?seconds=1"))
    await eventually(lambda: clock.pending == 1)
    clock.advance(timedelta(seconds=1))
    assert (await third)[0] == 200


@pytest.mark.parametrize("seconds", ["0", "-1", "61", "x", "nan", "inf", ""])
@pytest.mark.parametrize("what", ["profile", "heap"])
async def test_the_time_of_a_measurement_is_bounded(ask, what, seconds):
    """400, with what is allowed."""
    get = await ask()
    status, text = await get(f"/debug/pprof/{what}?seconds={seconds}")
    assert (status, text) == (400, f"seconds: `{seconds}` is not a number above 0 and up to 60\n")


async def test_heap_names_the_lines_that_allocate_what_stays(ask):
    """And tracing is off again."""
    kept = []

    async def allocates():
        while True:
            kept.append(bytearray(10_000))
            await asyncio.sleep(0.001)

    task = asyncio.create_task(allocates())
    get = await ask()
    text = (await get("/debug/pprof/heap?seconds=0.5"))[1]
    task.cancel()
    assert f"{__file__}:" in text
    assert "tracemalloc: off" in (await get("/debug/pprof/memory"))[1]


async def test_heap_ends_before_its_trace_takes_much_memory(ask, monkeypatch):
    """Long before its time."""
    monkeypatch.setattr(measure, "TRACED_BYTES", 0)
    ended = threading.Event()
    assert "ended early" in measure.heap_growth(ended)


async def test_memory_has_what_the_system_and_the_collector_say(ask):
    """Text for people."""
    get = await ask()
    text = (await get("/debug/pprof/memory"))[1]
    assert "garbage collector: on" in text
    assert "generation 2: " in text
    if sys.platform == "linux":
        assert "resident memory: " in text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8082", 200),
        ("127.0.0.1:8082", 200),
        ("[::1]:8082", 200),
        ("localhost", 200),
        ("evil.example.com", 403),
        ("localhost.example.com:8082", 403),
        ("10.0.0.1", 403),
    ],
)
async def test_on_loopback_only_loopbacks_names_are_answered(ask, host, status):
    """A page in a browser may have its own name lead to 127.0.0.1, and read what is there."""
    get = await ask(middlewares=[only_from_here])
    assert (await get("/debug/pprof/", headers={"Host": host}))[0] == status


@pytest.mark.parametrize(
    "body",
    [
        {"data": "level=debug", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
        {"json": {"level": "debug"}},
        {"data": "debug\n"},
    ],
)
async def test_the_log_level_is_changed_while_the_program_runs(ask, levels, body):
    """By a form, by JSON as zap has it, or by the bare word."""
    configure_logging(level="INFO")
    put = await ask()
    assert json.loads((await put("/loglevel"))[1])["level"] == "info"
    assert logging.getLogger("kopf").level == logging.WARNING
    status, text = await put("/loglevel", "PUT", **body)
    assert (status, json.loads(text)["level"]) == (200, "debug")
    assert logging.getLogger("kopf").isEnabledFor(logging.DEBUG)
    assert (await put("/loglevel", "PUT", data="error"))[0] == 200
    assert not logging.getLogger("kopf.objects").isEnabledFor(logging.WARNING)
    assert not logging.getLogger("kopf").isEnabledFor(logging.WARNING)


async def test_one_logger_has_a_level_of_its_own_until_it_inherits_again(ask, levels):
    """`logger=` names it."""
    put = await ask()
    answer = json.loads((await put("/loglevel", "PUT", data="logger=pykb.runtime._debug&level=error"))[1])
    assert answer["loggers"]["pykb.runtime._debug"] == "error"
    set_log_level("inherit", "pykb.runtime._debug")
    assert "pykb.runtime._debug" not in log_levels()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("loud", "`loud` is not a log level; expected debug, info, warning, error\n"),
        ("", "`` is not a log level; expected debug, info, warning, error\n"),
        ("inherit", "`inherit` is not a log level; expected debug, info, warning, error\n"),
        ("logger=pykb&level=x", "`x` is not a log level; expected debug, info, warning, error, inherit\n"),
        ("level=info&colour=red", "expected `level`, and `logger` or none, as a form or as JSON\n"),
        ('{"level": 7}', "expected `level`, and `logger` or none, as a form or as JSON\n"),
        ('{"level": ', "Expecting value: line 1 column 10 (char 9)\n"),
    ],
)
async def test_a_wrong_level_is_answered_with_what_is_allowed(ask, levels, body, told):
    """400; nothing changes."""
    put = await ask()
    before = log_levels()
    assert await put("/loglevel", "PUT", data=body) == (400, told)
    assert log_levels() == before


async def test_a_logger_that_nobody_has_is_not_made(ask, levels):
    """A typing error changes nothing and is told, with the names there are."""
    put = await ask()
    status, text = await put("/loglevel", "PUT", data="logger=no.such&level=info")
    assert status == 400
    assert text.startswith("there is no logger `no.such`; there are ")
    assert "pykb" in text
    assert "no.such" not in logging.root.manager.loggerDict

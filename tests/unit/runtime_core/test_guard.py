"""Every kind of function of a program, with everything that it may raise: it is its failure, and nobody else's."""

import ast
import asyncio
import io
import json
import logging
import signal
from collections import Counter
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from pydantic import TypeAdapter

import pykb
from pykb.api import Converter, CustomResource, GroupVersion, Struct, carry_over
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.guard import is_end
from pykb.runtime import (
    CacheOptions,
    Channel,
    ChannelSource,
    ControllerBuilder,
    Defaulter,
    Finalizers,
    FuncHandler,
    FuncSource,
    InformerOptions,
    Manager,
    ManagerOptions,
    ReconcileListener,
    Reconciler,
    Request,
    Result,
    Validator,
    WebhookBuilder,
    call_in_thread,
)
from pykb.runtime._logging import TextFormatter
from pykb.runtime.fake import fake_client
from pykb.runtime.webhook import allowed
from pykb.testing import eventually, running


class Silent(Exception):  # noqa: N818 - what it is
    """An error without a text."""

    def __str__(self):
        """Fail."""
        raise SystemExit(7)

    __repr__ = __str__


class PanicException(BaseException):
    """As PyO3's."""


def _raising(make):
    def outcome():
        raise make()

    return outcome


def _cancelling():
    asyncio.current_task().cancel()


OUTCOMES = {
    "an error": _raising(lambda: RuntimeError("boom")),
    "an error without a text": _raising(Silent),
    "StopIteration": lambda: next(iter(())),
    "StopAsyncIteration": _raising(StopAsyncIteration),
    "a group": _raising(lambda: BaseExceptionGroup("several", [KeyboardInterrupt(), SystemExit(3)])),
    "GeneratorExit": _raising(GeneratorExit),
    "SystemExit": _raising(lambda: SystemExit(3)),
    "KeyboardInterrupt": _raising(KeyboardInterrupt),
    "a panic": _raising(PanicException),
    "CancelledError": _raising(asyncio.CancelledError),
    "cancels its task": _cancelling,
}


class Function:
    """Fails as a user's function, when it is first asked about an object named `bad`."""

    def __init__(self, outcome):
        self.outcome = outcome
        self.calls = Counter()

    def __call__(self, name):
        """Fail once."""
        self.calls[name] += 1
        if name == "bad" and self.calls[name] == 1:
            self.outcome()

    @property
    def has_failed(self):
        """Whether it was asked."""
        return self.calls["bad"] > 0


class Quiet(Reconciler):
    """Notes what it is asked."""

    def __init__(self, client):
        super().__init__(client)
        self.seen = Counter()

    async def reconcile(self, request):
        """Note it."""
        self.seen[request.name] += 1


def config(name):
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


def manager_with(**options):
    """A manager at an API server in memory."""
    return Manager(ManagerOptions(**options), client=fake_client())


async def provoke(manager, reconciler, function, *, again=True):
    """Create the bad object, then a good one. Both are reconciled in the end, the bad one after a retry."""
    async with running(manager):
        await manager.client.create(config("bad"))
        await eventually(lambda: function.has_failed)
        await manager.client.create(config("good"))
        await eventually(lambda: reconciler.seen["good"] > 0)
        if again:
            await eventually(lambda: reconciler.seen["bad"] > 0)


def counted(manager, metric, **labels):
    """The value of a metric."""
    return manager.metrics.registry.get_sample_value(metric, labels) or 0


# -- reconcilers


async def async_reconciler(function):
    """`async def reconcile`."""
    manager = manager_with()

    class Own(Quiet):
        async def reconcile(self, request):
            function(request.name)
            self.seen[request.name] += 1

    if function.outcome is not _cancelling:
        await _reconciled(manager, Own(manager.client), function)
        return

    class Twice(Own):
        async def reconcile(self, request):
            await super().reconcile(request)
            if function.calls["bad"] == 2:
                _cancelling()
                await asyncio.sleep(60)  # gets the cancellation

    await _reconciled(manager, Twice(manager.client), function)


async def plain_reconciler(function):
    """`def reconcile`."""
    manager = manager_with()

    class Own(Quiet):
        def reconcile(self, request):
            function(request.name)
            self.seen[request.name] += 1

    await _reconciled(manager, Own(manager.client), function)


async def clean_up(function):
    """A plain clean-up of `Finalizers`."""
    manager = manager_with()

    class Own(Quiet):
        async def reconcile(self, request):
            found = await self.client.find(ConfigMap, request)
            if found is not None and await finalizers.finalize(found):
                self.seen[request.name] += 1

    finalizers = Finalizers(manager.client, {"example.com/disk": lambda obj: function(obj.metadata.name)})
    reconciler = Own(manager.client)
    ControllerBuilder(manager).for_(ConfigMap).complete(reconciler)
    async with running(manager):
        for name in ("bad", "good"):
            made = await manager.client.create(config(name))

            async def has_finalizer(made=made):
                return bool((await manager.client.get(ConfigMap, f"default/{made.metadata.name}")).metadata.finalizers)

            await eventually(has_finalizer)
            await manager.client.delete(made)
            await eventually(lambda name=name: reconciler.seen[name] > 0)
    assert counted(manager, "controller_runtime_reconcile_errors_total", controller="configmap") >= 1


async def log_fields(function):
    """What adds fields to the log."""
    manager = manager_with()
    logger, handler = logging.getLogger("own"), logging.StreamHandler(io.StringIO())
    handler.setFormatter(TextFormatter())
    logger.addHandler(handler)

    class Own(Quiet):
        async def reconcile(self, request):
            logger.warning("reconciles")
            await super().reconcile(request)

    def fields(request):
        function(request.name)
        return {}

    reconciler = Own(manager.client)
    ControllerBuilder(manager).for_(ConfigMap).with_options(log_fields=fields).complete(reconciler)
    try:
        await provoke(manager, reconciler, function)
    finally:
        logger.removeHandler(handler)
    assert "logFieldsError=" in handler.stream.getvalue()


async def rate_limiter(function):
    """What decides the delay of a retry."""
    manager = manager_with()

    class Own(Quiet):
        async def reconcile(self, request):
            await super().reconcile(request)
            if self.seen[request.name] == 1:
                raise RuntimeError("once")

    class Limiter:
        def when(self, item):
            function(item.name)
            return timedelta()

        forget = failures = when

    reconciler = Own(manager.client)
    ControllerBuilder(manager).for_(ConfigMap).with_options(rate_limiter=Limiter).complete(reconciler)
    await provoke(manager, reconciler, function)
    assert reconciler.seen["bad"] == 2


async def listener(function):
    """What is told of reconciles."""
    manager = manager_with()

    class Listener(ReconcileListener):
        def started(self, record):
            function(record.id.request.name)

        def ended(self, record):
            function(record.id.request.name)

    manager.listen(Listener())
    reconciler = Quiet(manager.client)
    ControllerBuilder(manager).for_(ConfigMap).complete(reconciler)
    await provoke(manager, reconciler, function)


async def _reconciled(manager, reconciler, function):
    ControllerBuilder(manager).for_(ConfigMap).complete(reconciler)
    await provoke(manager, reconciler, function)
    assert counted(manager, "controller_runtime_reconcile_errors_total", controller="configmap") >= 1
    assert not counted(manager, "controller_runtime_active_workers", controller="configmap")


# -- events


async def map_function(function):
    """A plain map function."""
    await _woken(function, lambda obj: [_request(function, obj)])


async def async_map_function(function):
    """An async map function."""

    async def wakes(obj):
        return [_request(function, obj)]

    await _woken(function, wakes)


async def event_handler(function):
    """A plain event handler."""
    await _woken(function, FuncHandler(lambda event, queue: queue.add(_request(function, event.object))))


async def async_event_handler(function):
    """An async event handler."""

    async def handle(event, queue):
        queue.add(_request(function, event.object))

    await _woken(function, FuncHandler(handle))


async def channel(function):
    """A handler of events that the program sends itself."""
    manager = manager_with()
    reconciler, events = Quiet(manager.client), Channel()
    handler = FuncHandler(lambda event, queue: queue.add(_request_named(function, event.name)))
    ControllerBuilder(manager).named("own").watches_raw(ChannelSource(events, handler)).complete(reconciler)
    async with running(manager):
        for name in ("bad", "good"):
            events.send_key(Request("default", name))
        await eventually(lambda: reconciler.seen["bad"] and reconciler.seen["good"])


async def predicate(function):
    """A filter of events."""
    manager = manager_with()
    reconciler = Quiet(manager.client)

    def passes(event):
        function(event.name)
        return True

    ControllerBuilder(manager).for_(ConfigMap, predicates=[passes]).complete(reconciler)
    await provoke(manager, reconciler, function)
    assert counted(manager, "pykb_event_handler_failures_total", controller="configmap") == 1


async def _woken(function, wakes):
    manager = manager_with()
    reconciler = Quiet(manager.client)
    ControllerBuilder(manager).named("own").watches(ConfigMap, wakes).complete(reconciler)
    await provoke(manager, reconciler, function)
    assert counted(manager, "pykb_event_handler_failures_total", controller="own") == 1


def _request(function, obj):
    return _request_named(function, obj.metadata.name)


def _request_named(function, name):
    function(name)
    return Request("default", name)


# -- the cache


async def transform(function):
    """What changes objects before they are stored."""

    def change(obj):
        function(obj["metadata"]["name"])
        return obj

    cache = CacheOptions(by_kind={ConfigMap.gvk: InformerOptions(transform=change)})
    await _cached(manager_with(cache=cache), function)


async def index_function(function):
    """An index of typed objects."""
    manager = manager_with()

    def values(obj):
        function(obj.metadata.name)
        return obj.metadata.name

    manager.cache.index_field(ConfigMap, "name", values)
    await _cached(manager, function)


async def informer_handler(function):
    """A handler that a program adds to an informer."""
    manager = manager_with()
    manager.cache.informer(ConfigMap).add_handler(lambda event: function(event.name))
    await _cached(manager, function)


async def _cached(manager, function):
    reconciler = Quiet(manager.client)
    ControllerBuilder(manager).for_(ConfigMap).complete(reconciler)
    await provoke(manager, reconciler, function)
    labels = {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert counted(manager, "pykb_cache_function_failures_total", **labels) == 1


# -- servers


async def health_check(function):
    """A plain check."""
    await _probed(function, lambda: function("bad"))


async def async_health_check(function):
    """An async check."""

    async def check():
        function("bad")

    await _probed(function, check)


async def _probed(function, check):
    manager = manager_with(health_probe_bind_address="127.0.0.1:0")
    manager.add_healthz_check("own", check)
    async with running(manager), aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{manager.servers.probes.port}/healthz"
        for code in (500, 200):
            async with session.get(url) as answer:
                assert answer.status == code
    assert function.calls["bad"] == 2


async def defaulter(function):
    """A plain defaulter."""

    class Own(Defaulter[ConfigMap]):
        def default(self, obj):
            function(obj.metadata.name)

    await _reviewed(WebhookBuilder.with_defaulter, Own())


async def async_defaulter(function):
    """An async defaulter."""

    class Own(Defaulter[ConfigMap]):
        async def default(self, obj):
            function(obj.metadata.name)

    await _reviewed(WebhookBuilder.with_defaulter, Own())


async def validator(function):
    """A plain validator."""

    class Own(Validator[ConfigMap]):
        def validate_create(self, obj):
            function(obj.metadata.name)

    await _reviewed(WebhookBuilder.with_validator, Own())


async def async_validator(function):
    """An async validator."""

    class Own(Validator[ConfigMap]):
        async def validate_create(self, obj):
            await asyncio.sleep(0)
            function(obj.metadata.name)

    await _reviewed(WebhookBuilder.with_validator, Own())


async def admission_handler(function):
    """A function at a path."""

    async def handle(request):
        function(request.name)
        return allowed()

    manager = manager_with()
    manager.webhook_server.register("/own", handle)
    await _asked(manager, "/own")


async def plain_admission_handler(function):
    """A plain function at a path."""

    def handle(request):
        function(request.name)
        return allowed()

    manager = manager_with()
    manager.webhook_server.register("/own", handle)
    await _asked(manager, "/own")


async def _reviewed(with_, webhook):
    manager = manager_with()
    builder = WebhookBuilder(manager).for_(ConfigMap)
    with_(builder, webhook).complete()
    (path,) = manager.webhook_server.paths
    await _asked(manager, path)


REVIEW = json.dumps(
    {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "1",
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "operation": "CREATE",
            "name": "bad",
            "namespace": "default",
            "object": {"metadata": {"name": "bad", "namespace": "default"}},
        },
    }
).encode()


async def _asked(manager, path):
    for passes in (False, True):
        answer = json.loads(await manager.webhook_server.ask(path, REVIEW))["response"]
        assert answer["allowed"] is passes
        assert passes or answer["status"]["message"] == "internal error"
        assert not asyncio.current_task().cancelling()
        await asyncio.sleep(0)
    assert counted(manager, "controller_runtime_webhook_panics_total") == 1


class Spec(Struct):
    """Nothing."""


class BoxV1(CustomResource, group_version=GroupVersion("example.com", "v1"), kind="Box"):
    """The spoke."""

    spec: Spec = Spec()


class BoxV2(CustomResource, group_version=GroupVersion("example.com", "v2"), kind="Box"):
    """The hub."""

    spec: Spec = Spec()


async def converter(function):
    """A converter."""

    class Own(Converter[BoxV1, BoxV2]):
        def to_hub(self, spoke):
            function(spoke.metadata.name)
            return carry_over(spoke, BoxV2)

        def from_hub(self, hub):
            return carry_over(hub, BoxV1)

    manager = manager_with()
    WebhookBuilder(manager).for_(BoxV2).with_converter(Own()).complete()
    box = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "bad"}}
    request = {"uid": "1", "desiredAPIVersion": "example.com/v2", "objects": [box]}
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    for expected in ("Failure", "Success"):
        answer = json.loads(await manager.webhook_server.ask("/convert", json.dumps(review).encode()))["response"]
        assert answer["result"]["status"] == expected
    assert counted(manager, "controller_runtime_conversion_webhook_panics_total") == 1


PLACES = [
    *(async_reconciler, plain_reconciler, clean_up, log_fields, rate_limiter, listener),
    *(map_function, async_map_function, event_handler, async_event_handler, channel, predicate),
    *(transform, index_function, informer_handler, health_check, async_health_check),
    *(defaulter, async_defaulter, validator, async_validator, admission_handler, plain_admission_handler, converter),
]


@pytest.fixture(autouse=True)
def _signals_of_a_program(monkeypatch):
    """As in `Manager.run`, a signal raises nothing."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
async def test_what_a_function_raises_is_its_failure(place, outcome, caplog):
    """It is logged, counted and tried again, or answered. Everything else goes on."""
    caplog.set_level(logging.WARNING)
    function = Function(OUTCOMES[outcome])
    async with asyncio.timeout(60):
        await place(function)
    assert function.has_failed
    assert [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert not [record for record in caplog.records if record.name == "asyncio"]


# -- what is more than a function that is called


async def _ended(runnable):
    manager = manager_with()
    manager.add(runnable)
    async with asyncio.timeout(60):
        await manager.start()


async def test_a_runnable_that_exits_stops_the_manager_in_order():
    """Its code is the manager's."""

    async def leave():
        raise SystemExit(3)

    with pytest.raises(SystemExit) as error:
        await _ended(leave)
    assert error.value.code == 3


@pytest.mark.parametrize("waits", [False, True])
async def test_a_runnable_that_cancels_itself_is_not_forgotten(waits):
    """Nobody else would notice that it does not run."""

    async def cancels():
        _cancelling()
        if waits:
            await asyncio.sleep(60)

    with pytest.raises(RuntimeError, match="was cancelled by the program"):
        await _ended(cancels)


@pytest.mark.parametrize("outcome", ["SystemExit", "a panic", "GeneratorExit"])
async def test_a_runnable_that_fails_ends_the_manager_with_its_error(outcome):
    """Whatever it is."""

    async def fails():
        OUTCOMES[outcome]()

    with pytest.raises((SystemExit, PanicException, GeneratorExit)):
        await _ended(fails)


def test_what_is_closed_with_its_event_loop_has_not_failed():
    """Nothing runs any more, so each of them ends without a word, and without another error."""
    waiting = []

    async def waits(*_):
        waiting.append(asyncio.current_task())
        await asyncio.sleep(3600)

    async def begin():
        manager = manager_with()
        builder = ControllerBuilder(manager).for_(ConfigMap).watches(ConfigMap, FuncHandler(waits))
        builder.watches_raw(FuncSource(waits)).complete(Quiet(manager.client))
        manager.add(waits)
        starting = asyncio.create_task(manager.start())
        await manager.client.create(config("a"))
        await eventually(lambda: len(waiting) == 3)
        return starting

    loop = asyncio.new_event_loop()
    starting = loop.run_until_complete(begin())
    for task in waiting:
        task.get_coro().close()
    starting.cancel()
    loop.run_until_complete(asyncio.wait([starting]))
    loop.close()


async def test_a_thread_gives_stop_iteration_back():
    """A future cannot: its waiter would hang."""
    async with asyncio.timeout(60):
        with pytest.raises(RuntimeError, match="StopIteration"):
            await call_in_thread(lambda: next(iter(())))


async def test_a_worker_that_is_cancelled_later_continues():
    """A reconciler may keep its task, and anything may cancel it."""
    manager = manager_with()
    tasks = set()

    class Own(Quiet):
        async def reconcile(self, request):
            tasks.add(asyncio.current_task())
            await super().reconcile(request)

    reconciler = Own(manager.client)
    ControllerBuilder(manager).for_(ConfigMap).complete(reconciler)
    async with running(manager):
        await manager.client.create(config("a"))
        await eventually(lambda: reconciler.seen["a"] > 0)
        for task in tasks:
            task.cancel()
        await manager.client.create(config("b"))
        await eventually(lambda: reconciler.seen["b"] > 0)


def _misfit():
    """Raise Pydantic's error, which quotes a value."""
    TypeAdapter(int).validate_python("hunter2")


@pytest.mark.parametrize("outcome", [*OUTCOMES, "a value that does not fit"])
@pytest.mark.parametrize("is_async", [False, True])
async def test_kopf_gets_an_exception_with_a_text_for_all_that_a_handler_raises(outcome, is_async):
    """It logs and retries those, and writes their text into the object. Others would end it, or let the object wait."""
    from pykb.runtime._kopf.watch import guarded_invoke

    fails = {**OUTCOMES, "a value that does not fit": _misfit}[outcome]

    def plain(**_):
        if fails is _cancelling:
            raise asyncio.CancelledError  # a thread has no task
        fails()

    async def coroutine(**_):
        fails()
        await asyncio.sleep(0)

    async with asyncio.timeout(60):
        with pytest.raises(Exception) as raised:
            await guarded_invoke(coroutine if is_async else plain, settings=None, kwargsrc=None, kwargs={})
    assert "hunter2" not in (str(raised.value) or repr(raised.value))
    assert not asyncio.current_task().cancelling()
    await asyncio.sleep(0)


FILTERS = {
    "when": lambda fails: {"when": fails},
    "labels": lambda fails: {"labels": {"color": fails}},
    "annotations": lambda fails: {"annotations": {"color": fails}},
    "value": lambda fails: {"field": "spec.size", "value": fails},
}
"""What filters the objects of a handler of kopf, by the argument that takes a function."""


@pytest.mark.parametrize("outcome", [*OUTCOMES, "a value that does not fit"])
@pytest.mark.parametrize("kind", FILTERS)
async def test_kopf_gets_an_exception_with_a_text_for_all_that_a_filter_raises(kind, outcome):
    """It logs those, and tries the object again later. Others would end the watch of the kind."""
    import kopf

    from pykb.runtime._kopf.calling import cause_of
    from pykb.runtime._kopf.watch import HandlerWatches

    fails = {**OUTCOMES, "a value that does not fit": _misfit}[outcome]
    registry = kopf.OperatorRegistry()

    @kopf.on.create("boxes", registry=registry, **FILTERS[kind](lambda *_, **__: fails()))
    def created(**_):
        """Take every box."""

    meta = {"name": "a", "labels": {"color": "red"}, "annotations": {"color": "red"}}
    box = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": meta, "spec": {"size": 1}}
    cause = cause_of(box, None, logging.getLogger(__name__))
    changing = registry._changing
    with HandlerWatches(None).in_use():
        for ask in (changing.prematch, changing.get_handlers):
            with pytest.raises(Exception) as raised:
                ask(cause=cause)
            assert "hunter2" not in (str(raised.value) or repr(raised.value))
    assert not asyncio.current_task().cancelling()
    await asyncio.sleep(0)


@pytest.mark.parametrize("is_async", [False, True])
async def test_kopf_stops_a_daemon_by_cancelling_it(is_async):
    """That is no failure."""
    from pykb.runtime._kopf.watch import guarded_invoke

    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def plain(**_):
        loop.call_soon_threadsafe(begun.set)

    async def coroutine(**_):
        begun.set()
        await asyncio.sleep(60)

    running = asyncio.create_task(
        guarded_invoke(coroutine if is_async else plain, settings=None, kwargsrc=None, kwargs={})
    )
    if is_async:
        await begun.wait()
    else:
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled()


def test_what_a_signal_raises_is_no_failure():
    """Python's own handler of Ctrl-C, and those of a program that runs a manager within its own event loop."""

    def leave(*_):
        raise SystemExit(1)

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with pytest.raises(SystemExit) as terminated:
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt) as interrupted:
            signal.raise_signal(signal.SIGINT)
        assert is_end(terminated.value)
        assert is_end(interrupted.value)
        assert not is_end(SystemExit(1))
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


async def test_a_clean_up_that_is_not_done_yet_says_when_it_goes_on():
    """Its finalizer stays, and others go. The shortest pause counts."""
    client = fake_client(config("a"))
    pauses = {"one": [timedelta(minutes=5)], "two": [timedelta(minutes=1)], "three": []}

    def clean_up(name):
        return lambda _: Result(requeue_after=pauses[name].pop()) if pauses[name] else "done"

    finalizers = Finalizers(client, {f"example.com/{name}": clean_up(name) for name in pauses})
    assert await finalizers.finalize(await client.get(ConfigMap, "default/a")) is None
    await client.delete(await client.get(ConfigMap, "default/a"))
    assert await finalizers.finalize(await client.get(ConfigMap, "default/a")) == Result(timedelta(minutes=1))
    found = await client.get(ConfigMap, "default/a")
    assert found.metadata.finalizers == ["example.com/one", "example.com/two"]
    assert await finalizers.finalize(found) == Result()
    assert await client.find(ConfigMap, "default/a") is None


async def test_a_read_of_a_kind_that_nothing_watches_starts_no_watch():
    """It is a request each time. An informer changes that."""
    manager = manager_with()
    async with running(manager):
        await manager.client.create(config("a"))
        for _ in range(2):
            await manager.client.get(ConfigMap, "default/a")
        assert not manager.cache.informers
        manager.cache.informer(ConfigMap)
        await manager.cache.wait_for_sync()
        assert await manager.client.get(ConfigMap, "default/a")
        assert manager.cache.has(ConfigMap.gvk)


OUR_OWN = Counter(
    {
        "client/codec.py": 1,  # the read of an object, within a function that is guarded
        "client/events.py": 1,
        "fake/_webhooks.py": 1,
        "runtime/_debug.py": 1,
        "runtime/_kopf/calling.py": 1,  # a handler in a test, whose error is the test's
        "runtime/_kopf/watch.py": 1,  # whatever a client library raises
        "runtime/cache/reflector.py": 1,
        "webhook/_admission.py": 1,  # an answer without a form in JSON
        "webhook/builder.py": 1,  # passed on
    }
)
"""How often a module catches `Exception`, which lets `SystemExit` and a panic through."""


def test_nobody_calls_a_function_of_a_program_without_the_guard():
    """Whoever catches all errors of a function takes `BaseException`. These call no function of a program."""
    root = Path(pykb.__file__).parent
    found = Counter()
    running = ("client", "fake", "runtime", "serving", "webhook")
    for path in sorted(path for package in running for path in (root / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name) and node.type.id == "Exception":
                reraises = len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and node.body[0].exc is None
                if not reraises:
                    found[path.relative_to(root).as_posix()] += 1
    assert not found - OUR_OWN

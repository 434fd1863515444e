"""A call that was not awaited is an error in the log, never a success."""

import asyncio
import inspect
import logging
import sys
import warnings

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime._awaiting import watch_for_not_awaited
from pykb.runtime._metrics import Metrics
from pykb.runtime.controller.controller import Controller, ControllerOptions
from pykb.runtime.fake import fake_client
from pykb.runtime.requests.reconcile import Reconciler, Request
from pykb.testing import eventually

A = Request("default", "a")


@pytest.fixture(autouse=True)
def _untracked():
    """The first finding has Python note where coroutines are made, from then on."""
    yield
    sys.set_coroutine_origin_tracking_depth(0)


class Forgets(Reconciler):
    """Throws the call away where it is made."""

    async def reconcile(self, request):
        self.client.delete(ConfigMap, request)  # forgotten


class Keeps(Reconciler):
    """Keeps the call in a variable."""

    async def reconcile(self, request):
        deleting = self.client.delete(ConfigMap, request)  # forgotten
        await asyncio.sleep(0)
        assert deleting


class Plain(Reconciler):
    """Forgets that a client's calls are coroutines."""

    def reconcile(self, request):
        self.client.delete(ConfigMap, request)  # forgotten


class PlainKeeps(Reconciler):
    """The same with a variable."""

    def reconcile(self, request):
        deleting = self.client.delete(ConfigMap, request)  # forgotten
        assert deleting


class KeepsInSelf(Reconciler):
    """Keeps the call for ever, so that nothing destroys it."""

    async def reconcile(self, request):
        self.deleting = self.client.delete(ConfigMap, request)  # forgotten


class KeepsInList(Reconciler):
    """Keeps all calls."""

    def __init__(self, client):
        super().__init__(client)
        self.all = list(range(10_000))

    async def reconcile(self, request):
        self.all.append(self.client.delete(ConfigMap, request))  # forgotten


@pytest.mark.parametrize("reconciler", [Forgets, Keeps, Plain, PlainKeeps, KeepsInSelf, KeepsInList])
async def test_a_reconcile_with_a_call_that_was_not_awaited_fails_each_time(running, caplog, reconciler):
    """It is a bug that is counted and retried; the log names the call, and its line by the second try at the latest."""
    metrics = Metrics()
    client = fake_client(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
    made = reconciler(client)
    controller = Controller("widget", made, metrics=metrics)
    task = running(controller.run())
    controller.queue.add(A)

    def value(name, **labels):
        return metrics.registry.get_sample_value(name, {"controller": "widget", **labels})

    await eventually(lambda: value("controller_runtime_reconcile_panics_total") >= 2)
    assert value("controller_runtime_reconcile_total", result="success") == 0
    failures = [record.error for record in caplog.records if record.msg == "reconcile failed, will retry"]
    lines, first = inspect.getsourcelines(reconciler)
    line = first + next(number for number, text in enumerate(lines) if "forgotten" in text)
    assert failures[0].startswith("NotAwaited: `Writer.delete` was called and not awaited, so it did nothing")
    assert failures[1].endswith(f"(at {__file__}:{line})")
    assert await client.find(ConfigMap, A)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    for kept in (getattr(made, "deleting", None), *getattr(made, "all", ())):
        if inspect.iscoroutine(kept):
            kept.close()


async def test_what_is_forgotten_outside_of_a_reconcile_is_logged(caplog):
    """Webhooks, runnables; other warnings go where they went before."""
    client = fake_client()
    with warnings.catch_warnings(record=True) as others:
        warnings.simplefilter("always")
        watch_for_not_awaited()
        watch_for_not_awaited()
        client.get(ConfigMap, "default/a")
        warnings.warn("something else", stacklevel=1)
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert (record.msg, record.call) == ("a call was not awaited, so it did nothing", "Reader.get")
    assert record.at.startswith(f"{__file__}:")
    assert [str(other.message) for other in others] == ["something else"]


class Awaits(Reconciler):
    """Keeps a call while another reconcile ends, and a call that was awaited."""

    def __init__(self, client):
        super().__init__(client)
        self.calls = []
        self.other = asyncio.Event()

    async def reconcile(self, request):
        if request != A:
            self.other.set()
            return
        self.later = self.client.find(ConfigMap, request)
        await self.other.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        await self.later
        self.calls.append(self.later)


async def test_a_call_that_is_kept_and_awaited_is_none_of_these(running):
    """Even if another reconcile of the same object ends before it is awaited."""
    metrics = Metrics()
    controller = Controller(
        "widget", Awaits(fake_client()), ControllerOptions(max_concurrent_reconciles=2), metrics=metrics
    )
    running(controller.run())
    controller.queue.add(A)
    controller.queue.add(Request("default", "b"))

    def value(result):
        return metrics.registry.get_sample_value(
            "controller_runtime_reconcile_total", {"controller": "widget", "result": result}
        )

    await eventually(lambda: value("success") == 2)
    assert value("error") == 0

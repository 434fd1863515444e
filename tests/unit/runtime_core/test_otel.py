"""Spans by OpenTelemetry: what they say, how they belong together, and that they cost nothing unless they are wanted."""

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import web
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.login import Credentials, StaticCredentials
from pykb.client.tracing import spans
from pykb.runtime import Client, ControllerBuilder, Manager, NotFound, Reconciler, Result, Transport
from pykb.runtime.fake import fake_client
from pykb.testing import eventually, running

UNTRACED = """
import asyncio, sys
from pykb.api.core.v1 import ConfigMap
from pykb.runtime import Manager, ControllerBuilder, Reconciler
from pykb.runtime.fake import fake_client
from pykb.testing import running
import pykb.client.transport, pykb.webhook.server
class R(Reconciler):
    async def reconcile(self, request): pass
async def main():
    manager = Manager(client=fake_client())
    ControllerBuilder(manager).for_(ConfigMap).complete(R(manager.client))
    async with running(manager):
        pass
asyncio.run(main())
assert not [name for name in sys.modules if name.startswith("opentelemetry") or name.endswith("._otel")]
"""


def test_nothing_of_it_is_imported_by_a_program_that_does_not_trace():
    """Whether the extra is installed or not."""
    subprocess.run([sys.executable, "-c", UNTRACED], check=True)


def test_without_a_provider_there_are_no_spans():
    """Another library may import OpenTelemetry without need."""
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    assert spans() is None


def config_map(name="a", **data):
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


class Scripted(Reconciler):
    """Does one thing after the other."""

    def __init__(self, client, *steps):
        super().__init__(client)
        self.steps = list(steps)

    async def reconcile(self, request):
        """Do the next one."""
        return await self.steps.pop(0)(self.client, request) if self.steps else None


async def reconciled(exported, client, *steps):
    """The spans of a manager's reconciles, when all steps are done."""
    manager = Manager(client=client)
    ControllerBuilder(manager).for_(ConfigMap).named("mapper").complete(Scripted(manager.client, *steps))
    async with running(manager):
        await eventually(lambda: len(exported.get_finished_spans()) > len(steps))
    return exported.get_finished_spans()


async def test_a_reconcile_is_a_trace_that_says_why_it_ran(exported):
    """With a link to the reconcile whose write woke it, and without values of fields."""

    async def write(client, request):
        found = await client.get(ConfigMap, request)
        found.data = {"x": "value-2"}
        await client.update(found)
        return Result(requeue_after=timedelta(minutes=5))

    first, second = await reconciled(exported, fake_client(config_map(x="value-1")), write)
    assert first.name == "reconcile mapper"
    assert first.parent is None
    identity = first.attributes["pykb.reconcile.id"]
    assert dict(first.attributes) == {
        "k8s.namespace.name": "default",
        "pykb.controller.name": "mapper",
        "pykb.reconcile.causes": ("initial of ConfigMap default/a",),
        "pykb.reconcile.id": identity,
        "pykb.reconcile.request": "default/a",
        "pykb.reconcile.requeue_after": 300.0,
    }
    assert second.attributes["pykb.reconcile.causes"] == ("update of ConfigMap default/a by mapper: data.x",)
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    assert "value-" not in str([dict(span.attributes) for span in (first, second)])


async def test_an_error_of_a_reconcile_is_in_its_span(exported):
    """And what the user's code traces belongs to it."""

    async def fail(client, request):
        with trace.get_tracer("the user's").start_as_current_span("inner"):
            raise ValueError("no luck")

    inner, outer, *_ = await reconciled(exported, fake_client(config_map()), fail)
    assert (inner.name, inner.parent.span_id) == ("inner", outer.context.span_id)
    assert (outer.status.status_code, outer.status.description) == (StatusCode.ERROR, "no luck")
    assert outer.attributes["error.type"] == "ValueError"
    (event,) = outer.events
    assert event.attributes["exception.type"] == "ValueError"


@asynccontextmanager
async def client_of(*answers):
    """A client of a server that answers so, in turn, and notes the headers."""
    headers, left = [], list(answers)

    async def handler(request):
        headers.append(request.headers)
        return left.pop(0)

    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    async with Client(Transport(StaticCredentials(Credentials(f"http://{host}:{port}")))) as client:
        yield client, headers, port
    await runner.cleanup()


def found():
    """The answer with an object."""
    return web.json_response(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    )


def status(code, reason, **headers):
    """A refusal."""
    body = {"kind": "Status", "code": code, "reason": reason, "details": {"name": "a"}}
    return web.json_response(body, status=code, headers=headers)


async def test_each_attempt_of_a_request_is_a_span_and_carries_its_context(exported):
    """By the conventions for HTTP clients; the header is W3C's."""
    async with client_of(status(429, "TooManyRequests", **{"Retry-After": "0"}), found()) as (client, headers, port):
        with trace.get_tracer("the user's").start_as_current_span("work") as work:
            await client.get(ConfigMap, "default/a")
    refused, answered, _ = exported.get_finished_spans()
    assert dict(answered.attributes) == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "k8s.namespace.name": "default",
        "server.address": "127.0.0.1",
        "server.port": port,
        "url.full": f"http://127.0.0.1:{port}/api/v1/namespaces/default/configmaps/a",
        "url.template": "/api/v1/namespaces/{namespace}/configmaps/{name}",
    }
    assert answered.name == "GET /api/v1/namespaces/{namespace}/configmaps/{name}"
    assert answered.kind is SpanKind.CLIENT
    assert answered.status.status_code is StatusCode.UNSET
    assert (refused.attributes["error.type"], refused.status.status_code) == ("429", StatusCode.ERROR)
    for span, sent in zip((refused, answered), headers, strict=True):
        assert span.parent.span_id == work.get_span_context().span_id
        at = span.context
        assert sent["traceparent"] == f"00-{at.trace_id:032x}-{at.span_id:016x}-{at.trace_flags:02x}"


async def test_a_request_without_an_answer_is_an_error(exported):
    """Of the class that broke it off."""
    async with client_of(status(404, "NotFound")) as (client, _, _port):
        with pytest.raises(NotFound):
            await client.delete(ConfigMap, "default/a")
    (span,) = exported.get_finished_spans()
    assert (span.attributes["error.type"], span.attributes["http.response.status_code"]) == ("404", 404)
    exported.clear()
    async with Client(Transport(StaticCredentials(Credentials("http://127.0.0.1:1")))) as client:
        getting = asyncio.create_task(client.get(ConfigMap, "default/a"))
        await eventually(lambda: len(exported.get_finished_spans()) > 0)
        getting.cancel()
        await asyncio.gather(getting, return_exceptions=True)
    span = exported.get_finished_spans()[0]
    assert span.attributes["error.type"] == "ConnectFailed"
    assert "http.response.status_code" not in span.attributes


async def test_a_program_that_does_not_trace_sends_no_context():
    """Not even an empty header."""
    async with client_of(found()) as (client, headers, _):
        await client.get(ConfigMap, "default/a")
    assert "traceparent" not in headers[0]

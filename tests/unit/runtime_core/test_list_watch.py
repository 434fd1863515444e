"""Lists and watches against a real HTTP server: what is counted, and how soon a refusal is known."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web

from pykb.runtime.cache.reflector import LISTED, WatchFailed
from pykb.runtime.client import Client, Transport
from pykb.runtime.client.listwatch import ClientListWatch
from pykb.runtime.login import Credentials, StaticCredentials

from .conftest import target, widget  # noqa: TID252 - shared by this folder only

FORBIDDEN = 'widgets.example.com is forbidden: User "x" cannot list resource "widgets" in API group "example.com"'


@asynccontextmanager
async def served(handler, observer=None):
    """Lists and watches on a server with this handler."""
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    source = StaticCredentials(Credentials(f"http://{host}:{port}", origin="a test"))
    async with Client(Transport(source, observer=observer)) as client:
        yield ClientListWatch(client), f"{host}:{port}"
    await runner.cleanup()


def page(*names, more=""):
    """A page of a list."""
    items = [widget(name) for name in names]
    return web.json_response(
        {"kind": "WidgetList", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "7", "continue": more}}
        | {"items": items}
    )


def forbidden():
    """The API server's answer to those without permission."""
    status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": FORBIDDEN}
    return web.json_response(status, status=403)


async def test_lists_and_watches_are_counted():
    """By code, method and host, each page and each watch, those that are refused too."""
    records, codes = [], iter((200, 200, 403))

    async def handler(request):
        if next(codes) == 403:
            return forbidden()
        return page("b") if "continue" in request.query else page("a", more="token")

    async with served(handler, observer=records.append) as (list_watch, host):
        with pytest.raises(WatchFailed):
            async for _ in list_watch.stream(target()):
                pass
    counted = [(record.method, record.host, record.code) for record in records]
    assert counted == [("GET", host, 200), ("GET", host, 200), ("GET", host, 403)]


async def test_a_request_without_an_answer_is_counted():
    """As those of the client, with the code 0."""
    counted = asyncio.get_running_loop().create_future()

    async def handler(request):
        request.transport.abort()
        return web.Response()

    def observe(record):
        if not counted.done():
            counted.set_result(record)

    async with served(handler, observer=observe) as (list_watch, _):
        waiting = asyncio.create_task(anext(list_watch.stream(target())))
        assert (await counted).code == 0
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def test_a_forbidden_list_is_known_after_one_request_with_the_rule_to_add():
    """It is not tried again for a quarter of a minute in which nobody knows what is wrong."""
    asked = []

    async def handler(request):
        asked.append(request.path)
        return forbidden()

    async with served(handler) as (list_watch, _):
        with pytest.raises(WatchFailed) as failure:
            await anext(list_watch.stream(target()))
    assert failure.value.status == 403
    assert "# +kubebuilder:rbac:groups=example.com,resources=widgets,verbs=get;list;watch" in str(failure.value)
    assert len(asked) == 1


@pytest.mark.parametrize(("size", "asked"), [(2, "2"), (500, "100"), (0, None)])
async def test_pages_have_the_size_that_was_asked_for(size, asked):
    """0 stands for no limit. The first page is a small one: it shows how large the objects are."""
    limits = []

    async def handler(request):
        limits.append(request.query.get("limit"))
        return page("a")

    async with served(handler) as (list_watch, _):
        async for item in list_watch.stream(replace(target(), page_size=size)):
            if item is LISTED:
                break
    assert limits == [asked]


async def test_a_watch_that_is_interrupted_says_so_and_is_resumed_from_where_it_was():
    """The server hangs up, and is not there for a moment; nothing is listed again."""
    asked = []

    async def handler(request):
        if "watch" not in request.query:
            return page("a")
        asked.append(request.query["resourceVersion"])
        if len(asked) == 2:
            return web.json_response({"kind": "Status", "code": 503, "message": "not yet"}, status=503)
        response = web.StreamResponse()
        await response.prepare(request)
        changed = widget("b", version="8" if len(asked) == 1 else "9")
        await response.write(json.dumps({"type": "ADDED", "object": changed}).encode() + b"\n")
        return response

    async with served(handler) as (list_watch, _):
        items = []
        async for item in list_watch.stream(target()):
            items.append(item)
            if len(items) == 5:
                break
    listed, end, first, failure, second = items
    assert (listed["type"], end, first["object"]["metadata"]["resourceVersion"]) == (None, LISTED, "8")
    assert isinstance(failure, WatchFailed)
    assert (failure.status, second["object"]["metadata"]["resourceVersion"]) == (503, "9")
    assert asked[:3] == ["7", "8", "8"]

"""Lists and watches against a real HTTP server: what is counted, and how soon a refusal is known."""

import asyncio
import json
import tracemalloc
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from pykb.api.core.v1 import ConfigMap
from pykb.client import Client, Transport
from pykb.client.errors import Expired
from pykb.client.json_text import Page
from pykb.client.listwatch import LISTED, ClientListWatch, WatchFailed
from pykb.client.login import Credentials, StaticCredentials
from pykb.client.options import TransportOptions
from pykb.runtime.cache.informer import Informer

from .conftest import WIDGET, target, widget  # noqa: TID252 - shared by this folder only

FORBIDDEN = 'widgets.example.com is forbidden: User "x" cannot list resource "widgets" in API group "example.com"'


@asynccontextmanager
async def served(handler, observer=None, options=None):
    """Lists and watches on a server with this handler."""
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    source = StaticCredentials(Credentials(f"http://{host}:{port}", origin="a test"))
    async with Client(Transport(source, options, observer=observer)) as client:
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


@pytest.mark.parametrize("text", [b'{"type": "ADDED", "object": {"ki\n', b"<html>a proxy</html>\n", b"\xff\n"])
async def test_a_watch_with_a_line_that_is_not_json_is_resumed_from_where_it_was(text):
    """A proxy can end an answer anywhere, and with its own words."""
    asked = []

    async def handler(request):
        if "watch" not in request.query:
            return page("a")
        asked.append(request.query["resourceVersion"])
        line = json.dumps({"type": "ADDED", "object": widget("b", version=str(7 + len(asked)))}).encode() + b"\n"
        return web.Response(body=line + text if len(asked) == 1 else text if len(asked) == 2 else line)

    async with served(handler) as (list_watch, _):
        items = []
        async for item in list_watch.stream(target()):
            items.append(item)
            if len(items) == 5:
                break
    assert isinstance(items[3], WatchFailed)
    assert "the watch has a line that is not JSON" in str(items[3])
    assert items[4]["object"]["metadata"]["resourceVersion"] == "10"
    assert asked[:3] == ["7", "8", "8"]


def status(code, reason, **headers):
    """A refusal of the API server."""
    body = {"kind": "Status", "code": code, "reason": reason, "message": f"{reason} of the test"}
    return web.json_response(body, status=code, headers=headers)


async def open_watch(request):
    """Answer a watch that brings nothing."""
    response = web.StreamResponse()
    await response.prepare(request)
    await asyncio.get_running_loop().create_future()
    return response


async def heard_in_silence(handler):
    """The first four items of a stream, of which each watch falls silent."""
    options = TransportOptions(idle_timeout=timedelta(milliseconds=100))
    async with (
        asyncio.timeout(60),
        served(handler, options=options) as (list_watch, _),
        aclosing(list_watch.stream(target())) as stream,
    ):
        return [await anext(stream) for _ in range(4)]


async def test_a_server_that_answers_and_has_no_events_is_heard():
    """After its restart, the API server may send no bookmark before the first event. Its answer is a sign of life."""

    async def handler(request):
        return await open_watch(request) if "watch" in request.query else page("a")

    items = await heard_in_silence(handler)
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}}
    assert items[1:] == [LISTED, bookmark, bookmark]


async def test_a_watch_that_falls_silent_and_is_not_answered_again_has_failed():
    """Silence is no failure, but what follows may be one."""
    watches = []

    async def handler(request):
        if "watch" not in request.query:
            return page("a")
        watches.append(request)
        return status(503, "Unavailable") if len(watches) == 2 else await open_watch(request)

    items = await heard_in_silence(handler)
    assert items[1] is LISTED
    assert (items[2].status, items[3]["type"]) == (503, "BOOKMARK")


async def test_a_list_whose_token_expires_begins_again_and_deletes_nothing(running, caplog):
    """The API server forgets the version of a list between two pages. What was listed so far stays."""
    answers = iter((page("a", "b", more="1"), status(410, "Expired"), page("a", more="2"), page("c")))
    asked, heard = [], []
    again, resumed = asyncio.Event(), asyncio.Event()

    async def handler(request):
        if "watch" in request.query:
            return await open_watch(request)
        asked.append(request.query.get("continue"))
        if len(asked) == 3:
            again.set()
            await resumed.wait()
        return next(answers)

    async with asyncio.timeout(60), served(handler) as (list_watch, _):
        mirror = Informer(WIDGET, lambda raw: raw)
        mirror.add_handler(lambda event: heard.append((str(event.type), event.name)))
        running(mirror.run(list_watch, [target()]))
        await again.wait()
        assert heard == [("create", "a"), ("create", "b")]
        assert not mirror.has_synced
        resumed.set()
        await mirror.wait_for_sync()
        assert heard[2:] == [("update", "a"), ("create", "c"), ("delete", "b")]
        assert sorted(key.name for key in mirror.store.all_keys()) == ["a", "c"]
        assert not caplog.records
    assert asked == [None, "1", None, "2"]


async def test_the_pages_of_a_reader_end_when_their_token_expires():
    """It cannot know which objects are missing, so it does not begin again."""
    first = {"metadata": {"resourceVersion": "7", "continue": "1"}, "items": [{"metadata": {"name": "a"}}]}

    async def handler(request):
        return status(410, "Expired") if "continue" in request.query else web.json_response(first)

    async with served(handler) as (list_watch, _):
        client = Client(list_watch._exchange.connection)
        pages = client.iterate(ConfigMap)
        assert (await anext(pages)).metadata.name == "a"
        with pytest.raises(Expired, match="Expired of the test"):
            await anext(pages)


async def test_a_busy_server_is_asked_again_for_the_same_page_and_the_same_watch(running, caplog):
    """After the time that it names. The list does not begin again, and no watch is reported as broken."""
    answers = iter((page("a", more="1"), status(429, "TooManyRequests", **{"Retry-After": "0"}), page("b")))
    asked, watches = [], []
    watching = asyncio.Event()

    async def handler(request):
        if "watch" not in request.query:
            asked.append(request.query.get("continue"))
            return next(answers)
        watches.append(request.query["resourceVersion"])
        if len(watches) == 1:
            return status(429, "TooManyRequests", **{"Retry-After": "0"})
        watching.set()
        return await open_watch(request)

    async with asyncio.timeout(60), served(handler) as (list_watch, _):
        mirror = Informer(WIDGET, lambda raw: raw)
        running(mirror.run(list_watch, [target()]))
        await mirror.wait_for_sync()
        await watching.wait()
        assert sorted(key.name for key in mirror.store.all_keys()) == ["a", "b"]
        assert not caplog.records
    assert asked == [None, "1", "1"]
    assert watches == ["7", "7"]


def big_page(count):
    """The text of a page with objects that take much more memory than text once they are parsed."""
    items = [{**widget(f"w{number}"), "data": {f"k{n}": {} for n in range(50)}} for number in range(count)]
    return json.dumps({"items": items, "metadata": {"resourceVersion": "7"}}).encode()


async def test_a_page_is_not_in_memory_as_objects():
    """Neither while its objects are handled, nor while the watch runs."""
    text = big_page(1000)

    async def handler(request):
        if "watch" not in request.query:
            return web.Response(body=text, content_type="application/json")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(json.dumps({"type": "ADDED", "object": widget("b")}).encode() + b"\n")
        return response

    async with served(handler) as (list_watch, _):
        stream = list_watch.stream(target())
        tracemalloc.start()
        try:
            assert (await anext(stream))["object"]["metadata"]["name"] == "w0"
            tracemalloc.reset_peak()
            while await anext(stream) is not LISTED:
                pass
            assert tracemalloc.get_traced_memory()[1] < 3 * len(text)
            assert (await anext(stream))["object"]["metadata"]["name"] == "b"
            assert tracemalloc.get_traced_memory()[0] < len(text)
        finally:
            tracemalloc.stop()
        await stream.aclose()


VALUES = st.none() | st.booleans() | st.integers() | st.text()
# By default, a value may have 100 leaves. It hardly ever does, but Hypothesis then takes twice the time.
OBJECTS = st.dictionaries(st.text(), st.recursive(VALUES, st.lists, max_leaves=10))


@settings(max_examples=40)
@given(st.lists(OBJECTS), OBJECTS, st.permutations(("kind", "metadata", "items")), st.sampled_from((None, 2)))
def test_a_page_is_read_as_a_json_parser_reads_it(items, metadata, order, indent):
    """Whatever the order of its members, and with blanks between them."""
    whole = {"kind": "WidgetList", "metadata": metadata, "items": items}
    page = Page(json.dumps({name: whole[name] for name in order}, indent=indent).encode())
    assert list(page.items()) == items
    assert (page.metadata, page.count) == (metadata, len(items))


@pytest.mark.parametrize("items", ["null", "[]", " [ ] "])
def test_a_page_may_be_empty(items):
    """Go writes no array as null."""
    page = Page(b'{"items":%s,"metadata":{"resourceVersion":"7"}}' % items.encode())
    assert list(page.items()) == []
    assert page.metadata == {"resourceVersion": "7"}


@pytest.mark.parametrize(
    "text", ["", "[]", "<html>", '{"items"', '{"items":[{}', '{"items":[{} {}]}', '{"items":[{},]}']
)
def test_what_is_no_list_is_refused(text):
    """An answer of a proxy, or one that was cut."""
    with pytest.raises(json.JSONDecodeError):
        list(Page(text.encode()).items())

"""The transport against a real HTTP server: renewal, retries, limits, and what its errors say."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from pykb.client import Transport, TransportOptions
from pykb.client.connection import Call
from pykb.client.errors import NotFound, ServerUnreachable, ServiceUnavailable, TooManyRequests, Unauthorized
from pykb.client.login import Credentials, Impersonation, StaticCredentials


class InstantClock:
    """A clock on which every wait is over at once; it remembers the waits."""

    def __init__(self) -> None:
        self.slept: list[timedelta] = []

    def now(self) -> float:
        return sum(pause.total_seconds() for pause in self.slept)

    async def sleep(self, delay: timedelta) -> None:
        self.slept.append(delay)
        await asyncio.sleep(0)

    def call_at(self, when, callback):
        raise NotImplementedError


class RotatingTokens:
    """A source whose token goes up with each refresh."""

    def __init__(self, server: str) -> None:
        self.refreshed = 0
        self._credentials = Credentials(server, token="t0", origin="a test")

    async def current(self) -> Credentials:
        return self._credentials

    async def refresh(self) -> Credentials:
        self.refreshed += 1
        self._credentials = replace(self._credentials, token=f"t{self.refreshed}")
        return self._credentials


def _status(code: int, reason: str, **details: object) -> web.Response:
    body = {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": reason,
        "details": details,
    }
    return web.json_response(body, status=code)


@asynccontextmanager
async def _serving(handler):
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def _transport(server, clock=None, **options):
    return Transport(StaticCredentials(Credentials(server, origin="a test")), TransportOptions(**options), clock=clock)


async def test_a_refused_token_is_renewed_once_for_all_who_were_refused():
    """Many requests that get 401 at the same time cause one renewal, and all succeed after it."""
    arrived = 0
    together = asyncio.Event()

    async def handler(request):
        nonlocal arrived
        if request.headers["Authorization"] == "Bearer t0":
            arrived += 1
            if arrived == 5:
                together.set()
            await together.wait()
            return _status(401, "Unauthorized")
        return web.Response(body=request.headers["Authorization"].encode())

    async with _serving(handler) as server:
        source = RotatingTokens(server)
        async with Transport(source) as transport:
            answers = await asyncio.gather(*(transport.request(Call("GET", "/")) for _ in range(5)))
    assert answers == [b"Bearer t1"] * 5
    assert source.refreshed == 1


async def test_credentials_that_are_refused_twice_are_an_error():
    """A renewal that does not help is not repeated."""

    async def handler(request):
        return _status(401, "Unauthorized")

    async with _serving(handler) as server:
        source = RotatingTokens(server)
        async with Transport(source) as transport:
            with pytest.raises(Unauthorized):
                await transport.request(Call("GET", "/"))
    assert source.refreshed == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_busy_server_is_asked_again_when_it_says(method):
    """429 with Retry-After was not processed: every verb waits that long and tries again."""
    calls = 0

    async def handler(request):
        nonlocal calls
        calls += 1
        return web.Response(body=b"ok") if calls == 3 else web.Response(status=429, headers={"Retry-After": "7"})

    clock = InstantClock()
    async with _serving(handler) as server, _transport(server, clock) as transport:
        assert await transport.request(Call(method, "/", body=b"{}")) == b"ok"
    assert [pause >= timedelta(seconds=7) for pause in clock.slept] == [True, True]


async def test_a_pause_that_the_server_asks_for_is_kept_or_left_to_the_caller():
    """Half a minute is waited for, although the client's own pauses are shorter. Nobody waits for two minutes here."""
    asked = ["30", "120"]

    async def handler(request):
        return web.Response(status=429, headers={"Retry-After": asked.pop(0)})

    clock = InstantClock()
    async with _serving(handler) as server, _transport(server, clock) as transport:
        with pytest.raises(TooManyRequests) as error:
            await transport.request(Call("GET", "/"))
    assert error.value.retry_after == timedelta(minutes=2)
    assert [pause >= timedelta(seconds=30) for pause in clock.slept] == [True]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_web_page_is_no_answer_of_an_api_server(method):
    """A proxy that wants a login sends one with code 200. Text of another type may begin as a page does."""
    asked = []

    async def handler(request):
        asked.append(request.path)
        is_page = request.path != "/log"
        return web.Response(text="<html>log in", content_type="text/html" if is_page else "text/plain")

    async with _serving(handler) as server, _transport(server, InstantClock()) as transport:
        with pytest.raises(ServerUnreachable, match="a web page came instead of JSON"):
            await transport.request(Call(method, "/", body=b"{}"))
        assert asked == ["/"]
        assert await transport.request(Call("GET", "/log")) == b"<html>log in"


async def test_a_disruption_budget_is_no_reason_to_wait():
    """An eviction that a budget forbids is a 429 as well, and is the caller's to decide about."""

    async def handler(request):
        return _status(429, "TooManyRequests", causes=[{"reason": "DisruptionBudget", "message": "no"}])

    async with _serving(handler) as server, _transport(server, InstantClock()) as transport:
        with pytest.raises(TooManyRequests) as caught:
            await transport.request(Call("POST", "/", body=b"{}"))
    assert caught.value.causes[0].reason == "DisruptionBudget"


@pytest.mark.parametrize(("repeatable", "expected"), [(True, 4), (False, 1)])
async def test_a_failing_server_is_asked_again_only_where_that_does_no_harm(repeatable, expected):
    """A 503 without Retry-After is repeated for what may be done twice, and reported for the rest."""
    calls = 0

    async def handler(request):
        nonlocal calls
        calls += 1
        return _status(503, "ServiceUnavailable")

    clock = InstantClock()
    async with _serving(handler) as server, _transport(server, clock, attempts=4) as transport:
        with pytest.raises(ServiceUnavailable):
            await transport.request(Call("GET", "/", repeatable=repeatable))
    assert calls == expected
    assert clock.slept == sorted(clock.slept)


@pytest.mark.parametrize(("repeatable", "expected"), [(True, 3), (False, 1)])
async def test_a_lost_answer_is_asked_for_again_only_where_that_does_no_harm(repeatable, expected):
    """A connection that breaks after the request was sent leaves open whether it was done."""
    calls = 0

    async def handler(request):
        nonlocal calls
        calls += 1
        request.transport.abort()
        return web.Response()

    async with _serving(handler) as server, _transport(server, InstantClock(), attempts=3) as transport:
        with pytest.raises(ServerUnreachable) as caught:
            await transport.request(Call("PATCH", "/", body=b"{}", repeatable=repeatable))
    assert caught.value.connected
    assert calls == expected


async def test_an_unreachable_server_says_what_to_do(unused_tcp_port):
    """Nothing listens: any verb is tried again, and the diagnostic names the server and the kubeconfig."""
    clock = InstantClock()
    async with _transport(f"http://127.0.0.1:{unused_tcp_port}", clock, attempts=3) as transport:
        with pytest.raises(ServerUnreachable) as caught:
            await transport.request(Call("POST", "/", body=b"{}"))
    assert not caught.value.connected
    assert len(clock.slept) == 2
    diagnostic = caught.value.diagnostic
    assert f"`http://127.0.0.1:{unused_tcp_port}` does not answer" in diagnostic.message
    assert diagnostic.notes == ("the server is that of a test",)
    assert "pykb cluster up" in diagnostic.help[0]


async def test_a_slow_answer_is_given_up():
    """The time for a whole answer is limited, and the error says so."""

    async def handler(request):
        await asyncio.sleep(60)

    async with _serving(handler) as server, _transport(server, InstantClock(), attempts=1) as transport:
        with pytest.raises(ServerUnreachable, match="no answer in time"):
            await transport.request(Call("GET", "/", timeout=timedelta(milliseconds=50)))


async def test_no_more_requests_are_on_the_way_than_allowed():
    """The number of connections is bounded however many tasks ask."""
    now = most = 0

    async def handler(request):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.005)
        now -= 1
        return web.Response(body=b"ok")

    async with _serving(handler) as server, _transport(server, max_connections=3) as transport:
        await asyncio.gather(*(transport.request(Call("GET", "/")) for _ in range(30)))
    assert most == 3


async def test_streams_do_not_take_the_place_of_requests():
    """With every slot in use by streams, requests still get through."""
    hold = asyncio.Event()

    async def handler(request):
        if request.path == "/watch":
            response = web.StreamResponse()
            await response.prepare(request)
            await hold.wait()
            return response
        return web.Response(body=b"ok")

    async with _serving(handler) as server, _transport(server, max_connections=1) as transport:
        async with transport.stream(Call("GET", "/watch")), transport.stream(Call("GET", "/watch")):
            assert await transport.request(Call("GET", "/")) == b"ok"
        hold.set()


async def test_a_stream_that_falls_silent_counts_as_broken():
    """A watch that stalls without an end is given up, so that it can be opened again."""
    hold = asyncio.Event()

    async def handler(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{}\n")
        await hold.wait()
        return response

    async with _serving(handler) as server, _transport(server, idle_timeout=timedelta(milliseconds=100)) as transport:
        async with transport.stream(Call("GET", "/")) as lines:
            assert await anext(lines) == b"{}"
            with pytest.raises(ServerUnreachable, match="no answer in time"):
                await anext(lines)
        hold.set()


async def test_a_password_goes_as_basic_authentication():
    """A user entry with a name and a password."""

    async def handler(request):
        return web.Response(body=request.headers["Authorization"].encode())

    async with _serving(handler) as server:
        source = StaticCredentials(Credentials(server, username="ann", password="pässword"))
        async with Transport(source) as transport:
            assert await transport.request(Call("GET", "/")) == b"Basic YW5uOnDDpHNzd29yZA=="


async def test_lines_of_a_stream_may_be_long_and_come_in_pieces():
    """A line longer than any buffer, and a line cut in two, arrive whole."""
    lines = [b'{"a":"' + b"x" * 3_000_000 + b'"}', b"{}", b'{"b":1}']

    async def handler(request):
        response = web.StreamResponse()
        await response.prepare(request)
        content = b"\n".join(lines) + b"\n"
        for start in range(0, len(content), 700_001):
            await response.write(content[start : start + 700_001])
        return response

    async with (
        _serving(handler) as server,
        _transport(server) as transport,
        transport.stream(Call("GET", "/")) as stream,
    ):
        assert [line async for line in stream] == lines


async def test_a_request_carries_its_headers_and_its_query():
    """Who we are, whom we act as, and the query as given: encoded once."""

    async def handler(request):
        headers = {name: request.headers.getall(name) for name in request.headers if name.startswith(("Imp", "User"))}
        return web.json_response({"headers": headers, "query": dict(request.query), "path": request.raw_path})

    whom = Impersonation("ann", uid="7", groups=("a", "b"), extra=(("example.com/scope", ("x", "y")),))
    async with _serving(handler) as server, _transport(server) as transport:
        query = (("labelSelector", "a in (b,c),d!=e"), ("continue", "x+/="))
        answer = json.loads(await transport.request(Call("GET", "/p/a%3Ab", query=query, impersonate=whom)))
    assert answer["query"] == dict(query)
    assert answer["path"].startswith("/p/a%3Ab?")
    headers = answer["headers"]
    assert headers["User-Agent"][0].startswith("pykb/")
    assert (headers["Impersonate-User"], headers["Impersonate-Group"]) == (["ann"], ["a", "b"])
    assert headers["Impersonate-Extra-example.com%2Fscope"] == ["x", "y"]


async def test_each_attempt_is_observed():
    """The observer sees method, host, code and time of each attempt, also of one without an answer."""
    calls = 0
    seen = []

    async def handler(request):
        nonlocal calls
        calls += 1
        return _status(500, "InternalError") if calls == 1 else _status(404, "NotFound", name="x")

    async with _serving(handler) as server:
        source = StaticCredentials(Credentials(server))
        async with Transport(source, clock=InstantClock(), observer=seen.append) as transport:
            with pytest.raises(NotFound):
                await transport.request(Call("GET", "/", repeatable=True))
    assert [(record.method, record.code) for record in seen] == [("GET", 500), ("GET", 404)]
    assert server.endswith(seen[0].host)


async def test_warnings_of_the_server_are_logged_once(caplog):
    """What the API server warns of (a deprecated version, an unknown field) reaches the log, each text once."""

    async def handler(request):
        return web.Response(body=b"{}", headers={"Warning": '299 - "unknown field \\"spec.foo\\""'})

    async with _serving(handler) as server, _transport(server) as transport:
        await transport.request(Call("GET", "/"))
        await transport.request(Call("GET", "/"))
    assert [record.warning for record in caplog.records] == ['unknown field "spec.foo"']


async def test_a_proxy_of_the_environment_is_used_but_not_for_what_it_excludes(monkeypatch):
    """HTTP(S)_PROXY and NO_PROXY count, a proxy of the kubeconfig counts more."""
    from pykb.client.server import environment_proxy

    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "10.0.0.1,.cluster.local")
    assert environment_proxy("https://api.example:6443") == "http://proxy.example:3128"
    assert environment_proxy("https://10.0.0.1:443") is None
    assert environment_proxy("https://kubernetes.cluster.local") is None


async def test_close_leaves_no_socket_of_a_handshake_given_up():
    """A request cancelled while TLS is agreed on: a program may end its loop right after `close`."""
    accepted = asyncio.Event()
    released = asyncio.Event()

    async def says_nothing(_reader, writer):
        accepted.set()
        await released.wait()
        writer.close()

    server = await asyncio.start_server(says_nothing, "127.0.0.1", 0)
    before = _sockets()
    transport = _transport(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    request = asyncio.create_task(transport.request(Call("GET", "/version")))
    await accepted.wait()
    opened_by_the_server = 1
    request.cancel()
    await transport.close()
    assert len(_sockets() - before) <= opened_by_the_server
    released.set()
    server.close()
    await server.wait_closed()


def _sockets():
    """The sockets that this process has open."""
    return {
        target
        for each in Path("/proc/self/fd").iterdir()
        if each.is_symlink() and (target := str(each.readlink())).startswith("socket:")
    }

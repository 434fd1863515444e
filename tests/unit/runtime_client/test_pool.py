"""Connections and what goes over them, against servers that answer byte by byte as told."""

import asyncio
import gzip
import ssl
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import uvloop

from pykb.client._pool import ConnectFailed, ConnectionLost, Peer, Pool
from pykb.client.connection import Call
from pykb.client.login import Credentials, Impersonation
from pykb.client.server import Server

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Script:
    """A server: gives each connection's requests the answers of a list, in order; counts connections."""

    def __init__(self, *answers, greeting=b""):
        self._greeting = greeting
        self._answers = list(answers)
        self._writers = []
        self.connections = 0
        self.requests = []
        self.asked = asyncio.Event()
        self.ended = asyncio.Event()

    async def serve(self, reader, writer):
        self.connections += 1
        self._writers.append(writer)
        writer.write(self._greeting)
        try:
            while self._answers:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                self.asked.set()
                answer = self._answers.pop(0)
                for piece in answer if isinstance(answer, list) else [answer]:
                    if piece is None:
                        writer.close()
                        return
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0.001)
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.ended.set()
            writer.close()

    def hang_up(self):
        """End the connections that clients have left open."""
        for writer in self._writers:
            writer.close()


@asynccontextmanager
async def _pool(script, connect_timeout=60.0, **options):
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    pool = Pool(connect_timeout, **options)
    try:
        yield pool, Peer("127.0.0.1", server.sockets[0].getsockname()[1])
    finally:
        await pool.close()
        script.hang_up()
        server.close()
        await server.wait_closed()


def _answer(body=b"ok", status="200 OK", *headers):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        pytest.param(_answer(b"body"), b"body", id="of known length"),
        pytest.param(_answer(b""), b"", id="empty"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", b"", id="without one"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2;x=y\r\ndy\r\n0\r\nTrailer: t\r\n\r\n",
            b"body",
            id="in chunks",
        ),
        pytest.param([b"HTTP/1.1 200 OK\r\n\r\n", b"bo", b"dy", None], b"body", id="to the end of the connection"),
        pytest.param([bytes([each]) for each in _answer(b"body")], b"body", id="a byte at a time"),
        pytest.param(
            b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + _answer(b"body"), b"body", id="after an interim answer"
        ),
        pytest.param(_answer(gzip.compress(b"body"), "200 OK", "Content-Encoding: gzip"), b"body", id="packed"),
    ],
)
async def test_a_body_arrives_whole(answer, body):
    """Whatever way a server marks the end of a body."""
    async with _pool(Script(answer)) as (pool, peer):
        assert (await pool.exchange(peer, REQUEST)).body == body


async def test_headers_are_found_by_name_in_lower_case():
    """Names are case-insensitive, and a header may come more than once."""
    async with _pool(Script(_answer(b"", "429 Busy", "Retry-After: 7", "Warning: a", "WARNING: b"))) as (pool, peer):
        answer = await pool.exchange(peer, REQUEST)
    assert answer.status == 429
    assert (answer.values("retry-after"), answer.values("warning"), answer.values("age")) == (["7"], ["a", "b"], [])


async def test_a_connection_is_used_again():
    """One after another, requests share a connection; at the same time, each has its own."""
    script = Script(*[_answer()] * 5)
    async with _pool(script) as (pool, peer):
        for _ in range(3):
            await pool.exchange(peer, REQUEST)
        assert script.connections == 1
        await asyncio.gather(pool.exchange(peer, REQUEST), pool.exchange(peer, REQUEST))
        assert script.connections == 2


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(_answer(b"ok", "200 OK", "Connection: close"), id="which the server says it closes"),
        pytest.param([_answer(), None], id="which the server closed while it was idle"),
        pytest.param([_answer(), _answer(b"", "408 Request Timeout")], id="on which the server spoke unasked"),
    ],
)
async def test_a_connection_is_not_used_again(last):
    """What cannot carry another request is replaced before one is lost on it."""
    script = Script(last, _answer(b"second"))
    async with _pool(script) as (pool, peer):
        await pool.exchange(peer, REQUEST)
        await asyncio.sleep(0.05)  # the server's word travels
        assert (await pool.exchange(peer, REQUEST)).body == b"second"
    assert script.connections == 2


async def test_the_same_peer_said_anew_is_the_same_peer():
    """A new token changes what is sent, not the connection it is sent on."""
    script = Script(*[_answer()] * 3)
    async with _pool(script) as (pool, peer):
        for _ in range(3):
            await pool.exchange(replace(peer), REQUEST)
    assert script.connections == 1


async def test_a_connection_that_was_idle_for_long_is_not_trusted():
    """What lies between client and server may have dropped it without telling either."""
    script = Script(*[_answer()] * 2)
    async with _pool(script, trusted_for=-1.0) as (pool, peer):
        await pool.exchange(peer, REQUEST)
        await pool.exchange(peer, REQUEST)
    assert script.connections == 2


async def test_another_peer_ends_the_connections_to_the_last():
    """New certificates mean new connections: the old ones were admitted by the old."""
    first = Script(_answer(b"first"), _answer(b"never"))
    second = Script(_answer(b"second"))
    async with _pool(first) as (pool, peer), _pool(second) as (_, other):
        assert (await pool.exchange(peer, REQUEST)).body == b"first"
        assert (await pool.exchange(other, REQUEST)).body == b"second"
        await asyncio.wait_for(first.ended.wait(), 20)
        assert first.requests == [REQUEST]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param([None], "closed the connection", id="nothing"),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-Le", None], "closed the connection", id="half a head"),
        pytest.param([_answer(b"body")[:-2], None], "closed the connection", id="half a body"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP/1.1", id="another protocol"),
        pytest.param(_answer(b"no gzip", "200 OK", "Content-Encoding: gzip"), "cannot be unpacked", id="badly packed"),
    ],
)
async def test_an_answer_that_is_none_is_an_error_and_ends_the_connection(answer, said):
    """Nothing that was half understood is taken for an answer, and the next request starts anew."""
    script = Script(answer, _answer(b"second"))
    async with _pool(script) as (pool, peer):
        with pytest.raises(ConnectionLost, match=said):
            await pool.exchange(peer, REQUEST)
        assert (await pool.exchange(peer, REQUEST)).body == b"second"
    assert script.connections == 2


async def test_a_cancelled_request_ends_its_connection():
    """The answer that still comes must not be taken for the next request's."""
    script = Script([], _answer(b"second"))
    async with _pool(script) as (pool, peer):
        request = asyncio.create_task(pool.exchange(peer, REQUEST))
        await script.asked.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        assert (await pool.exchange(peer, REQUEST)).body == b"second"
    assert script.connections == 2


async def test_closing_ends_a_request_under_way():
    """Nobody waits for an answer on a connection that is gone."""
    script = Script([])
    async with _pool(script) as (pool, peer):
        request = asyncio.create_task(pool.exchange(peer, REQUEST))
        await script.asked.wait()
        await pool.close()
        with pytest.raises(ConnectionLost):
            await request


async def test_closing_ends_a_connection_that_is_being_made():
    """What connects when the pool is closed is not left behind, connected, for nobody."""
    async with _pool(Script()) as (pool, plain):
        request = asyncio.create_task(
            pool.exchange(Peer(plain.host, plain.port, ssl.create_default_context()), REQUEST)
        )
        await asyncio.sleep(0.01)
        await pool.close()
        with pytest.raises(ConnectFailed):
            await request


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_handshake_that_stalls_is_given_up(loop_factory):
    """TLS is part of the time that a connection may take; nothing is left open by it, in either event loop."""

    async def main():
        async with _pool(Script([]), connect_timeout=0.1) as (pool, plain):
            peer = Peer(plain.host, plain.port, ssl.create_default_context())
            with pytest.raises(ConnectFailed) as caught:
                await pool.exchange(peer, REQUEST)
            assert isinstance(caught.value.__cause__, TimeoutError)

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())


@pytest.mark.parametrize(
    ("host", "tls"),
    [
        pytest.param("no-such-host.invalid", False, id="unknown name"),
        pytest.param("a" * 70 + ".example", False, id="impossible name"),
        pytest.param("127.0.0.1", True, id="no TLS there"),
    ],
)
async def test_what_was_never_sent_is_told_from_what_was_lost(host, tls):
    """`ConnectFailed` means that the request may be sent again, whatever it does."""
    async with _pool(Script(_answer(), greeting=b"220 mail.example ESMTP\r\n")) as (pool, plain):
        peer = Peer(host, plain.port, ssl.create_default_context() if tls else None)
        with pytest.raises(ConnectFailed):
            await pool.exchange(peer, REQUEST)


def test_a_request_has_a_head_and_a_body():
    """Every byte of a request with a body, below a path of the server's URL and with a port."""
    server = Server(Credentials("https://[::1]:6443/k8s/c1", token="secret"))
    call = Call("PATCH", "/api/v1/x", query=(("a", "b c"),), body=b"{}", content_type="application/merge-patch+json")
    head, body = server.request(call).split(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "PATCH /k8s/c1/api/v1/x?a=b+c HTTP/1.1"
    assert {"Host: [::1]:6443", "Content-Length: 2", "Authorization: Bearer secret"} < set(lines)
    assert "Content-Type: application/merge-patch+json" in lines
    assert body == b"{}"
    assert (server.peer.host, server.peer.port) == ("::1", 6443)


@pytest.mark.parametrize(
    ("call", "credentials"),
    [
        pytest.param(Call("GET", "/a b"), {}, id="a space in the path"),
        pytest.param(Call("GET", "/a\r\nX: y"), {}, id="a header in the path"),
        pytest.param(Call("GET", "/ä"), {}, id="a path that is not encoded"),
        pytest.param(Call("GET", "a"), {}, id="a path without a slash"),
        pytest.param(Call("GET", "/", accept="a\r\nX: y"), {}, id="a header in a header"),
        pytest.param(Call("GET", "/", impersonate=Impersonation("a\nb")), {}, id="a header in a user"),
        pytest.param(Call("GET", "/"), {"token": "se\ncret"}, id="a line break in a token"),
    ],
)
def test_nothing_can_be_smuggled_into_a_request(call, credentials):
    """What would end a line before its time is refused, without showing a token."""
    with pytest.raises(ValueError, match=r"percent-encoded|line break") as caught:
        Server(Credentials("http://127.0.0.1", **credentials)).request(call)
    assert "cret" not in str(caught.value)


def test_a_new_token_takes_over_the_tls_context():
    """A context costs milliseconds and memory; only new certificates need a new one."""
    first = Server(Credentials("https://127.0.0.1", token="a"))
    second = Server(Credentials("https://127.0.0.1", token="b"), before=first)
    third = Server(Credentials("https://127.0.0.1", token="b", insecure=True), before=second)
    assert second.tls is first.tls
    assert third.tls is not first.tls
    assert b"Bearer b" in second.request(Call("GET", "/"))

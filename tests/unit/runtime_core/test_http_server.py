"""What goes over a connection of a server, byte by byte."""

import asyncio
import contextlib
import gc
import weakref
from datetime import timedelta

import pytest

from pykb.client.clock import SystemClock
from pykb.serving import BindAddress, HttpError, HttpRequest, HttpResponse, HttpServer, Limits, Routes
from pykb.serving._connections import HEADERS, Connections, ServerProtocol
from pykb.testing import eventually

LOOPBACK = BindAddress("127.0.0.1", 0)

FAILURES = {"/bug": KeyError("secret"), "/panic": BaseException("secret"), "/given-up": asyncio.CancelledError()}
ANSWERS_THAT_ARE_NONE = {
    "/header": HttpResponse(headers={"X": "secret €"}),
    "/status": HttpResponse(status=1),
    "/text": HttpResponse("secret"),  # type: ignore[arg-type]
    "/nothing": None,
}


class Echo:
    """Answers with what it was asked, and can be held up."""

    def __init__(self):
        self.asked: list[HttpRequest] = []
        self.was_asked = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def __call__(self, request):
        self.asked.append(request)
        self.was_asked.set()
        await self.go_on.wait()
        if request.path in FAILURES:
            raise FAILURES[request.path]
        if request.path in ANSWERS_THAT_ARE_NONE:
            return ANSWERS_THAT_ARE_NONE[request.path]
        if request.path == "/teapot":
            raise HttpError(418, "short and stout\n", {"X-Spout": "yes"})
        return HttpResponse(request.body or request.path.encode())


@pytest.fixture
def echo():
    """A handler."""
    return Echo()


@pytest.fixture
async def talk(echo, running):
    """Sends bytes to a server on a connection of their own; gives all that comes until the connection ends.

    It pauses between the pieces, or waits for an event.
    """
    server = HttpServer("test", LOOPBACK, echo, body_limit=1000)
    running(server.run())
    await server.listening()

    async def send(*pieces, after=None):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for piece in pieces:
            writer.write(piece.encode("latin-1"))
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            await (asyncio.sleep(0.005) if after is None else after.wait())
        answer = (await asyncio.wait_for(reader.read(), 25)).decode("latin-1")
        writer.close()
        return answer

    return send


@pytest.fixture
async def answers_to(echo, running):
    """Sends requests on one connection, each after the answer to the one before; gives the answers."""
    server = HttpServer("test", LOOPBACK, echo, body_limit=1000)
    running(server.run())
    await server.listening()

    async def send(*requests):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        answers = []
        for request in requests:
            writer.write(request.encode("latin-1"))
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 25)
            length = int(head.lower().partition(b"content-length: ")[2].split()[0])
            answers.append((head + await reader.readexactly(length)).decode("latin-1"))
        writer.close()
        return answers

    return send


END = "GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def test_requests_on_one_connection_are_answered_one_after_another(answers_to, echo):
    """With all that a request says."""
    one = "POST /a%20b?x=1&x=2&y HTTP/1.1\r\nHost: x:80\r\nContent-Length: 3\r\n\r\none"
    answers = await answers_to(one, one.replace("one", "two"), END)
    assert [answer.rpartition("\r\n\r\n")[2] for answer in answers] == ["one", "two", "/end"]
    first = echo.asked[0]
    assert (first.method, first.path, first.host) == ("POST", "/a b", "x")
    assert first.query == {"x": ["1", "2"], "y": [""]}
    assert ["Connection: close" in answer for answer in answers] == [False, False, True]


async def test_a_request_may_come_byte_by_byte(talk):
    """Head and body."""
    answer = await talk(*"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde")
    assert answer.endswith("\r\n\r\nabcde")


TWICE = {
    "whole": "GET /x HTTP/1.1\r\nHost: x\r\n\r\n" * 2,
    "begun": "GET /x HTTP/1.1\r\nHost: x\r\n\r\nG",
    "after a body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nab",
}


@pytest.mark.parametrize("sent", TWICE.values(), ids=TWICE)
async def test_a_second_request_before_the_answer_is_refused(talk, echo, sent):
    """Neither is begun, and the connection is closed: nothing can be piled up."""
    answer = await talk(sent)
    assert answer.startswith("HTTP/1.1 400 Bad Request\r\n")
    assert answer.endswith("send the next request after the answer\n")
    assert echo.asked == []


async def test_what_comes_while_a_request_is_served_ends_it(talk, echo):
    """The request is cancelled, and its answer does not come."""
    echo.go_on.clear()
    pieces = "GET /x HTTP/1.1\r\nHost: x\r\n\r\n", "GET /y HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = await talk(*pieces, after=echo.was_asked)
    assert answer.startswith("HTTP/1.1 400 Bad Request\r\n")
    assert answer.count("HTTP/1.1") == 1
    assert [request.path for request in echo.asked] == ["/x"]


async def test_a_body_of_unknown_length_is_refused(answers_to, echo):
    """411, without a look at its chunks and trailers."""
    head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    (answer,) = await answers_to(head + "3\r\nabc\r\n0\r\n" + "a:\r\n" * 1000)
    assert answer.startswith("HTTP/1.1 411 Length Required\r\n")
    assert "Connection: close\r\n" in answer
    assert echo.asked[0].headers == {"host": "x", "transfer-encoding": "chunked"}


@pytest.mark.parametrize(
    "request_line",
    ["HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close", "HEAD / HTTP/1.0"],
)
async def test_an_answer_to_head_has_no_body(talk, request_line):
    """It says how long the body would be."""
    answer = await talk(f"{request_line}\r\n\r\n")
    assert "Content-Length: 1\r\n" in answer
    assert answer.endswith("\r\n\r\n")


async def test_the_connection_of_an_old_client_ends_with_the_answer(talk):
    """HTTP/1.0 knows no other."""
    assert (await talk("GET /x HTTP/1.0\r\n\r\n")).endswith("Connection: close\r\n\r\n/x")


async def test_who_waits_for_leave_to_send_a_body_gets_it(talk):
    """`Expect: 100-continue`, as curl sends it."""
    head = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    answer = await talk(head, "ok")
    assert answer.startswith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("path", ["/bug", "/panic", *ANSWERS_THAT_ARE_NONE])
async def test_what_fails_is_answered_for_and_logged(answers_to, caplog, path):
    """A handler, or its answer, which cannot be written. The client learns nothing of it, and may ask again."""
    failed, next_one = await answers_to(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n", END)
    assert "500 Internal Server Error" in failed
    assert "secret" not in failed
    assert next_one.endswith("/end")
    assert [record.getMessage() for record in caplog.records] == ["request failed"]


async def test_a_request_that_is_given_up_ends_the_connection(talk):
    """There is no answer, and the client does not wait for one."""
    assert await talk("GET /given-up HTTP/1.1\r\nHost: x\r\n\r\n") == ""


async def test_a_refusal_has_its_text_and_headers(answers_to):
    """And the connection stays."""
    answer, next_one = await answers_to("GET /teapot HTTP/1.1\r\nHost: x\r\n\r\n", END)
    assert "HTTP/1.1 418 I'm a Teapot\r\n" in answer
    assert "X-Spout: yes\r\n" in answer
    assert answer.endswith("short and stout\n")
    assert next_one.endswith("/end")


@pytest.mark.parametrize(
    "sent",
    [
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "\x00" * 40,
        "NONSENSE\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n broken\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
        f"GET /?{'&'.join(f'a{n}=1' for n in range(100))} HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_refused_and_ends_the_connection(talk, echo, sent, caplog):
    """Above all what two parsers could read differently. The log has no line of it."""
    answer = await talk(sent)
    assert answer.startswith("HTTP/1.1 400 Bad Request\r\n")
    assert echo.asked == []
    assert caplog.records == []


async def test_a_body_that_is_too_large_at_no_url_is_refused(talk, echo):
    """Both are wrong, and one answer comes."""
    answer = await talk(f"POST /?{'a&' * 200} HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n")
    assert answer.startswith("HTTP/1.1 400 Bad Request\r\n")
    assert echo.asked == []


async def test_no_other_protocol_is_spoken(talk):
    """A client that would rather have another gets its answer in this one, and nothing after it."""
    upgrade = "GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    answer = await talk(upgrade + END)
    assert answer.endswith("/x")
    assert "Connection: close\r\n" in answer


class Instant(asyncio.Transport):
    """A client that has its next request there in the same turn of the loop in which it gets an answer."""

    def __init__(self, requests):
        super().__init__()
        self.requests, self.answers, self.protocol = requests, [], None

    def next(self):
        """Send one."""
        if self.requests:
            self.protocol.data_received(self.requests.pop(0))

    def write(self, data):
        """Take the answer."""
        self.answers.append(data)
        asyncio.get_running_loop().call_soon(self.next)

    def is_closing(self):
        """It stays."""
        return False

    def close(self):
        """Note it."""
        self.answers.append("closed")


async def test_a_request_that_comes_in_the_moment_after_an_answer_is_answered(echo):
    """Before the event loop has taken note that the answer is complete."""
    get = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
    client = Instant([get, get, END.encode()])
    connections = Connections("test", Limits(), SystemClock())
    protocol = ServerProtocol(echo, connections, connections.add(), body_limit=10, open_ones=set())
    client.protocol = protocol
    protocol.connection_made(client)
    client.next()
    await eventually(lambda: len(client.answers) == 4)
    assert client.answers.pop() == "closed"
    assert [answer.rpartition(b"\r\n")[2] for answer in client.answers] == [b"/x", b"/x", b"/end"]


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 200_000, b"HTTP/1.1 431"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"a:\r\n" * 200_000, b"HTTP/1.1 411"),
    ],
    ids=["headers", "trailers"],
)
async def test_headers_are_counted_while_they_are_read(echo, sent, answer):
    """The parser stops at the first that is too many, and reads no trailer at all."""
    client = Instant([sent])
    connections = Connections("test", Limits(received=1 << 24), SystemClock())
    protocol = ServerProtocol(echo, connections, connections.add(), body_limit=10, open_ones=set())
    client.protocol = protocol
    protocol.connection_made(client)
    client.next()
    assert protocol._fields <= HEADERS + 1
    await eventually(lambda: bool(client.answers))
    assert client.answers[0].startswith(answer)
    gc.collect()
    gc.disable()
    try:
        protocol.connection_lost(None)
        client.protocol, rest = None, weakref.ref(protocol)
        del protocol
        assert rest() is None  # nothing waits for the garbage collector, as an error with its traceback would
    finally:
        gc.enable()


async def test_running_requests_are_finished_at_the_end_and_new_ones_not_begun(echo):
    """Idle connections are closed at once."""
    server = HttpServer("test", LOOPBACK, echo, drain=timedelta(seconds=5))
    serving = asyncio.create_task(server.run())
    await server.listening()
    idle, idle_writer = await asyncio.open_connection("127.0.0.1", server.port)
    idle_writer.write(b"GET /idle HTTP/1.1\r\nHost: x\r\n\r\n")
    await idle.readuntil(b"/idle")
    echo.go_on.clear()
    busy, busy_writer = await asyncio.open_connection("127.0.0.1", server.port)
    busy_writer.write(b"GET /busy HTTP/1.1\r\nHost: x\r\n\r\n")
    await eventually(lambda: len(echo.asked) == 2)
    serving.cancel()
    assert await asyncio.wait_for(idle.read(), 25) == b""
    echo.go_on.set()
    answer = (await asyncio.wait_for(busy.read(), 25)).decode()
    assert answer.endswith("Connection: close\r\n\r\n/busy")
    assert answer.count("200 OK") == 1
    await asyncio.gather(serving, return_exceptions=True)
    for writer in (idle_writer, busy_writer):
        writer.close()


async def test_a_request_that_takes_too_long_at_the_end_is_broken_off(echo):
    """The process must end."""
    echo.go_on.clear()
    server = HttpServer("test", LOOPBACK, echo, drain=timedelta(milliseconds=20))
    serving = asyncio.create_task(server.run())
    await server.listening()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /busy HTTP/1.1\r\nHost: x\r\n\r\n")
    await eventually(lambda: bool(echo.asked))
    serving.cancel()
    assert await asyncio.wait_for(reader.read(), 25) == b""
    await asyncio.gather(serving, return_exceptions=True)
    writer.close()


async def test_paths_and_methods_lead_to_handlers():
    """What is not there is 404, and what cannot be done there 405 with what can."""

    async def answer(request):
        return HttpResponse.text(request.path)

    routes = Routes()
    routes.add("/a", answer)
    routes.add("/a", answer, method="PUT")
    routes.add("/below/*", answer)
    for path in ("/a", "/below/x"):
        assert (await routes(HttpRequest("GET", path))).body == path.encode()
    assert (await routes(HttpRequest("HEAD", "/a"))).status == 200
    for method, path, status in (("GET", "/b", 404), ("GET", "/below/x/y", 404), ("POST", "/a", 405)):
        with pytest.raises(HttpError) as refused:
            await routes(HttpRequest(method, path))
        assert refused.value.status == status
    assert refused.value.response.headers == {"Allow": "GET, PUT"}


class Parts:
    """Answers in parts."""

    def __init__(self, *parts, error=None, repeats=1):
        self.parts = parts
        self.error = error
        self.repeats = repeats
        self.taken = 0
        self.go_on = asyncio.Event()
        self.ended = asyncio.Event()

    async def __call__(self, request):
        return HttpResponse(parts=self._yield(), content_type="text/event-stream")

    async def _yield(self):
        try:
            for _ in range(self.repeats):
                for part in self.parts:
                    self.taken += 1
                    yield part
            if self.error is not None:
                raise self.error
            await self.go_on.wait()
        finally:
            self.ended.set()


@pytest.fixture
async def opened(running):
    """Sends a request to a server whose handler is given; gives what reads and writes the connection."""

    async def begin(handler, text="GET / HTTP/1.1\r\nHost: x\r\n\r\n", *, limit=2**16):
        server = HttpServer("test", LOOPBACK, handler, drain=timedelta(0))
        task = running(server.run())
        await server.listening()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=limit)
        writer.write(text.encode("latin-1"))
        return reader, writer, task

    return begin


async def test_an_answer_in_parts_comes_part_by_part(opened):
    """Of unknown length, until the connection ends."""
    handler = Parts(b"one\n", b"two\n")
    reader, writer, _ = await opened(handler)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    assert "Connection: close" in head
    assert "Content-Length" not in head
    assert await reader.readexactly(8) == b"one\ntwo\n"
    assert not handler.ended.is_set()
    handler.go_on.set()
    assert await asyncio.wait_for(reader.read(), 25) == b""
    writer.close()


async def test_a_head_has_no_parts(opened):
    """As for each other answer."""
    reader, writer, _ = await opened(Parts(b"one\n"), "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await asyncio.wait_for(reader.read(), 25)).endswith(b"\r\n\r\n")
    writer.close()


async def test_no_part_is_taken_while_the_client_does_not_read(opened):
    """Otherwise a slow client would fill the memory."""
    handler = Parts(b"x" * 65536, repeats=1000)
    reader, writer, _ = await opened(handler, limit=1024)
    await eventually(lambda: handler.taken)
    await asyncio.sleep(0.2)
    assert handler.taken < 900
    while handler.taken < 1000:
        assert await reader.read(2**20)
    writer.close()


async def test_a_client_that_does_not_read_on_is_cut(opened, monkeypatch):
    """After half a minute."""
    monkeypatch.setattr("pykb.serving._connections.UNREAD", 0.1)
    handler = Parts(b"x" * 65536, repeats=1000)
    _, writer, _ = await opened(handler, limit=1024)
    await asyncio.wait_for(handler.ended.wait(), 25)
    assert handler.taken < 900
    writer.close()


@pytest.mark.parametrize("ends", ["the client goes", "the client sends more", "the server stops"])
async def test_the_parts_end_with_their_connection(opened, ends):
    """What makes them is closed at once."""
    handler = Parts(b"one\n")
    reader, writer, task = await opened(handler)
    await reader.readuntil(b"one\n")
    match ends:
        case "the client goes":
            writer.close()
        case "the client sends more":
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
        case _:
            task.cancel()
    await asyncio.wait_for(handler.ended.wait(), 25)
    writer.close()


async def test_an_error_between_parts_cuts_the_connection(opened, caplog):
    """The client must not take them for the whole answer. The error is in the log."""
    reader, writer, _ = await opened(Parts(b"one\n", error=KeyError("secret")))
    with contextlib.suppress(ConnectionError):
        assert b"secret" not in await asyncio.wait_for(reader.read(), 25)
    assert "request failed" in caplog.text
    writer.close()

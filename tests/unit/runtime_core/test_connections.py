"""Which connections a server keeps: in number, in bytes, in time; and that honest requests are answered in a flood."""

import asyncio
import contextlib
import gc
import ssl
import subprocess
import sys
import weakref
from datetime import timedelta

import aiohttp
import pytest
import uvloop

from benchmarks import flood
from pykb.client.clock import VirtualClock
from pykb.serving import BindAddress, HttpResponse, HttpServer
from pykb.serving._connections import (
    HEAD,
    HEADERS,
    IDLE,
    RECEIVE,
    REPORT_AT_MOST_EVERY,
    SWEEP,
    WAIT,
    Connections,
    Limits,
    ServerProtocol,
)
from pykb.serving.options import CertificateOptions
from pykb.serving.tls import ServingCertificate
from pykb.testing import eventually

from .conftest import turn  # noqa: TID252 - shared by this folder only

LOOPBACK = BindAddress("127.0.0.1", 0)


class Book:
    """The bookkeeping alone, and a list of who was cut."""

    def __init__(self, **limits):
        self.clock = VirtualClock()
        self.connections = Connections("test", Limits(**limits), self.clock)
        self.cut = []

    def add(self, name):
        """A connection that has sent nothing yet, and notes its name when it is cut."""
        connection = self.connections.add()
        connection.cut = lambda: self.cut.append(name)
        return connection

    def idle(self, name):
        """One that has had its answer."""
        connection = self.add(name)
        self.connections.complete(connection)
        self.connections.answered(connection)
        return connection

    async def let_in(self):
        """Make room at once, or fail."""
        await asyncio.wait_for(self.connections.room(), 25)


async def test_the_oldest_incomplete_request_goes_for_a_new_one():
    """Whoever asks as clients do was done long before."""
    book = Book(incomplete=2)
    book.connections.complete(book.add("served"))
    for name in ("a", "b"):
        book.add(name)
    assert book.cut == []
    book.add("c")
    assert (book.cut, len(book.connections)) == (["a"], 3)
    again = book.idle("kept")
    book.connections.received(again, 1)
    assert book.cut == ["a", "b"]


async def test_the_longest_waiting_goes_when_all_places_are_taken():
    """Whether it is idle or has sent nothing: a flood of idle connections does not cut those that have just come."""
    book = Book(connections=4)
    book.connections.complete(book.add("running"))
    for name in ("idle", "later idle"):
        book.idle(name)
        book.clock.advance(WAIT)
    book.add("new")
    await book.let_in()
    assert book.cut == ["idle"]
    book.clock.advance(WAIT)
    book.idle("idle again")
    await book.let_in()
    assert book.cut == ["idle", "later idle"]
    book.idle("and again")
    await book.let_in()
    assert book.cut == ["idle", "later idle", "new"]


async def test_idle_connections_are_bounded():
    """TLS keeps memory for each."""
    book = Book(idle=2)
    for name in ("first", "second", "third"):
        book.idle(name)
    book.add("new")
    assert (book.cut, len(book.connections)) == (["first"], 3)


async def test_others_wait_while_all_are_served():
    """The system keeps them."""
    book = Book(connections=1)
    running = book.add("running")
    book.connections.complete(running)
    waiting = asyncio.ensure_future(book.connections.room())
    await turn()
    assert not waiting.done()
    book.connections.answered(running)
    book.clock.advance(WAIT)
    await asyncio.wait_for(waiting, 25)
    assert book.cut == ["running"]


async def test_bytes_of_incomplete_requests_are_bounded():
    """The oldest that holds its share goes; those that hold nothing, and complete requests, are left alone."""
    book = Book(received=1000)
    silent, served, first, second = (book.add(name) for name in ("silent", "served", "first", "second"))
    book.connections.received(served, 900)
    book.connections.complete(served)
    book.connections.received(silent, 1)
    book.connections.received(first, 600)
    assert book.cut == []
    book.connections.received(second, 600)
    assert book.cut == ["first"]
    book.connections.received(first, 600)  # what was on the way counts no more
    book.connections.complete(second)
    book.connections.answered(second)
    book.connections.received(second, 990)
    assert book.cut == ["first"]


async def test_deadlines_hold_from_the_first_byte_and_from_the_last_answer(running):
    """Bytes that trickle in prolong nothing; a request that is being served has no deadline here."""
    book = Book()
    running(book.connections.watch())
    await turn()
    trickling, _, served = book.add("trickling"), book.idle("idle"), book.add("served")
    book.connections.complete(served)
    for _ in range(int((IDLE + SWEEP) / SWEEP) + 1):
        if book.clock.now() < RECEIVE.total_seconds():
            assert book.cut == []
        book.connections.received(trickling, 1)
        book.clock.advance(SWEEP)
        await turn()
        if book.clock.now() < IDLE.total_seconds():
            assert "idle" not in book.cut
    assert (book.cut, len(book.connections)) == (["trickling", "idle"], 1)


async def test_the_log_says_it_once_a_minute(caplog):
    """A flood of connections is no flood of lines."""
    book = Book(incomplete=1)
    for name in ("a", "b", "c"):
        book.add(name)
    assert len(caplog.records) == 1
    book.clock.advance(REPORT_AT_MOST_EVERY)
    book.add("d")
    assert [record.server for record in caplog.records] == ["test", "test"]
    assert book.cut == ["a", "b", "c"]


@pytest.fixture
async def serve(running):
    """Serve something at `/`, and give the server."""

    async def start(handler, **options):
        server = HttpServer("test", LOOPBACK, handler, body_limit=1 << 22, **options)
        running(server.run())
        await asyncio.wait_for(server.listening(), 25)
        return server

    return start


async def ok(request):
    """Read and answer."""
    assert request.body is not None
    return HttpResponse.text("ok")


@pytest.fixture
async def sent():
    """Connects to a server and sends something."""
    writers = []

    async def send(server, content, tls=None):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=tls)
        writers.append(writer)
        writer.write(content)
        await writer.drain()
        return reader, writer

    yield send
    for writer in writers:
        writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def ended(reader):
    """Wait until the server has closed, whatever it said before."""
    with contextlib.suppress(ConnectionError):
        while await asyncio.wait_for(reader.read(1 << 16), 25):
            pass


HALVES = {
    "header": b"POST / HTTP/1.1\r\nHost: x\r\n",
    "body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf",
    "nothing": b"",
}


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
async def test_what_is_never_finished_makes_room(serve, sent, half, secure):
    """Also a TLS handshake that nobody begins; a request is answered while all places are taken."""
    certificate = ServingCertificate(CertificateOptions())
    trust = ssl.create_default_context(cadata=certificate.authority.decode()) if secure else None
    server = await serve(ok, tls=(lambda: certificate.context) if secure else None, limits=Limits(incomplete=4))
    tls = trust if half != "nothing" else None
    attackers = [await sent(server, HALVES[half], tls) for _ in range(6)]
    url = f"http{'s' if secure else ''}://127.0.0.1:{server.port}/"
    async with aiohttp.ClientSession() as session, session.post(url, data=b"x" * 1000, ssl=trust or True) as answer:
        assert (answer.status, await answer.text()) == (200, "ok")
    for reader, _ in attackers[:2]:
        await ended(reader)


@pytest.mark.parametrize("half", HALVES)
async def test_what_is_not_finished_in_time_is_cut(serve, sent, half):
    """Header and body have one deadline."""
    clock = VirtualClock()
    server = await serve(ok, clock=clock)
    reader, _ = await sent(server, HALVES[half])
    closed = asyncio.ensure_future(ended(reader))
    while not closed.done():
        clock.advance(SWEEP)
        await asyncio.sleep(0.001)
        assert clock.now() < 10_000
    assert clock.now() >= RECEIVE.total_seconds()


async def test_an_idle_connection_is_kept_for_its_time(serve, sent):
    """It may be asked on again until then."""
    clock = VirtualClock()
    server = await serve(ok, clock=clock)
    reader, writer = await sent(server, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    for _ in range(2):
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(2) == b"ok"
        clock.advance(IDLE - timedelta(seconds=1))
        await asyncio.sleep(0.01)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b"200 OK" in await reader.readuntil(b"ok")
    clock.advance(IDLE + SWEEP)
    await ended(reader)


async def test_a_body_that_is_too_large_is_refused_before_it_is_there(serve, sent):
    """The client hears it at once, and its place is that of one who has been answered."""
    server = await serve(ok)
    reader, _ = await sent(server, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\nhalf")
    assert b"413" in await reader.readuntil(b"the body may have 4194304 bytes\n")
    assert (len(server._connections), len(server._connections._idle)) == (1, 1)


async def test_who_does_not_read_an_answer_may_not_ask_again(serve, sent):
    """The answers would pile up."""
    asked = []

    async def large(request):
        asked.append(request)
        return HttpResponse(b"x" * (1 << 24))

    server = await serve(large)
    reader, writer = await sent(server, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    writer.transport.pause_reading()
    await eventually(lambda: bool(server._connections._idle))
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)
    await eventually(lambda: all(each._deaf for each in server._open_ones))
    writer.transport.resume_reading()
    await ended(reader)
    assert len(asked) == 1


@pytest.mark.parametrize(
    "header",
    [
        "".join(f"X-{number}: x\r\n" for number in range(HEADERS + 1)),
        f"X: {'x' * HEAD}",
        f"X: {'x' * HEAD}\r\n\r\n",
    ],
    ids=["too many fields", "a long field that does not end", "a long field"],
)
async def test_a_head_has_bounds(serve, sent, header, caplog):
    """431, and the connection is closed. The log has no line of it, which anybody could fill."""
    server = await serve(ok)
    reader, _ = await sent(server, f"GET / HTTP/1.1\r\nHost: x\r\n{header}\r\n".encode())
    assert b" 431 Request Header Fields Too Large" in await asyncio.wait_for(reader.read(), 25)
    assert caplog.records == []


async def test_who_has_gone_is_worked_for_no_more(serve, sent):
    """Requests of clients that have gone would pile up."""
    begun, broken_off = asyncio.Event(), asyncio.Event()

    async def slow(request):
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            broken_off.set()

    server = await serve(slow)
    _, writer = await sent(server, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await begun.wait()
    writer.transport.abort()
    await asyncio.wait_for(broken_off.wait(), 25)


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_a_connection_that_is_cut_by_its_first_bytes_is_not_answered(secure, caplog):
    """It is closed, and nobody can fill the log."""
    answered = []

    async def note(request):
        answered.append(request)
        return HttpResponse.text("ok")

    async def serve_and_flood():
        certificate = ServingCertificate(CertificateOptions())
        trust = ssl.create_default_context(cadata=certificate.authority.decode()) if secure else None
        tls = (lambda: certificate.context) if secure else None
        server = HttpServer("test", LOOPBACK, note, tls=tls, limits=Limits(received=10_000))
        serving = asyncio.create_task(server.run())
        await server.listening()
        for _ in range(5):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trust)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"x" * 15_000)
            await ended(reader)
            writer.transport.abort()
        assert not len(server._connections)
        serving.cancel()
        await asyncio.wait({serving})

    gc.collect()  # what tests before this one left does not count
    caplog.clear()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_and_flood())
    gc.collect()
    assert not answered
    assert [each.getMessage() for each in caplog.records if each.name != "pykb.serving._connections"] == []
    assert caplog.records


class Wire(asyncio.Transport):
    """A connection without a network."""

    closed = False

    def is_closing(self):
        """Whether it was closed."""
        return self.closed


@pytest.mark.parametrize("begins", [False, True])
async def test_memory_of_a_request_whose_client_has_gone_is_free_at_once(begins):
    """Nothing waits for the garbage collector, which does not see how large a body is."""
    connections = Connections("test", Limits(), VirtualClock())

    async def read(request):
        async with asyncio.timeout(60) as limit:  # it knows its task
            await asyncio.sleep(60)
        assert limit

    async def abandoned():
        protocol = ServerProtocol(read, connections, connections.add(), body_limit=100, open_ones=set())
        protocol.connection_made(Wire())
        protocol.data_received(b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody")
        if begins:
            await turn()
        protocol.transport.closed = True
        protocol.connection_lost(None)
        return weakref.ref(protocol)

    gc.collect()
    gc.disable()
    try:
        reference = await abandoned()
        await turn()
        assert reference() is None
    finally:
        gc.enable()


def test_memory_of_connections_that_were_cut_is_free_at_once():
    """Nothing waits for the garbage collector, which does not see how large the buffers of TLS are."""
    program = """
import asyncio, gc, ssl, uvloop
from pykb.serving import BindAddress
from pykb.serving.tls import ServingCertificate
from pykb.testing import eventually
from pykb.serving.options import CertificateOptions
from pykb.serving import HttpServer, Limits
from pykb.serving._connections import ServerProtocol

async def main():
    certificate = ServingCertificate(CertificateOptions())
    trust = ssl.create_default_context(cadata=certificate.authority.decode())
    async def read(request):
        raise AssertionError
    server = HttpServer("test", BindAddress("127.0.0.1", 0), read, tls=lambda: certificate.context, limits=Limits(incomplete=4))
    serving = asyncio.create_task(server.run())
    await server.listening()
    gc.collect()
    gc.disable()
    clients = []
    for _ in range(40):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trust)
        writer.write(b"POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 100\\r\\n\\r\\nhalf")
        clients.append(writer)
    await asyncio.sleep(0.5)
    print(sum(isinstance(each, ServerProtocol) for each in gc.get_objects()))
    for each in clients:
        each.transport.abort()
    serving.cancel()
    await asyncio.wait({serving})

with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 5


@pytest.mark.parametrize("attack", ["header", "body"])
def test_a_flood_does_not_end_a_manager(attack):
    """One that runs as a process: its memory is bounded, honest requests and probes are answered."""
    found = flood.run(attack, connections=600, seconds=3)
    assert found.failures == set()
    assert found.honest.fresh.seconds
    assert found.held <= Limits().incomplete
    assert found.peak - found.before < 120

"""Proxies: the way through them, what they are asked for, and what their refusal says."""

import asyncio
import contextlib
import ssl
from contextlib import asynccontextmanager

import pytest
import uvloop

from pykb.client import Transport
from pykb.client._pool import Proxy
from pykb.client.connection import Call
from pykb.client.ending import abort
from pykb.client.errors import ServerUnreachable
from pykb.client.login import Credentials, StaticCredentials
from pykb.client.options import TransportOptions
from pykb.client.server import Server, environment_proxy
from pykb.envtest.components import Authority
from tests.unit.runtime_client.test_transport import InstantClock


async def _pump(source, sink):
    with contextlib.suppress(OSError):
        while data := await source.read(1 << 16):
            sink.write(data)
            await sink.drain()
    with contextlib.suppress(OSError):
        sink.close()
        await sink.wait_closed()


class Gateway:
    """A proxy that connects to whatever it is asked for, or answers something else."""

    def __init__(self, answer="200 Connection established"):
        self.asked = []
        self._answer = answer

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        self.asked.append([line for line in head if line])
        writer.write(f"HTTP/1.1 {self._answer}\r\n\r\n".encode())
        if not self._answer.startswith("200"):
            writer.close()
            return
        host, _, port = head[0].split(" ")[1].rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        try:
            await asyncio.gather(_pump(reader, back), _pump(there, writer))
        finally:
            back.transport.abort()


async def _api(reader, writer):
    """An API server: what is asked for at `/watch` comes in two lines, everything else is `{}`."""
    with contextlib.suppress(asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            body = b'{"a":1}\n{"b":2}\n' if head.startswith(b"GET /watch") else b"{}"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            await writer.drain()
    writer.close()


@asynccontextmanager
async def _listening(serve, tls=None):
    """A server whose connections end with it: none is left to the garbage collector or to the end of the loop."""
    connections = {}

    async def handle(reader, writer):
        connections[asyncio.current_task()] = writer
        await serve(reader, writer)

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in connections.values():
            abort(writer.transport)
        ended = asyncio.ensure_future(server.wait_closed())
        await asyncio.wait({ended, *connections}, timeout=10)  # a test that hangs would say less than one that fails


def _serving(authority, folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server(["127.0.0.1"]).write(folder, "tls"))
    return context


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_requests_and_streams_go_through_a_proxy(loop, secure, tmp_path, monkeypatch):
    """By `CONNECT`, with TLS to the server inside, also where the proxy itself is reached by TLS."""
    authority = Authority()
    tls = _serving(authority, tmp_path)
    (tmp_path / "ca.crt").write_bytes(authority.pair.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))  # the proxy is trusted as any site is
    gateway = Gateway()

    async def scenario():
        async with _listening(_api, tls) as api, _listening(gateway.serve, tls if secure else None) as port:
            credentials = Credentials(
                f"https://127.0.0.1:{api}",
                ca_data=authority.pair.certificate,
                proxy_url=f"http{'s' if secure else ''}://ann:p%40ss@127.0.0.1:{port}",
            )
            async with Transport(StaticCredentials(credentials)) as transport:
                assert await transport.request(Call("GET", "/x")) == b"{}"
                async with transport.stream(Call("GET", "/watch")) as lines:
                    assert [line async for line in lines] == [b'{"a":1}', b'{"b":2}']
            connect = [f"CONNECT 127.0.0.1:{api} HTTP/1.1", f"Host: 127.0.0.1:{api}"]
            assert gateway.asked == [[*connect, "Proxy-Authorization: Basic YW5uOnBAc3M="]] * 2

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(scenario())


async def _hang_up(reader, writer):
    await reader.read(10)
    writer.close()


async def _no_tls(reader, writer):
    await reader.read(10)
    writer.write(b"x" * 100)
    await reader.read()
    writer.close()


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("serve", [_hang_up, _no_tls], ids=["hangs up", "no TLS"])
def test_an_error_inside_of_the_tls_to_a_proxy_closes_the_connection(loop, serve, tmp_path, monkeypatch):
    """The handler of the proxy ends when the connection does."""
    authority = Authority()
    tls = _serving(authority, tmp_path)
    (tmp_path / "ca.crt").write_bytes(authority.pair.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))
    ended = asyncio.Event()

    async def refuse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(OSError):
            await serve(reader, writer)
        ended.set()

    async def scenario():
        async with _listening(refuse, tls) as port:
            credentials = Credentials(
                "https://127.0.0.1:9", ca_data=authority.pair.certificate, proxy_url=f"https://127.0.0.1:{port}"
            )
            async with Transport(StaticCredentials(credentials), TransportOptions(attempts=1)) as transport:
                with pytest.raises(ServerUnreachable):
                    await transport.request(Call("GET", "/x"))
                async with asyncio.timeout(60):
                    await ended.wait()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(scenario())


async def test_a_refusal_names_the_proxy_and_what_it_said():
    """Nothing was sent to the server, and the password is not repeated."""
    gateway = Gateway("407 Proxy Authentication Required")
    async with _listening(gateway.serve) as port:
        source = StaticCredentials(Credentials("http://api.example", proxy_url=f"http://u:s3cret@127.0.0.1:{port}"))
        async with Transport(source, clock=InstantClock()) as transport:
            with pytest.raises(ServerUnreachable, match=r"does not connect to `api\.example:80`") as failure:
                async with transport.stream(Call("GET", "/")):
                    pass
    said = str(failure.value)
    assert f"the proxy `127.0.0.1:{port}`" in said
    assert "407 Proxy Authentication Required" in said
    assert "s3cret" not in said
    assert not failure.value.connected


async def test_a_server_with_an_ipv6_address_is_asked_for_in_brackets():
    """Else the proxy would take a part of the address for the port."""
    gateway = Gateway("502 Bad Gateway")
    async with _listening(gateway.serve) as port:
        source = StaticCredentials(Credentials("http://[::1]:6443", proxy_url=f"http://127.0.0.1:{port}"))
        async with Transport(source, clock=InstantClock()) as transport:
            with pytest.raises(ServerUnreachable):
                async with transport.stream(Call("GET", "/")):
                    pass
    assert gateway.asked[0] == ["CONNECT [::1]:6443 HTTP/1.1", "Host: [::1]:6443"]


def test_a_new_token_needs_no_new_proxy():
    """Its TLS context would be another one, and connections would be made anew."""
    before = Server(Credentials("http://api.example", token="a", proxy_url="https://proxy.example"))
    same = Server(Credentials("http://api.example", token="b", proxy_url="https://proxy.example"), before)
    other = Server(Credentials("http://api.example", token="b", proxy_url="https://other.example"), before)
    assert same.peer == before.peer
    assert other.peer != before.peer


async def test_a_proxy_that_hangs_up_is_an_error_of_the_connection():
    """Not a wait until the limit."""

    async def hang_up(_reader, writer):
        writer.close()

    async with _listening(hang_up) as port:
        source = StaticCredentials(Credentials("http://api.example", proxy_url=f"http://127.0.0.1:{port}"))
        async with Transport(source, clock=InstantClock()) as transport:
            with pytest.raises(ServerUnreachable) as failure:
                async with transport.stream(Call("GET", "/")):
                    pass
    assert not failure.value.connected


def test_a_proxy_of_the_environment_is_used_but_not_for_what_it_excludes(monkeypatch):
    """HTTP(S)_PROXY and NO_PROXY count, and may be wrong."""
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "10.0.0.1,.cluster.local")
    assert environment_proxy("https://api.example:6443") == "http://proxy.example:3128"
    assert environment_proxy("https://10.0.0.1:443") is None
    assert environment_proxy("https://kubernetes.cluster.local") is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_a_control_plane_of_this_machine_needs_no_exception(monkeypatch, host):
    """As for kubectl, whatever the environment's proxy is."""
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "")
    assert environment_proxy(f"https://{host}:6443") is None


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [("http://p", "p", 80), ("https://p", "p", 443), ("http://[::1]:3128", "::1", 3128)],
)
def test_a_proxys_url_has_a_default_port(url, host, port):
    """That of its scheme."""
    proxy = Proxy.of(url)
    assert (proxy.host, proxy.port, proxy.authorization) == (host, port, None)
    assert (proxy.tls is not None) == url.startswith("https")


@pytest.mark.parametrize("url", ["socks5://p:1080", "p:3128", "http://"])
def test_what_is_no_http_proxy_is_refused(url):
    """The environment may name one of another kind."""
    with pytest.raises(ValueError, match="a proxy is `http://HOST:PORT`"):
        Proxy.of(url)

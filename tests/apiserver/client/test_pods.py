"""Logs and commands: of a stand-in of a kubelet, through a real API server; and of the API server in memory.

The API server speaks SPDY with a kubelet (https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/), and
translates it for WebSockets.
"""

import asyncio
import json
import ssl
import zlib
from contextlib import asynccontextmanager
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from pykb.api.core.v1 import Container, Node, Pod, PodSpec, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.rbac.v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject
from pykb.client._pods import LONGEST_LINE
from pykb.client.errors import ApiError, BadRequest, Forbidden, NotFound
from pykb.runtime import ExecResult, Request
from pykb.runtime.fake import FakeApiServer, fake_client
from pykb.serving.tls import self_signed
from pykb.testing import eventually

pytestmark = pytest.mark.apiserver


class Kubelet:
    """Answers for the containers of a node, over TLS. The API server passes on what it sends."""

    def __init__(self):
        self.asked = []
        """The paths and queries so far."""
        self.parts = []
        """What a container prints: bytes, or an event to wait for."""
        self.command = None
        """What a command does: gets its input, and returns its outputs and its status."""
        self.gone = asyncio.Event()
        """Set when the API server has closed a connection before its end."""
        self.port = 0

    @asynccontextmanager
    async def serve(self, folder):
        """Serve on a free port."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pair = folder / "kubelet.pem"
        pair.write_bytes(b"".join(self_signed(("127.0.0.1",))))
        context.load_cert_chain(pair)
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _answer(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            url = urlsplit(head.split(" ", 2)[1])
            self.asked.append((url.path, {name: values[0] for name, values in parse_qs(url.query).items()}))
            if url.path.startswith("/exec/"):
                await self._run(reader, writer, parse_qs(url.query))
                return
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
            ending = asyncio.create_task(reader.read())
            for part in self.parts:
                if isinstance(part, asyncio.Event):
                    waiting = asyncio.create_task(part.wait())
                    await asyncio.wait({waiting, ending}, return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
                    if ending.done():
                        self.gone.set()
                        return
                    continue
                writer.write(b"%x\r\n%b\r\n" % (len(part), part))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            ending.cancel()
        finally:
            writer.close()

    async def _run(self, reader, writer, query):
        """Run a command. The API server opens streams in this order: errors, input, output, errors of the command."""
        upgrade = ("Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io")
        writer.write("\r\n".join(("HTTP/1.1 101 Switching Protocols", *upgrade, "", "")).encode())
        names = [name for name in ("status", "input", "output", "error") if name == "status" or name in query]
        names = [name for name in names if name != "input" or query["input"] == ["1"]]
        streams, given, open_input = [], bytearray(), "input" in names
        pack = zlib.compressobj()
        while len(streams) < len(names) or open_input:
            head = await reader.readexactly(8)
            content = await reader.readexactly(int.from_bytes(head[5:]))
            if not head[0] & 0x80:
                given += content
                open_input = open_input and not head[4] & 1
            elif head[3] == SYN_STREAM:
                stream = content[:4]
                streams.append(stream)
                block = pack.compress(bytes(4)) + pack.flush(zlib.Z_SYNC_FLUSH)
                writer.write(_control(SYN_REPLY, stream + block))
            elif head[3] == PING:
                writer.write(_control(PING, content))
        by_name = dict(zip(names, streams, strict=True))
        output, errors, status = await self.command(query["command"], bytes(given))
        for name, content in (("output", output), ("error", errors), ("status", json.dumps(status).encode())):
            for start in range(0, len(content), 16384):
                part = content[start : start + 16384]
                writer.write(by_name[name] + bytes([0]) + len(part).to_bytes(3) + part)
                await writer.drain()
            writer.write(by_name[name] + bytes([1, 0, 0, 0]))
        await writer.drain()
        await reader.read()
        self.gone.set()


SYN_STREAM, SYN_REPLY, PING = 1, 2, 6


def _control(kind, content):
    return bytes([0x80, 3, 0, kind, 0]) + len(content).to_bytes(3) + content


@pytest.fixture
async def kubelet(tmp_path):
    """A kubelet that serves."""
    async with Kubelet().serve(tmp_path) as found:
        yield found


@pytest.fixture
async def pod(client, namespace, kubelet):
    """A pod on a node whose kubelet is the stand-in, with the containers `web` and `side`."""
    node = Node(metadata=ObjectMeta(name=f"node-{namespace}"))
    await client.create(node)
    endpoints = {"kubeletEndpoint": {"Port": kubelet.port}}
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
    wire = node.to_wire() | {"status": {"daemonEndpoints": endpoints, "addresses": addresses}}
    await client.status.update(wire)
    containers = [Container(name=name, image="nothing") for name in ("web", "side")]
    spec = PodSpec(containers=containers, node_name=node.metadata.name, automount_service_account_token=False)
    created = await client.create(Pod(metadata=ObjectMeta(name="p", namespace=namespace), spec=spec))
    yield created
    await client.delete(created, grace_period=timedelta(), missing_ok=True)
    await client.delete(node, missing_ok=True)


async def test_logs_are_text_with_the_options_of_the_api(client, namespace, kubelet, pod):
    """What the container printed, as it is: empty lines, and bytes that are not UTF-8."""
    kubelet.parts = [b"one\n\ntw", b"o\n\xff\n"]
    chosen = {"container": "web", "tail_lines": 7, "since": timedelta(seconds=1.5), "previous": True}
    assert await client.logs(pod, **chosen, limit_bytes=1000, timestamps=True) == "one\n\ntwo\n\ufffd\n"
    path, query = kubelet.asked.pop()
    assert path == f"/containerLogs/{namespace}/p/web"
    assert query == {
        "tailLines": "7",
        "sinceSeconds": "2",
        "previous": "true",
        "limitBytes": "1000",
        "timestamps": "true",
    }
    assert await client.logs(Request(namespace, "p"), container="side", limit_bytes=5) == "one\n\n"


async def test_lines_come_while_the_container_runs(client, kubelet, pod):
    """Also across parts of the answer, and within a letter; the last line may have no end."""
    more = asyncio.Event()
    euro = "\u20ac".encode()
    kubelet.parts = [b"one\n\ntw" + euro[:1], euro[1:] + b"\n", more, b"last"]
    lines = client.log_lines(pod, container="web", follow=True)
    assert [await anext(lines) for _ in range(3)] == ["one", "", "tw\u20ac"]
    more.set()
    assert [line async for line in lines] == ["last"]
    assert kubelet.asked[0][1] == {"follow": "true"}


async def test_whoever_stops_reading_ends_the_request(client, kubelet, pod):
    """Else each of them would hold a connection of the API server and of the kubelet."""
    kubelet.parts = [b"one\n", asyncio.Event()]
    lines = client.log_lines(pod, container="web", follow=True)
    assert await anext(lines) == "one"
    await lines.aclose()
    await asyncio.wait_for(kubelet.gone.wait(), 30)


async def test_a_line_without_an_end_comes_in_parts(client, kubelet, pod):
    """It is not gathered in memory."""
    kubelet.parts = [b"x" * LONGEST_LINE, b"x" * LONGEST_LINE, b"xyz\nend\n"]
    lines = [line async for line in client.log_lines(pod, container="web")]
    assert [len(line) for line in lines] == [LONGEST_LINE, LONGEST_LINE, 3, 3]
    assert lines[-1] == "end"


async def test_refusals_are_errors(client, namespace, pod):
    """Of the API server, before anything is read; and a node that does not answer."""
    with pytest.raises(NotFound):
        await client.logs(f"{namespace}/absent")
    with pytest.raises(BadRequest, match="a container name must be specified"):
        await client.logs(pod)
    with pytest.raises(BadRequest, match="container other is not valid"):
        await anext(client.log_lines(pod, container="other"))
    with pytest.raises(ValueError, match="tail_lines"):
        await client.logs(pod, tail_lines=-1)
    with pytest.raises(ValueError, match="since"):
        await client.logs(pod, since=timedelta(seconds=-1))
    with pytest.raises(ValueError, match="limit_bytes"):
        await client.logs(pod, limit_bytes=0)


async def test_a_node_that_does_not_answer_is_an_error(client, namespace, kubelet, pod):
    """The message is the API server's."""
    node = await client.get(Node, f"node-{namespace}")
    wire = node.to_wire()
    wire["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] = 1
    await client.status.update(wire)
    with pytest.raises(ApiError, match=r"127\.0\.0\.1:1"):
        await client.logs(pod, container="web")


def exits_with(code):
    """The status that a kubelet sends."""
    if not code:
        return {"metadata": {}, "status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {"status": "Failure", "reason": "NonZeroExitCode", "message": "failed", "details": {"causes": causes}}


async def test_a_command_gets_its_input_and_returns_what_it_prints(client, namespace, kubelet, pod):
    """Also more than fits into one message; the input has an end."""

    async def copy(command, given):
        return given, " ".join(command).encode(), exits_with(0)

    kubelet.command = copy
    for given in (b"", b"short", bytes(range(256)) * 1000):
        result = await client.exec(pod, ["cat", "-v", "a b"], container="web", stdin=given)
        assert result == ExecResult(0, given, b"cat -v a b")
    assert kubelet.asked[0][0] == f"/exec/{namespace}/p/web"
    result = await client.exec(Request(namespace, "p"), ["true"], container="side", stdin=None)
    assert result == ExecResult(0, b"", b"true")


async def test_a_command_that_fails_has_its_exit_code(client, kubelet, pod):
    """It is no error of the client. What could not be started is."""

    async def fail(command, given):
        return b"out", b"err", exits_with(3)

    kubelet.command = fail
    assert await client.exec(pod, ["false"], container="web") == ExecResult(3, b"out", b"err")

    async def missing(command, given):
        return b"", b"", {"status": "Failure", "reason": "InternalError", "message": "no such file", "code": 500}

    kubelet.command = missing
    with pytest.raises(ApiError, match="no such file"):
        await client.exec(pod, ["absent"], container="web")


async def test_what_is_printed_is_bounded(client, kubelet, pod):
    """The rest is dropped, and the result says so."""

    async def flood(command, given):
        return b"x" * 2_000_000, b"y" * 10, exits_with(0)

    kubelet.command = flood
    result = await client.exec(pod, ["yes"], container="web", limit_bytes=1000)
    assert result == ExecResult(0, b"x" * 1000, b"y" * 10, truncated=True)


async def test_a_command_that_hangs_ends_the_wait_and_the_connection(client, kubelet, pod):
    """By the timeout, or because the caller is cancelled."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(command, given):
        begun.set()
        await ended.wait()
        return b"", b"", {}

    kubelet.command = hang
    running = asyncio.create_task(client.exec(pod, ["sleep"], container="web", timeout=None))
    await asyncio.wait_for(begun.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(TimeoutError):
        await client.exec(pod, ["sleep"], container="web", timeout=timedelta(milliseconds=1))
    ended.set()


async def test_refusals_of_commands_are_errors(client, namespace, pod):
    """They come before the connection changes its protocol."""
    with pytest.raises(NotFound):
        await client.exec(f"{namespace}/absent", ["true"])
    with pytest.raises(BadRequest, match="container other is not valid"):
        await client.exec(pod, ["true"], container="other")
    for command in ("ls -l", []):
        with pytest.raises(ValueError, match="a command is a list"):
            await client.exec(pod, command)


async def test_the_documented_permissions_are_enough_and_needed(client, namespace, kubelet, pod):
    """Those of the markers in the guide, for a user without others."""

    async def nothing(command, given):
        return b"", b"", exits_with(0)

    kubelet.parts, kubelet.command = [b"x"], nothing
    ann = client.impersonate(f"ann-{namespace}")
    role = Role(metadata=ObjectMeta(name="ann", namespace=namespace), rules=[])
    await client.create(role)
    subject = Subject(kind="User", name=f"ann-{namespace}", api_group="rbac.authorization.k8s.io")
    ref = RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="ann")
    await client.create(
        RoleBinding(metadata=ObjectMeta(name="ann", namespace=namespace), role_ref=ref, subjects=[subject])
    )
    with pytest.raises(Forbidden):
        await ann.logs(pod, container="web")
    role.rules = [PolicyRule(api_groups=[""], resources=["pods/log"], verbs=["get"])]
    await client.update(role)

    async def may_read():
        assert await ann.logs(pod, container="web") == "x"

    await eventually(may_read)
    with pytest.raises(Forbidden):
        await ann.exec(pod, ["true"], container="web")
    role.rules = [PolicyRule(api_groups=[""], resources=["pods/exec"], verbs=["get", "create"])]
    await client.update(role)

    async def may_run():
        assert (await ann.exec(pod, ["true"], container="web")).exit_code == 0

    await eventually(may_run)


async def test_commands_in_memory_ask_the_handler_of_the_test():
    """Without one, they fail and say why."""
    pod = Pod(metadata=ObjectMeta(name="p", namespace="default"))
    client = fake_client(pod)
    with pytest.raises(ApiError, match="exec_handler"):
        await client.exec(pod, ["true"])
    server = client.connection
    assert isinstance(server, FakeApiServer)
    server.exec_handler = lambda key, command, container, stdin: ExecResult(
        7, f"{key} {command} {container}".encode(), stdin or b""
    )
    result = await client.exec(pod, ["a", "b"], container="web", stdin=b"in")
    assert result == ExecResult(7, b"default/p ['a', 'b'] web", b"in")
    assert (await client.exec(pod, ["a"], limit_bytes=3)).truncated
    with pytest.raises(NotFound):
        await client.exec("default/absent", ["true"])


async def test_the_server_in_memory_answers_as_a_test_says():
    """And refuses what a real one refuses."""
    containers = [Container(name=name, image="nothing") for name in ("web", "side")]
    pod = Pod(metadata=ObjectMeta(name="p", namespace="default"), spec=PodSpec(containers=containers))
    client = fake_client(pod, Secret(metadata=ObjectMeta(name="s", namespace="default")))
    server = client.connection
    assert isinstance(server, FakeApiServer)
    server.set_logs(pod, "one\ntwo\nthree\n", container="web")
    server.set_logs("default/p", "before\n", container="web", previous=True)
    assert await client.logs(pod, container="web") == "one\ntwo\nthree\n"
    assert await client.logs(pod, container="web", tail_lines=2, limit_bytes=5) == "two\nt"
    assert await client.logs(pod, container="web", tail_lines=0) == ""
    assert await client.logs(pod, container="web", previous=True) == "before\n"
    assert await client.logs(pod, container="side") == ""
    assert [line async for line in client.log_lines(pod, container="web", follow=True)] == ["one", "two", "three"]
    with pytest.raises(NotFound):
        await client.logs("default/absent")
    with pytest.raises(BadRequest, match="a container name must be specified"):
        await client.logs(pod)
    with pytest.raises(BadRequest, match="container other is not valid"):
        await client.logs(pod, container="other")

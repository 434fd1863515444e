"""Commands over a WebSocket, with servers that keep to RFC 6455 and with those that do not."""

import asyncio
import base64
import hashlib
import json
from contextlib import asynccontextmanager

import pytest

from pykb.client.errors import ServerUnreachable
from pykb.client.login import Credentials
from pykb.runtime import Client, ExecResult

SUCCESS = b"\x03" + json.dumps({"status": "Success"}).encode()
PING, CLOSE = 9, 8


def frame(payload, kind=2, *, last=True):
    """A frame of a server."""
    size = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + len(payload).to_bytes(2)
    return bytes([kind | (0x80 if last else 0)]) + size + payload


@asynccontextmanager
async def answering(*parts, protocol="v5.channel.k8s.io", accept=None):
    """A client of a server that answers a command with these parts, each after a moment, and notes what it gets."""
    got, ended = bytearray(), asyncio.Event()

    async def serve(reader, writer):
        try:
            await talk(reader, writer)
        except ConnectionError:  # the client has gone
            pass
        finally:
            writer.close()
            ended.set()

    async def talk(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        key = next(line.split(": ")[1] for line in head.split("\r\n") if line.startswith("Sec-WebSocket-Key"))
        digest = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode(), usedforsecurity=False).digest()
        lines = (
            "HTTP/1.1 101 Switching Protocols",
            "Connection: Upgrade",
            "Upgrade: websocket",
            f"Sec-WebSocket-Accept: {accept or base64.b64encode(digest).decode()}",
            *((f"Sec-WebSocket-Protocol: {protocol}",) if protocol else ()),
        )
        writer.write("\r\n".join((*lines, "", "")).encode() + b"".join(parts[:1]))
        for part in parts[1:]:
            await asyncio.sleep(0.01)
            writer.write(part)
        while data := await reader.read(1000):
            got.extend(data)
            if b"\x8a" in got or not parts:
                break

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with Client.from_credentials(Credentials(url)) as client:
            yield client, got
    finally:
        await ended.wait()
        await asyncio.sleep(0)  # its transport closes
        server.close()


@pytest.mark.parametrize(
    "parts",
    [
        [frame(b"\x01out") + frame(b"\x02err") + frame(SUCCESS)],
        [bytes([each]) for each in frame(b"\x01out") + frame(b"\x02err") + frame(SUCCESS)],
        [frame(b"\x01o", last=False), frame(b"", PING) + frame(b"ut", 0), frame(b"\x02err"), frame(SUCCESS)],
        [frame(b"") + frame(b"\x01") + frame(b"\x01out"), frame(b"\x02err") + frame(SUCCESS)],
    ],
)
async def test_frames_may_come_in_any_parts(parts):
    """With the head of the answer, byte by byte, in fragments with a ping in between, or empty."""
    async with answering(*parts) as (client, _):
        assert await client.exec("default/p", ["true"]) == ExecResult(0, b"out", b"err")


async def test_a_ping_is_answered_and_input_is_masked():
    """As RFC 6455 demands of a client."""
    async with answering(frame(b"hello", PING)) as (client, got):
        with pytest.raises(ServerUnreachable):
            await client.exec("default/p", ["cat"], stdin=b"secret")
    assert b"secret" not in got
    sent, opened = bytes(got), []
    while sent:
        length, mask = sent[1] & 0x7F, sent[2:6]
        opened.append((sent[0], bytes(each ^ mask[n % 4] for n, each in enumerate(sent[6 : 6 + length]))))
        sent = sent[6 + length :]
    assert sorted(opened) == sorted([(0x82, b"\x00secret"), (0x82, b"\xff\x00"), (0x8A, b"hello")])


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([frame(b"\x01out") + frame(b"", CLOSE)], "closed before the command ended"),
        ([bytes([0x82, 0x85]) + b"maskoutpu"], "masked"),
        ([bytes([0x82, 127]) + (2**40).to_bytes(8)], "too long"),
        ([frame(b"\x01" + b"x" * 60000, 2, last=False)] + [frame(b"x" * 60000, 0, last=False)] * 20, "too long"),
        ([bytes([0x83, 1, 65])], "invalid frame"),
    ],
)
async def test_what_is_no_websocket_ends_the_command(parts, why):
    """Nothing is gathered without bound."""
    async with answering(*parts) as (client, _):
        with pytest.raises(ServerUnreachable, match=why):
            await client.exec("default/p", ["true"])


@pytest.mark.parametrize("wrong", [{"protocol": "v4.channel.k8s.io"}, {"protocol": ""}, {"accept": "other"}])
async def test_a_server_that_does_not_speak_the_protocol_is_named(wrong):
    """Those before Kubernetes 1.30 do not."""
    async with answering(**wrong) as (client, _):
        with pytest.raises(ServerUnreachable, match=r"Kubernetes 1\.30"):
            await client.exec("default/p", ["true"])

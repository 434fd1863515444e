"""Runs a command in a container, over a WebSocket with the channels of Kubernetes.

Sources: RFC 6455; https://kubernetes.io/docs/concepts/architecture/api-server-streaming (``v5.channel.k8s.io``). A
message begins with the number of its channel.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson

from pykb.client._pool import Answer, ConnectionLost, Http1Upgrade
from pykb.client.connection import ExecResult
from pykb.client.errors import error_from_status

PROTOCOL = "v5.channel.k8s.io"
_STDIN, _STDOUT, _STDERR, _ERROR, _CLOSE_CHANNEL = 0, 1, 2, 3, 255
_CONTINUATION, _BINARY, _CLOSE, _PING, _PONG = 0, 2, 8, 9, 10
_LONGEST = 2**20
"""Bytes of one message. The API server sends at most 32 KiB."""
_PIECE = 2**15
_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3


def handshake() -> dict[str, str]:
    """Headers that ask for a WebSocket."""
    return {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(secrets.token_bytes(16)).decode(),
        "Sec-WebSocket-Protocol": PROTOCOL,
    }


def check_handshake(asked: Mapping[str, str], answer: Answer) -> None:
    """Check that the server has agreed.

    Raises:
        ConnectionLost: It has not.
    """
    # RFC 6455 prescribes SHA-1. It only shows that the server knows WebSockets.
    digest = hashlib.sha1(f"{asked['Sec-WebSocket-Key']}{_MAGIC}".encode(), usedforsecurity=False).digest()
    agreed = (answer.values("sec-websocket-accept"), answer.values("sec-websocket-protocol"))
    if answer.status != 101 or agreed != ([base64.b64encode(digest).decode()], [PROTOCOL]):
        raise ConnectionLost(f"the server does not speak `{PROTOCOL}`, which API servers do since Kubernetes 1.30")


async def run_command(stream: Http1Upgrade, stdin: bytes | None, limit: int) -> ExecResult:
    """Send the input, and gather what the command prints until it ends.

    Args:
        stream: The connection after the handshake.
        stdin: What the command reads.
        limit: How many bytes to keep of each output.

    Raises:
        ConnectionLost: The connection ended before the command, or sent invalid data.
        ApiError: The command could not be run.
    """
    if stdin is not None:
        for start in range(0, len(stdin), _PIECE):
            stream.send(_frame(_BINARY, bytes([_STDIN]) + stdin[start : start + _PIECE]))
        stream.send(_frame(_BINARY, bytes([_CLOSE_CHANNEL, _STDIN])))
    outputs = {_STDOUT: bytearray(), _STDERR: bytearray()}
    truncated = False
    async for message in _messages(stream):
        channel, content = message[0], message[1:]
        if channel in outputs:
            kept = outputs[channel]
            truncated = truncated or len(kept) + len(content) > limit
            kept += content[: limit - len(kept)]
        elif channel == _ERROR and content:
            code = _exit_code(orjson.loads(content))
            return ExecResult(code, bytes(outputs[_STDOUT]), bytes(outputs[_STDERR]), truncated)
    raise ConnectionLost("the connection was closed before the command ended")


def _exit_code(status: dict[str, Any]) -> int:
    if status.get("status") == "Success":
        return 0
    if status.get("reason") == "NonZeroExitCode":
        causes = (status.get("details") or {}).get("causes") or ()
        codes = [cause.get("message", "") for cause in causes if cause.get("reason") == "ExitCode"]
        if codes and codes[0].isdecimal():
            return int(codes[0])
    # A kubelet leaves out the kind.
    raise error_from_status(status.get("code") or 500, status | {"kind": "Status"})


def _frame(kind: int, payload: bytes) -> bytes:
    """A whole message of a client, which masks it (RFC 6455, 5.3)."""
    length = len(payload)
    # Pieces are shorter than 64 KiB, so no length needs eight bytes.
    size = bytes([0x80 | length]) if length < 126 else bytes([0x80 | 126]) + length.to_bytes(2)
    mask = secrets.token_bytes(4)
    pattern = (mask * (length // 4 + 1))[:length]
    masked = (int.from_bytes(payload) ^ int.from_bytes(pattern)).to_bytes(length)
    return bytes([0x80 | kind]) + size + mask + masked


async def _messages(stream: Http1Upgrade) -> AsyncIterator[bytes]:
    """Yield binary messages that are not empty, until the server closes. Pings are answered."""
    buffer = bytearray()
    message = bytearray()
    async for chunk in stream.body(None):
        buffer += chunk
        while (found := _take(buffer)) is not None:
            kind, is_last, payload = found
            if kind == _CLOSE:
                return
            if kind == _PING:
                stream.send(_frame(_PONG, payload[:125]))
            elif kind in (_BINARY, _CONTINUATION):
                message += payload
                if len(message) > _LONGEST:
                    raise ConnectionLost("the server sent a message that is too long")
                if is_last and message:
                    yield bytes(message)
                if is_last:
                    message.clear()
            elif kind != _PONG:
                raise ConnectionLost(f"the server sent an invalid frame of kind {kind}")


def _take(buffer: bytearray) -> tuple[int, bool, bytes] | None:
    """Take a frame from the buffer, if it is whole: its kind, whether it ends its message, and its content."""
    if len(buffer) < 2:
        return None
    kind, length, start = buffer[0] & 0x0F, buffer[1], 2
    if length > 127:
        raise ConnectionLost("the server sent a masked frame")
    if length > 125:
        start = 4 if length == 126 else 10
        if len(buffer) < start:
            return None
        length = int.from_bytes(buffer[2:start])
    if length > _LONGEST:
        raise ConnectionLost("the server sent a frame that is too long")
    if len(buffer) < start + length:
        return None
    is_last, payload = bool(buffer[0] & 0x80), bytes(buffer[start : start + length])
    del buffer[: start + length]
    return kind, is_last, payload

"""A reverse proxy between an operator and the API server, with TLS on both sides, that can do what networks do."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import time
import weakref
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

import aiohttp
from aiohttp import web

from pykb.client.ending import abort
from pykb.envtest import ControlPlane

HOP_BY_HOP = {"host", "connection", "transfer-encoding", "content-length", "keep-alive"}
LONGEST_STREAK = 3  # fewer than the tries of a client, so that it is not the client's patience that is measured


@dataclass
class Refusals:
    """How the proxy refuses requests instead of passing them on.

    Attributes:
        share: Which part of the requests.
        statuses: The codes, one at random; 0 breaks the connection.
        retry_after: What a 429 asks for, in whole seconds.
    """

    share: float
    statuses: tuple[int, ...]
    retry_after: int = 1


@dataclass(frozen=True)
class Write:
    """A request that changed gadgets or their children, as it came by."""

    at: float
    method: str
    path: str


def _metadata(body: bytes) -> dict[str, Any]:
    loaded = json.loads(body or b"{}")
    found: dict[str, Any] = loaded.get("metadata", {}) if isinstance(loaded, dict) else {}
    return found


@dataclass(frozen=True)
class Change:
    """A write that has changed an object.

    Attributes:
        at: When the request came by.
        path: Its path.
        uid: The gadget's, also if its child was written.
        version: That of the object after it.
    """

    at: float
    path: str
    uid: str
    version: int


@dataclass
class Seen:
    """What came by.

    Attributes:
        answers: Answers by code, those of the API server and the proxy's own.
        refused: The proxy's own refusals by code.
        hurried: Requests that came again before the time that a 429 had asked for.
        watched: The paths and queries of watches.
        writes: The writes that were passed on.
        changes: Those that have changed an object. Deletions are not among them, since their answers have no version.
    """

    answers: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)
    hurried: list[str] = field(default_factory=list)
    watched: list[str] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


class Proxy:
    """One address for one operator. Everything passes until it is told otherwise."""

    def __init__(self, plane: ControlPlane) -> None:
        keys = plane.layout.keys
        self._target = plane.url
        self._upstream_tls = ssl.create_default_context(cafile=str(keys / "ca.crt"))
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(keys / "server.crt", keys / "server.key")
        self._random = random.Random(7)
        self._not_before: dict[tuple[str, str], float] = {}
        self._streak: Counter[tuple[str, str]] = Counter()
        self._connections: weakref.WeakSet[asyncio.BaseTransport] = weakref.WeakSet()
        self._watches: weakref.WeakSet[asyncio.BaseTransport] = weakref.WeakSet()
        self._stalled: weakref.WeakSet[asyncio.BaseTransport] = weakref.WeakSet()
        self.refusals: Refusals | None = None
        self.revoked: set[str] = set()
        """Tokens that are refused here already, as the API server will in ten seconds, when its memory of them ends."""
        self.slow: dict[str, float] = {}
        """By how many seconds answers come late, by a part of the path."""
        self.cut = False
        """Whether every connection is broken off."""
        self._closed = asyncio.Event()
        self.seen = Seen()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._upstream_tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
        )
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=0.1, handler_cancellation=True
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        self.url = f"https://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed.set()
        self.disconnect()
        await self._runner.cleanup()
        await self._session.close()

    def stall(self, *, everything: bool) -> int:
        """Pass nothing more on the connections there are (that watch, or all), and leave them open; how many."""
        chosen = list(self._connections if everything else self._watches)
        self._stalled.update(chosen)
        return len(chosen)

    def disconnect(self) -> None:
        """Break every connection off."""
        self._not_before.clear()  # who was told to wait on one of them may never have heard it
        for transport in list(self._connections):
            abort(transport)  # type: ignore[arg-type]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        transport = request.transport
        if transport is None or self.cut:
            return self._break(request)
        self._connections.add(transport)
        if transport in self._stalled:
            await self._closed.wait()
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        watch = "watch" in request.query
        write = None
        if watch:
            self._watches.add(transport)
            self.seen.watched.append(request.raw_path)
        elif request.method != "GET" and any(f"/{kind}" in request.path for kind in ("gadgets", "configmaps")):
            write = Write(time.monotonic(), request.method, request.path)
            self.seen.writes.append(write)
        try:
            return await self._pass_on(request, write)
        except aiohttp.ClientError:
            return self._break(request)
        finally:
            if watch:
                self._watches.discard(transport)

    async def _pass_on(self, request: web.Request, write: Write | None) -> web.StreamResponse:
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP]
        body = await request.read()
        async with self._session.request(
            request.method,
            f"{self._target}{request.raw_path}",
            headers=headers,
            data=body or None,
            allow_redirects=False,
        ) as answer:
            self.seen.answers[answer.status] += 1
            await asyncio.sleep(max((late for part, late in self.slow.items() if part in request.path), default=0))
            response = web.StreamResponse(status=answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in HOP_BY_HOP:
                    response.headers.add(name, value)
            await response.prepare(request)
            said = b""
            async for chunk in answer.content.iter_any():
                said += chunk if write is not None else b""
                if request.transport in self._stalled:
                    await self._closed.wait()
                await response.write(chunk)
            if write is not None and answer.status < 300:
                self._note_change(write, body, said)
            await response.write_eof()
            return response

    def _note_change(self, write: Write, asked: bytes, answered: bytes) -> None:
        before, after = (_metadata(each) for each in (asked, answered))
        owners = after.get("ownerReferences") or [{}]
        uid, version = owners[0].get("uid") or after.get("uid"), after.get("resourceVersion")
        # An update that changes nothing has the version of an earlier one.
        if uid and version and version != before.get("resourceVersion"):
            self.seen.changes.append(Change(write.at, write.path, uid, int(version)))

    def _refusal(self, request: web.Request) -> web.StreamResponse | None:
        if request.headers.get("Authorization", "").removeprefix("Bearer ") in self.revoked:
            return self._refuse(401)
        key = (request.method, request.raw_path)
        early = self._not_before.pop(key, 0) - time.monotonic()
        if request.method != "POST" and early > 0:
            self.seen.hurried.append(f"{request.method} {request.raw_path}, {early:.3f} s early")
        refusals = self.refusals
        streak = self._streak[key]
        if refusals is None or streak >= LONGEST_STREAK or self._random.random() >= refusals.share:
            self._streak.pop(key, None)
            return None
        self._streak[key] += 1
        status = self._random.choice(refusals.statuses)
        if not status:
            self.seen.refused[status] += 1
            return self._break(request)
        # On a connection that has just been broken off nobody hears it.
        if status == 429 and request.transport is not None and not request.transport.is_closing():
            self._not_before[key] = time.monotonic() + refusals.retry_after
        return self._refuse(status, {"Retry-After": str(refusals.retry_after)} if status == 429 else {})

    def _refuse(self, status: int, headers: Mapping[str, str] = MappingProxyType({})) -> web.StreamResponse:
        self.seen.refused[status] += 1
        self.seen.answers[status] += 1
        body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status}
        return web.json_response(body | {"message": "the proxy refuses"}, status=status, headers=headers)

    def _break(self, request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            abort(request.transport)
        return web.Response(status=502)

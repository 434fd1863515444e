"""HTTP to an API server: bounded connections, renewal after 401, safe retries, typed errors."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar

import orjson

from pykb.client._pool import (
    Answer,
    ConnectFailed,
    Http1Stream,
    Http1Upgrade,
    Pool,
    check_handshake,
    handshake,
    run_command,
)
from pykb.client.clock import Clock, SystemClock
from pykb.client.connection import Call, ExecResult
from pykb.client.errors import ApiError, ServerUnreachable, Unauthorized, error_from_status, seconds_to_wait
from pykb.client.login.credentials import Credentials, CredentialSource, expired_part
from pykb.client.options import TransportOptions
from pykb.client.server import Server
from pykb.client.task import check_fence, trace_parent
from pykb.client.tracing import spans
from pykb.diagnostics.codes.environment import CLUSTER_UNREACHABLE

if TYPE_CHECKING:
    from pykb.client._otel import Spans

logger = logging.getLogger(__name__)


class BucketLimiter:
    """A token bucket over all items: ``burst`` at once, then ``rate`` per second.

    ::

        bucket = BucketLimiter(rate=2, burst=1, clock=VirtualClock())
        assert bucket.when("a") == timedelta()
        assert bucket.when("b") == timedelta(seconds=0.5)
    """

    def __init__(self, *, rate: float = 10.0, burst: int = 100, clock: Clock | None = None) -> None:
        if not 0 < rate < float("inf") or burst < 1:
            raise ValueError(f"a bucket needs a positive rate and a burst of at least 1, got {rate} and {burst}")
        self._rate = rate
        self._burst = float(burst)
        self._clock: Clock = clock or SystemClock()
        self._tokens = float(burst)
        self._at = self._clock.now()

    def when(self, item: Hashable) -> timedelta:  # noqa: ARG002 - the bucket is one for all
        """Take a present or future token, and return the delay until it exists."""
        now = self._clock.now()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate) - 1.0
        self._at = now
        return timedelta(seconds=max(0.0, -self._tokens / self._rate))

    def forget(self, item: Hashable) -> None:
        """Do nothing: tokens return only with time."""

    def failures(self, item: Hashable) -> int:  # noqa: ARG002
        """Always 0: the bucket does not count single items."""
        return 0


_KNOWN_WARNINGS = 256

LONGEST_ASKED = timedelta(minutes=1)
"""How long a request waits if the server asks for it. If it asks for more, the caller gets the error at once."""

_LONG = timedelta(seconds=1)
"""A request that waits longer than this for its turn is logged."""

_TOLD = timedelta(minutes=1)
"""The shortest time between two such log lines."""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One attempt of a request, for metrics.

    Attributes:
        method: The verb.
        host: The host of the server.
        code: The status code; 0 without an answer.
        seconds: How long it took.
        waited: How many seconds the limit of requests delayed it. ``None`` without a limit.
    """

    method: str
    host: str
    code: int
    seconds: float
    waited: float | None = None


RequestObserver = Callable[[RequestRecord], None]


@dataclass(frozen=True, slots=True)
class _Begun(Answer):
    """The head of a stream. Its body has not been read yet."""

    stream: Http1Stream
    server: Server


class Throttle:
    """Lets requests through in their order of arrival: ``burst`` at once, then ``qps`` per second.

    These are client-go's QPS and burst. It is off by default, as in controller-runtime. The API server
    has its own limit (priority and fairness) and answers 429 with a time to wait.
    """

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        """Start with the full burst.

        Raises:
            ValueError: The limit would let nothing through.
        """
        self._bucket = BucketLimiter(rate=qps, burst=burst, clock=clock)
        self._clock = clock
        # The lock is handed on in the order of arrival. Only its holder has taken a future token,
        # so a cancelled waiter takes none from the others.
        self._turn = asyncio.Lock()
        self._told = float("-inf")

    async def wait(self, call: Call) -> float:
        """Wait until a request may be sent. Return the seconds waited."""
        asked = self._clock.now()
        async with self._turn:
            delay = self._bucket.when(call)
            if delay > timedelta():
                await self._clock.sleep(delay)
        now = self._clock.now()
        waited = now - asked
        if waited > _LONG.total_seconds() and now - self._told >= _TOLD.total_seconds():
            self._told = now
            shown = {"waited": f"{waited:.1f} s", "request": f"{call.method} {call.path}"}
            logger.warning("client-side throttling", extra=shown | {"help": "raise --kube-api-qps, or switch it off"})
        return waited


AnswerT = TypeVar("AnswerT", bound=Answer)


class Transport:
    """A :class:`~pykb.client.connection.Connection` over HTTP/1.1 with TLS.

    A TLS context is built once for each set of certificates. A new token reuses it.
    """

    def __init__(
        self,
        source: CredentialSource,
        options: TransportOptions | None = None,
        *,
        clock: Clock | None = None,
        observer: RequestObserver | None = None,
    ) -> None:
        """Make a transport. It connects at the first request.

        Args:
            source: The credentials.
            options: The limits.
            clock: The clock for pauses before and between attempts.
            observer: Called for each attempt; see :attr:`observer`.
        """
        self._source = source
        self._options = options or TransportOptions()
        self._clock = clock or SystemClock()
        self.observer = observer
        """Called after each attempt, in the event loop. It must not block or raise."""
        self._pool = Pool(self._options.connect_timeout.total_seconds())
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore(self._options.max_connections)
        limits = self._options
        self._throttle = Throttle(limits.qps, limits.burst, self._clock) if limits.qps > 0 else None
        self._server: Server | None = None
        self._refused: Credentials | None = None
        self._renewal = asyncio.Lock()
        self._warnings: set[str] = set()
        self._spans: Spans | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def source(self) -> CredentialSource:
        """The source of the credentials."""
        return self._source

    async def close(self) -> None:
        """Close every connection. The transport cannot be used afterwards."""
        self._closed = True
        await self._pool.close()

    async def request(self, call: Call) -> bytes:
        """Send a request; see :class:`~pykb.client.connection.Connection`."""
        answer = await self._attempts(call, self._ask, slots=self._slots)
        if call.on_date is not None:
            for text in answer.values("date"):
                call.on_date(text)
        return answer.body

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[AsyncIterator[bytes]]:
        """Send a request and yield the lines of the answer; see :class:`~pykb.client.connection.Connection`."""
        begun = await self._attempts(call, self._begin, slots=None)
        try:
            yield self._chunks(begun, None) if call.chunks else self._lines(begun)
        finally:
            begun.stream.abort()

    async def execute(self, call: Call, stdin: bytes | None, limit: int) -> ExecResult:
        """Run a command in a container; see :class:`~pykb.client.connection.Connection`."""
        check_fence()
        begun = await self._attempts(call, self._upgrade, slots=None)
        assert isinstance(begun.stream, Http1Upgrade)  # noqa: S101 - made so
        try:
            return await run_command(begun.stream, stdin, limit)
        except OSError as error:
            raise self._unreachable(begun.server.credentials.server, "", error) from error
        finally:
            begun.stream.abort()

    async def _lines(self, begun: _Begun) -> AsyncIterator[bytes]:
        rest: list[bytes] = []
        async for chunk in self._chunks(begun, self._options.idle_timeout.total_seconds()):
            if b"\n" not in chunk:
                rest.append(chunk)
                continue
            *lines, tail = chunk.split(b"\n")
            lines[0] = b"".join([*rest, lines[0]])
            rest = [tail]
            for line in lines:
                if line:
                    yield line

    async def _chunks(self, begun: _Begun, patience: float | None) -> AsyncIterator[bytes]:
        try:
            async for chunk in begun.stream.body(patience):
                yield chunk
        except (TimeoutError, OSError) as error:
            why = ConnectionError("this client is closed") if self._closed else error
            raise self._unreachable(begun.server.credentials.server, "", why) from error

    async def _attempts(
        self, call: Call, attempt: Callable[[Server, Call], Awaitable[AnswerT]], *, slots: asyncio.Semaphore | None
    ) -> AnswerT:
        self._check_loop()
        renewed = False
        count = 0
        while True:
            waited = None if self._throttle is None or slots is None else await self._throttle.wait(call)
            credentials = await self._source.current()
            count += 1
            try:
                async with slots or nullcontext():
                    return await self._observed(call, self._server_for(credentials), attempt, waited)
            except Unauthorized:
                if renewed:
                    self._report_refused(credentials)
                    raise
                renewed = True
                await self._renew(credentials)
            except (ApiError, ServerUnreachable) as error:
                pause = self._pause(count, error)
                if count >= self._options.attempts or pause > LONGEST_ASKED or not _may_repeat(call, error):
                    raise
                await self._clock.sleep(pause)

    def _check_loop(self) -> None:
        """Refuse a second event loop, in which a request would wait forever for the first one."""
        running = asyncio.get_running_loop()
        if self._loop is running:
            return
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError(
                "this client belongs to another event loop: in a thread, write `client.sync.get(...)` or"
                " `await_in_thread(...)` instead of `asyncio.run(...)`"
            )
        self._loop = running
        self._spans = spans()

    def _report_refused(self, credentials: Credentials) -> None:
        """Log once that the credentials are refused. Most callers can only retry."""
        if credentials != self._refused:
            self._refused = credentials
            why = expired_part(credentials, datetime.now(UTC)) or f"401 to {credentials.origin or 'them'}"
            logger.warning("the API server refuses the credentials", extra={"error": why})

    async def _renew(self, refused: Credentials) -> None:
        async with self._renewal:
            # Many requests may be refused at once. One renewal is enough.
            if await self._source.current() == refused:
                await self._source.refresh()

    def _pause(self, attempt: int, error: ApiError | ServerUnreachable) -> timedelta:
        asked = error.retry_after if isinstance(error, ApiError) else None
        factor = 2.0 ** (attempt - 1) * random.uniform(1.0, 1.5)  # noqa: S311 - jitter
        backoff = min(self._options.first_backoff * factor, self._options.max_backoff)
        return max(asked or timedelta(), backoff)

    async def _observed(
        self,
        call: Call,
        server: Server,
        attempt: Callable[[Server, Call], Awaitable[AnswerT]],
        waited: float | None,
    ) -> AnswerT:
        if self._closed:
            raise RuntimeError("this client is closed")
        if call.method != "GET":
            check_fence()
        started = self._clock.now()
        code = 0
        try:
            answer = await attempt(server, call)
            code = answer.status
        except (TimeoutError, OSError) as error:
            raise self._unreachable(server.credentials.server, server.credentials.origin, error) from error
        finally:
            if self.observer is not None:
                seconds = self._clock.now() - started
                self.observer(RequestRecord(call.method, server.host, code, seconds, waited))
        self._note_warnings(answer)
        if code >= 400:
            raise _refusal(answer)
        return answer

    async def _ask(self, server: Server, call: Call) -> Answer:
        timeout = call.timeout or self._options.timeout
        if self._spans is None:
            parent = trace_parent.get()
            request = server.request(call, headers={"traceparent": parent} if parent else None)
            async with asyncio.timeout(timeout.total_seconds()):
                return _of_an_api_server(await self._pool.exchange(server.peer, request))
        with self._spans.request(call, server) as (span, headers):
            async with asyncio.timeout(timeout.total_seconds()):
                answer = await self._pool.exchange(server.peer, server.request(call, headers=headers))
            span.answered(answer.status)
            return _of_an_api_server(answer)

    async def _begin(self, server: Server, call: Call) -> _Begun:
        patience = self._options.idle_timeout.total_seconds()
        async with asyncio.timeout(patience):
            stream, answer = await self._pool.open(server.peer, server.request(call, stream=True), Http1Stream)
        body = b""
        if answer.status >= 400:
            body = b"".join([chunk async for chunk in stream.body(patience)])
            stream.abort()
        return _Begun(answer.status, answer.headers, body, stream, server)

    async def _upgrade(self, server: Server, call: Call) -> _Begun:
        headers = handshake()
        request = server.request(call, stream=True, headers=headers)
        patience = self._options.timeout.total_seconds()
        async with asyncio.timeout(patience):
            stream, answer = await self._pool.open(server.peer, request, Http1Upgrade)
        try:
            if answer.status >= 400:
                body = b"".join([chunk async for chunk in stream.body(patience)])
                return _Begun(answer.status, answer.headers, body, stream, server)
            check_handshake(headers, answer)
        except BaseException:
            stream.abort()
            raise
        return _Begun(answer.status, answer.headers, b"", stream, server)

    def _server_for(self, credentials: Credentials) -> Server:
        known = self._server
        if known is None or (known.credentials is not credentials and known.credentials != credentials):
            known = self._server = Server(credentials, before=known)
        return known

    def _note_warnings(self, answer: Answer) -> None:
        for header in answer.values("warning"):
            # RFC 7234, 5.5: `299 - "text"`, where a backslash quotes; other codes are between caches.
            text = re.match(r'299 \S+ "((?:[^"\\]|\\.)*)"', header)
            if text and header not in self._warnings and len(self._warnings) < _KNOWN_WARNINGS:
                self._warnings.add(header)
                logger.warning("the API server warns", extra={"warning": re.sub(r"\\(.)", r"\1", text[1])})

    def _unreachable(self, server: str, origin: str, error: BaseException) -> ServerUnreachable:
        connected = not isinstance(error, ConnectFailed)
        why = error.__cause__ or error if isinstance(error, ConnectFailed) else error
        cause = "no answer in time" if isinstance(why, TimeoutError) else str(why) or type(why).__name__
        certificate = isinstance(why, ssl.SSLError)
        help_text = (
            "check `certificate-authority` and `tls-server-name` in the kubeconfig"
            if certificate
            else "start it, for a control plane on this host: `pykb cluster up`; or use another kubeconfig"
        )
        diagnostic = CLUSTER_UNREACHABLE.at(
            None,
            f"the API server at `{server}` does not answer: {cause}",
            help_text,
            notes=f"the server is that of {origin}" if origin else "",
        )
        return ServerUnreachable(diagnostic, connected=connected)


def _may_repeat(call: Call, error: ApiError | ServerUnreachable) -> bool:
    """Whether the request had no effect yet, or repeating it does no harm."""
    if isinstance(error, ServerUnreachable):
        return call.repeatable or not error.connected
    if error.status == 429 or (error.status >= 500 and error.retry_after is not None):
        # An eviction that a disruption budget forbids is also a 429, but has a cause instead of a
        # header.
        return not any(cause.reason == "DisruptionBudget" for cause in error.causes)
    return call.repeatable and error.status in (500, 502, 503, 504)


def _of_an_api_server(answer: Answer) -> Answer:
    """Return the answer, unless it is the page of a proxy that wants a login, or of another web server."""
    if answer.body[:1] == b"<" and answer.status < 400 and "html" in "".join(answer.values("content-type")):
        raise ConnectionError("a web page came instead of JSON; is a proxy in between, or is it another server?")
    return answer


def _refusal(answer: Answer) -> ApiError:
    body: Any
    try:
        body = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        body = answer.body.decode("utf-8", "replace")
    retry_after = seconds_to_wait(next(iter(answer.values("retry-after")), ""))
    return error_from_status(answer.status, body, retry_after=retry_after)

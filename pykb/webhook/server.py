"""The webhook server: one TLS port for the API server's admission and conversion requests.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pykb.api.time import parse_duration
from pykb.client.clock import Clock
from pykb.client.ending import end_tasks
from pykb.client.tracing import spans
from pykb.diagnostics.codes.runtime import WEBHOOK_PATH
from pykb.meta.gvk import GroupKind, GroupVersionKind
from pykb.serving import JSON, BindAddress, HttpError, HttpRequest, HttpResponse, HttpServer, Limits, passing
from pykb.serving.options import CertificateOptions, ManagedCertificateOptions, TlsOptions
from pykb.serving.tls import ServingCertificate, client_checks, make_certificate
from pykb.webhook._admission import AdmissionEndpoint, AdmissionRequest, AdmissionResponse
from pykb.webhook.steps import Lane, Steps, WebhookMetrics

if TYPE_CHECKING:
    from pykb.client._otel import Spans
    from pykb.serving.managed_certificates import ManagedCertificates
    from pykb.webhook.conversion import Conversions

# How many reviews are answered at once, so that their objects fit into memory.
#
# Anybody who reaches the port may send reviews, and a review takes many times its size as Python
# objects: measured from 7 times for a list of strings to 260 times for a list of empty objects. What
# a review takes is estimated before it is read, by counting characters. Reviews that fit into memory
# together are answered at once. The others take turns, and those that are too many are asked to come
# back. The API server does so by itself (`Retry-After`, up to ten times).
#
# The bounds fit into the memory limit of the scaffolded manager, 256 MiB, of which an idle manager
# takes about 60 MiB. They bound CPU time, too: reading objects costs about 6 s per GiB.


TOGETHER = 32 * 1024 * 1024
"""What reviews may take that are answered at the same time: about 300 of 2 kB, or one of 350 kB."""

AT_ONCE = 8 * 1024 * 1024
"""What reviews may take that are answered before the event loop looks for other work: about 50 ms."""

LARGEST = 96 * 1024 * 1024
"""What one review may take. A dense object of etcd's 1.5 MiB takes 77 MiB, and half a second."""

WAITING = 16 * 1024 * 1024
"""The bytes of reviews that wait for their turn."""

LONGEST_PAUSE = 1.0
"""The longest pause in seconds after a review that was answered in its turn."""


def memory_of(content: bytes) -> int:
    """Return about the most memory in bytes that a review takes until it is answered.

    Most is taken by defaulters, which have the object as JSON values and as an instance, each before and
    after. The characters inside of strings are counted, too, since they often are JSON themselves.
    """
    size = len(content)
    values = size - len(content.translate(None, b'",'))
    containers = size - len(content.translate(None, b"{["))
    return 4 * size + 100 * values + 820 * containers


class Turns:
    """Decides when a review may be read and answered."""

    def __init__(self, clock: Clock, cpu_time: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._cpu_time = cpu_time
        self._taken = 0
        self._taken_at_once = 0
        self._waiting = 0
        self._turn = asyncio.Lock()  # serves in the order of arrival
        self._free_at = float("-inf")

    @asynccontextmanager
    async def taken(self, content: bytes) -> AsyncIterator[None]:
        """Wait until the review may be answered, which the block does.

        Raises:
            HttpError: The review is too large, or too many wait.
        """
        memory = memory_of(content)
        if memory > LARGEST:
            raise HttpError(413, f"the body has too many values: they would take {memory} bytes of {LARGEST}\n")
        await self._let_others_pass(memory)
        if self._taken + 2 * memory <= TOGETHER:  # as much again stays free, so larger ones leave room for smaller ones
            self._taken += memory
            try:
                yield
            finally:
                self._taken -= memory
            return
        async with self._in_turn(len(content)):
            yield

    async def _let_others_pass(self, memory: int) -> None:
        """Wait for the next run of the event loop if this one has done enough. It first looks for other work."""
        while self._taken_at_once and self._taken_at_once + memory > AT_ONCE:  # noqa: ASYNC110 - an event would wake all
            await asyncio.sleep(0)
        if not self._taken_at_once:
            asyncio.get_running_loop().call_soon(self._begin_run)
        self._taken_at_once += memory

    def _begin_run(self) -> None:
        self._taken_at_once = 0

    @asynccontextmanager
    async def _in_turn(self, size: int) -> AsyncIterator[None]:
        if self._waiting and self._waiting + 2 * size > WAITING:  # one that is alone never gets the same answer again
            raise HttpError(503, "too many requests wait for their turn\n", {"Retry-After": "1"})
        self._waiting += size
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= size
        began = self._cpu_time()
        try:
            while (left := self._free_at - self._clock.now()) > 0:
                await self._clock.sleep(timedelta(seconds=left))
            began = self._cpu_time()
            yield
        finally:
            # The event loop is free for others, such as probes, for as long as it was busy.
            self._free_at = self._clock.now() + min(self._cpu_time() - began, LONGEST_PAUSE)
            self._turn.release()


logger = logging.getLogger(__name__)

BODY_LIMIT = 7 * 1024 * 1024
"""The maximum size of a review in bytes. Two objects of etcd's 1.5 MiB are not larger in JSON."""

LIMITS = Limits(received=16 * 1024 * 1024)
"""Enough connections for three API servers, which admit 200 changes at once each, and for some large reviews."""

LONGEST = timedelta(seconds=30)
"""The API server's longest timeout. Requests of others, sent byte by byte, get no more time."""

SPREAD = timedelta(seconds=3)
"""How long it usually takes until all nodes know that the pod stops. If requests are rare, silence proves nothing."""

QUIET = timedelta(seconds=1)
"""After this time without requests, no more are expected."""

RECENT = timedelta(minutes=1)
"""After this time without requests before the stop, the server does not wait: an unused manager stops at once."""

AdmissionHandler: TypeAlias = Callable[[AdmissionRequest], Awaitable[AdmissionResponse]]


class Endpoint(Protocol):
    """The handler of one path."""

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Answer one request.

        Raises:
            HttpError: There is no answer. The API server then applies the webhook's
                ``failurePolicy``.
        """


class CallRecorder(Protocol):
    """Records the calls of webhooks, while somebody listens."""

    async def recorded(
        self, kind: str, request: HttpRequest, answer: Callable[[HttpRequest], Awaitable[HttpResponse]]
    ) -> HttpResponse:
        """Answer a request, and record that. ``kind`` is what the webhook does, as ``WebhookType`` spells it."""

    def failed(self, error: BaseException) -> None:
        """Note what a function of the program has raised, in the running call."""


class ServerOptions(Protocol):
    """The options of a manager, as far as this server needs them."""

    @property
    def webhook_port(self) -> int:
        """The port. 0 means any free one."""

    @property
    def webhook_bind_host(self) -> str:
        """The address to listen on. Empty means all."""

    @property
    def webhook_certificate(self) -> CertificateOptions:
        """Its certificate."""

    @property
    def managed_certificate(self) -> ManagedCertificateOptions:
        """The certificate that the manager makes."""

    @property
    def tls(self) -> TlsOptions:
        """The options of TLS."""

    @property
    def graceful_shutdown_timeout(self) -> timedelta:
        """How long running calls may take at the end."""


class WebhookServer:
    """Serves webhooks on every replica, as soon as one is registered."""

    def __init__(
        self,
        options: ServerOptions,
        *,
        metrics: WebhookMetrics,
        clock: Clock,
        needed: Callable[[], None] = lambda: None,
        managed: ManagedCertificates | None = None,
    ) -> None:
        """Make a server. The manager does this, for ``manager.webhook_server``.

        Args:
            options: The options of the manager.
            metrics: The metrics to update.
            clock: The clock for reloading the certificate's files.
            needed: Called once, when the first webhook is registered.
            managed: The certificate that the manager keeps, if it does.
        """
        self._options = options
        self._metrics = metrics
        self._clock = clock
        self._needed: Callable[[], None] | None = needed
        self._managed = managed
        self._endpoints: dict[str, Endpoint] = {}
        self._conversions: Conversions | None = None
        self._server: HttpServer | None = None
        self._certificate: ServingCertificate | None = None
        self._listening = asyncio.Event()
        self._leaving = Leaving(clock)
        self._lane = Lane()
        self._turns = Turns(clock)
        self._spans: Spans | None = None
        self.observer: Callable[[BaseException], None] | None = None
        """Called with each error that leaves a webhook or a converter."""
        self.recorder: CallRecorder | None = None
        """Set while somebody listens."""

    @property
    def paths(self) -> frozenset[str]:
        """The registered paths."""
        return frozenset(self._endpoints)

    @property
    def converted(self) -> frozenset[GroupKind]:
        """The kinds that have converters."""
        return frozenset(hub.group_kind for hub in self.hubs)

    @property
    def hubs(self) -> frozenset[GroupVersionKind]:
        """The hubs of these kinds."""
        return frozenset() if self._conversions is None else self._conversions.hubs

    @property
    def conversions(self) -> Conversions:
        """The converters of ``/convert``. The path is served after the first use."""
        if self._conversions is None:
            from pykb.meta.gvk import CONVERT
            from pykb.webhook.conversion import Conversions

            self._conversions = Conversions(self._metrics, self._failed, self._refused)
            self.mount(CONVERT, self._conversions)
        return self._conversions

    @property
    def host(self) -> str:
        """A host of this machine that reaches it."""
        return self._options.webhook_bind_host or "localhost"

    @property
    def port(self) -> int:
        """The port. If it was 0, the real port once the server listens."""
        return self._options.webhook_port if self._server is None else self._server.port

    @property
    def url(self) -> str:
        """Its URL on this machine, without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"

    @property
    def certificate(self) -> ServingCertificate:
        """The certificate, and the authority that clients must trust.

        Raises:
            RuntimeError: The server does not listen yet.
        """
        if self._certificate is None:
            raise RuntimeError("the webhook server has no certificate before it listens: `await ....listening()`")
        return self._certificate

    @property
    def is_listening(self) -> bool:
        """Whether requests are accepted."""
        return self._listening.is_set()

    async def listening(self) -> None:
        """Wait until requests are accepted."""
        await self._listening.wait()

    def register(self, path: str, handler: AdmissionHandler) -> None:
        """Register a handler for admission requests at a path, even while the server runs.

        Raises:
            EnvironmentProblem: The path is registered already.
            ValueError: The path is invalid.
        """
        self.mount(path, AdmissionEndpoint(path, handler, self._metrics, self.steps(path), self._failed))

    def mount(self, path: str, endpoint: Endpoint) -> None:
        """Register a handler for all requests at a path.

        Raises:
            EnvironmentProblem: The path is registered already.
            ValueError: The path is invalid.
        """
        if not path.startswith("/") or any(mark in path for mark in "?#"):
            raise ValueError(f"`{path}` is not a path of a webhook: it begins with `/` and has neither `?` nor `#`")
        if path in self._endpoints:
            raise WEBHOOK_PATH.problem(
                f"there is already a webhook at `{path}`",
                'give this one another path: `path="..."`, and the same in its marker',
                notes="each path has only one webhook",
            )
        self._endpoints[path] = endpoint
        needed, self._needed = self._needed, None
        if needed is not None:
            needed()

    def author(self, path: str) -> Callable[..., Any] | None:
        """The function that the author of the webhook at a path wrote."""
        return getattr(self._endpoints.get(path), "author", None)

    def _failed(self, error: BaseException) -> None:
        if self.observer is not None:
            self.observer(error)
        self._refused(error)

    def _refused(self, error: BaseException) -> None:
        if self.recorder is not None:
            self.recorder.failed(error)

    def steps(self, path: str) -> Steps:
        """Return the object that measures how long the webhook at a path blocks the event loop."""
        return Steps(path, self._lane, self._metrics, self._clock)

    def unmount(self, paths: Iterable[str]) -> None:
        """Stop serving these paths."""
        for path in paths:
            self._endpoints.pop(path, None)

    def check(self) -> None:
        """The readiness check.

        Raises:
            RuntimeError: The server does not listen yet, or the API server would refuse its certificate.
        """
        if not self.is_listening:
            raise RuntimeError("the webhook server does not listen yet")
        self.certificate.check()
        if self._managed is not None and self._options.webhook_certificate.directory is None:
            self._managed.check()

    def leave(self) -> None:
        """From now on, close each connection with its answer. The manager stops, and other replicas take over."""
        self._leaving.begin()

    async def run(self) -> None:
        """Serve until cancelled and no more requests arrive. Running requests are finished.

        Raises:
            EnvironmentProblem: The port cannot be bound, or the certificate cannot be read.
        """
        self._spans = spans()
        options = self._options
        files = options.webhook_certificate
        certificate = await make_certificate(
            files,
            server="webhook",
            tls=options.tls,
            metrics=self._metrics,
            clock=self._clock,
            host=options.webhook_bind_host,
            managed=self._managed,
            life=options.managed_certificate.life,
        )
        server = HttpServer(
            "webhook",
            BindAddress(options.webhook_bind_host or None, options.webhook_port),
            passing(client_checks(files.client_names), self._serve),
            tls=lambda: certificate.context,
            remedy="choose another port or address: `--webhook-port`, `--webhook-bind-host`",
            drain=options.graceful_shutdown_timeout,
            limits=LIMITS,
            body_limit=BODY_LIMIT,
            clock=self._clock,
        )
        self._certificate, self._server = certificate, server
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(certificate.run())
                tasks.create_task(self._announce(server))
                tasks.create_task(self._serve_to_the_last(server))
        finally:
            self._listening.clear()

    async def _serve_to_the_last(self, server: HttpServer) -> None:
        serving = asyncio.create_task(server.run(), name="webhook server")
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            if not server.address.is_loopback:  # no Service sends requests there
                await self._leaving.quiet()
            raise
        finally:
            await end_tasks(serving)

    async def _announce(self, server: HttpServer) -> None:
        await server.listening()
        self._listening.set()
        if self.converted and self._options.webhook_certificate.client_ca is not None:
            # https://github.com/kubernetes/kubernetes/issues/131810
            logger.warning(
                "conversions will be refused: the API server sends no client certificate with them",
                extra={"help": "leave out --webhook-client-ca-file"},
            )
        logger.info("serving webhooks", extra={"port": server.port, "paths": ", ".join(sorted(self.paths))})

    async def ask(self, path: str, review: bytes) -> bytes:
        """Answer a review without a connection, as to the API server.

        Raises:
            HttpError: There is no answer.
        """
        request = HttpRequest("POST", path, headers={"content-type": JSON}, content=review)
        return (await self._answer(self._endpoints.get(path), request)).body

    async def _serve(self, request: HttpRequest) -> HttpResponse:
        path = request.path
        endpoint = self._endpoints.get(path)
        # Clients may request any path. Metrics only have paths that exist.
        webhook = path if endpoint is not None else "other"
        code = 500
        self._leaving.asked()
        started = self._clock.now()
        self._metrics.webhook_in_flight.labels(webhook).inc()
        try:
            response = await self._traced(endpoint, request)
            code = response.status
        except HttpError as error:
            code = error.status
            raise
        except asyncio.CancelledError:
            if request.is_abandoned:  # the client does not wait longer
                code = 504
            raise
        finally:
            self._metrics.webhook_in_flight.labels(webhook).dec()
            self._metrics.webhook_seconds.labels(webhook).observe(self._clock.now() - started)
            self._metrics.webhook_requests.labels(webhook, str(code)).inc()
        if self._leaving.begun:
            response.closes = True
        return response

    async def _traced(self, endpoint: Endpoint | None, request: HttpRequest) -> HttpResponse:
        if self._spans is None:
            return await self._answer(endpoint, request)
        refusal: HttpError | None = None
        with self._spans.served(request.method, request.path, request.headers, is_known=endpoint is not None) as span:
            try:
                response = await self._answer(endpoint, request)
                span.answered(response.status)
            except HttpError as error:
                refusal = error
                span.answered(error.status)
        if refusal is not None:
            raise refusal
        return response

    async def _answer(self, endpoint: Endpoint | None, request: HttpRequest) -> HttpResponse:
        if endpoint is None:
            raise HttpError(404, f"there is no webhook at {request.path}\n")
        if request.method != "POST":
            raise HttpError(405, "webhooks accept only POST\n", {"Allow": "POST"})
        if request.media_type != JSON:
            raise HttpError(415, f"expected the content type {JSON}, found {request.media_type or 'none'}\n")
        encoding = request.headers.get("content-encoding", "identity")
        if encoding != "identity":  # bodies are not decompressed here: a few bytes could become gigabytes
            raise HttpError(400, f"the body must not be encoded, found {encoding}\n")
        limit = _limit(request.first("timeout"))
        try:
            async with asyncio.timeout(limit) as timeout, self._turns.taken(request.body):
                return await self._in_time(endpoint, request, limit)
        except TimeoutError:
            if not timeout.expired():
                raise
            raise HttpError(504, f"not done within {limit:g} s\n") from None

    async def _in_time(self, endpoint: Endpoint, request: HttpRequest, limit: float) -> HttpResponse:
        """Log when an answer is cancelled, by our time limit or by the client, whose limit started a little earlier."""
        try:
            if self.recorder is not None:
                kind = getattr(endpoint, "type", "")  # a program may mount endpoints of its own
                return await self.recorder.recorded(kind, request, endpoint.answer)
            return await endpoint.answer(request)
        except asyncio.CancelledError:
            logger.warning("webhook not done in time", extra={"webhook": request.path, "timeout": f"{limit:g} s"})
            raise


class Leaving:
    """Decides when a server may close, so that no request is lost.

    After a pod gets the signal to stop, its Service still sends it requests for a short time, and API
    servers keep their connections open. If the server closed at once, these requests would fail, and
    with them the users' requests (``failurePolicy`` is usually ``Fail``). The server therefore keeps
    answering, and closes each connection with its answer.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: float | None = None
        self._begun: float | None = None

    def asked(self) -> None:
        """Record a request."""
        self._asked = self._clock.now()

    def begin(self) -> None:
        """Begin to stop."""
        if self._begun is None:
            self._begun = self._clock.now()

    @property
    def begun(self) -> bool:
        """Whether each answer should close its connection."""
        return self._begun is not None

    async def quiet(self) -> None:
        """Wait until no more requests arrive."""
        self.begin()
        if self._begun is None or self._asked is None or self._since(self._asked) > RECENT:
            return
        while (left := max(SPREAD - self._since(self._begun), QUIET - self._since(self._asked))) > timedelta():
            await self._clock.sleep(left)

    def _since(self, moment: float) -> timedelta:
        return timedelta(seconds=self._clock.now() - moment)


@lru_cache(maxsize=64)
def _limit(text: str) -> float:
    """How many seconds the API server waits. The URL contains this number. Cached, since it rarely varies."""
    try:
        limit = parse_duration(text) if text else LONGEST
    except ValueError as error:
        raise HttpError(400, f"timeout: {error}\n") from None
    return (limit if timedelta() < limit < LONGEST else LONGEST).total_seconds()

"""The servers of a manager besides webhooks: probes, metrics, records, debug server; the certificate of all servers.

Probes are named checks behind ``/healthz`` and ``/readyz``, in the API server's format. Source:
https://kubernetes.io/docs/reference/using-api/health-checks/
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from pykb.api.safe_text import safe_text
from pykb.client.client import Client
from pykb.client.clock import Clock
from pykb.client.guard import is_end
from pykb.diagnostics.codes.runtime import CLIENT_CA
from pykb.runtime._metrics import Metrics
from pykb.runtime.manager._runnables import RunnableGroup
from pykb.runtime.options import RECORDS_PATH, ManagerOptions
from pykb.serving import (
    FEW_CLIENTS,
    BindAddress,
    Handler,
    HttpError,
    HttpRequest,
    HttpResponse,
    HttpServer,
    Middleware,
    Routes,
)

if TYPE_CHECKING:
    from pykb.runtime._stream import RecordFeed
    from pykb.runtime.controller.controller import Controller
    from pykb.serving.managed_certificates import ManagedCertificates

logger = logging.getLogger(__name__)

CHECK_TIMEOUT = timedelta(seconds=10)
"""A check that takes longer than this fails. By default, the kubelet waits for 1 s."""

Check: TypeAlias = Callable[[], Awaitable[None] | None]
"""Returns if the program is healthy and raises if not. Plain or async."""

HandlerWith = Callable[[Sequence[Middleware]], Handler]


@dataclass(eq=False)
class Servers:
    """The servers that the options of a manager enable.

    Attributes:
        options: The options of the manager.
        client: Asks the API server for permissions.
        counts: The metrics to serve.
        checks: The checks behind the probes.
        controllers: The controllers of the manager.
        listening: Begins and ends to tell a listener of reconciles and webhook calls.
        namespace: Finds the namespace of the manager.
        converted: Finds the names of the CRDs that the manager converts.
        clock: The clock of the servers.
    """

    options: ManagerOptions
    client: Client
    counts: Metrics
    checks: Sequence[Checks]
    controllers: Callable[[], Iterable[Controller[Any]]]
    listening: tuple[Callable[[Any], None], Callable[[Any], None]]
    namespace: Callable[[], Awaitable[str]]
    converted: Callable[[], Awaitable[Iterable[str]]]
    clock: Clock
    probes: HttpServer | None = None
    metrics: HttpServer | None = None
    records: HttpServer | None = None
    pprof: HttpServer | None = None
    managed: ManagedCertificates | None = None
    """The certificate that the manager keeps, if the options name a Secret."""

    def __post_init__(self) -> None:
        if self.options.managed_certificate.secret:
            from pykb.serving.managed_certificates import ManagedCertificates

            self.managed = ManagedCertificates(
                self.client,
                self.options.managed_certificate,
                namespace=self.namespace,
                converted=self.converted,
                clock=self.clock,
            )

    def add_to(self, group: RunnableGroup) -> None:
        """Add the servers to a group of runnables."""
        if self.managed is not None:
            group.add(self.managed.run, name="managed certificates")
        probes = BindAddress.parse(self.options.health_probe_bind_address)
        if probes is not None:
            self.probes = HttpServer("health-probe", probes, health_routes(*self.checks), clock=self.clock)
            group.add(self.probes.run, name="probes")
        metrics = BindAddress.parse(self.options.metrics_bind_address)
        if metrics is not None:
            group.add(partial(self._serve_metrics, metrics), name="metrics")
        records = BindAddress.parse(self.options.records_bind_address)
        if records is not None:
            group.add(partial(self._serve_records, records), name="records")
        pprof = BindAddress.parse(self.options.pprof_bind_address)
        if pprof is not None:
            group.add(partial(self._serve_pprof, pprof), name="pprof")

    async def _serve_metrics(self, address: BindAddress) -> None:
        app = partial(metrics_routes, self.counts)
        if self.options.metrics_secure:
            await self._serve_secured("metrics", address, app)
            return
        self._refuse_lost_protection()
        self.metrics = HttpServer("metrics", address, app(), clock=self.clock)
        await self.metrics.run()

    def _refuse_lost_protection(self) -> None:
        files = self.options.metrics_certificate
        if files.client_ca is None and not files.client_names:
            return
        raise CLIENT_CA.problem(
            "the metrics server cannot require client certificates over plain HTTP",
            "remove `--metrics-secure=false` or `--metrics-client-ca-file`",
        )

    async def _serve_records(self, address: BindAddress) -> None:
        """Serve the records: secured also on loopback, which `kubectl port-forward` reaches from elsewhere."""
        from pykb.runtime._stream import RecordFeed

        app = partial(record_routes, RecordFeed(*self.listening))
        await self._serve_secured("records", address, app, limits=FEW_CLIENTS, drain=timedelta(0))

    async def _serve_pprof(self, address: BindAddress) -> None:
        """Serve the debug server: on loopback without authorization, else secured, whatever ``metrics_secure`` says."""
        from pykb.runtime._debug import DebugEndpoints, only_from_here

        endpoints = DebugEndpoints(self.controllers, clock=self.clock)
        if not address.is_loopback:
            await self._serve_secured("pprof", address, endpoints.app)
            return
        app = endpoints.app([only_from_here])
        self.pprof = HttpServer("pprof", address, app, limits=FEW_CLIENTS, clock=self.clock)
        await self.pprof.run()

    async def _serve_secured(self, name: str, address: BindAddress, app: HandlerWith, **options: Any) -> None:
        """Serve over TLS, to clients that the API server allows to read the path."""
        from pykb.serving.authorization import ApiAuthorizer
        from pykb.serving.tls import client_checks, make_certificate

        files = self.options.metrics_certificate
        certificate = await make_certificate(
            files,
            server="metrics",
            tls=self.options.tls,
            metrics=self.counts,
            clock=self.clock,
            managed=self.managed,
            life=self.options.managed_certificate.life,
        )
        authorizer = ApiAuthorizer(self.client, clock=self.clock)
        secured = app([*client_checks(files.client_names), authorizer.middleware])
        server = HttpServer(name, address, secured, tls=lambda: certificate.context, clock=self.clock, **options)
        setattr(self, name, server)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(certificate.run())
            tasks.create_task(server.run())


def health_routes(*checks: Checks) -> Handler:
    """The routes of the probes."""
    routes = Routes()
    for each in checks:
        each.add_to(routes)
    return routes


def metrics_routes(metrics: Metrics, middlewares: Sequence[Middleware] = ()) -> Handler:
    """The route ``/metrics``."""

    async def scrape(_: HttpRequest) -> HttpResponse:
        text, content_type = metrics.render()
        return HttpResponse(text, content_type=content_type)

    routes = Routes(middlewares)
    routes.add("/metrics", scrape)
    return routes


def record_routes(feed: RecordFeed, middlewares: Sequence[Middleware] = ()) -> Handler:
    """The route ``/records``."""

    async def follow(_: HttpRequest) -> HttpResponse:
        if feed.is_full:
            raise HttpError(503, "too many read the records already\n")
        return HttpResponse(content_type="application/x-ndjson", parts=feed.follow())

    routes = Routes(middlewares)
    routes.add(RECORDS_PATH, follow)
    return routes


def ping() -> None:
    """Always pass: the process answers."""


class Checks:
    """The checks behind one path."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._checks: dict[str, Check] = {}

    @property
    def names(self) -> frozenset[str]:
        """The names of the checks."""
        return frozenset(self._checks)

    def add(self, name: str, check: Check) -> None:
        """Add a check.

        Raises:
            ValueError: A check of this name exists, or the name cannot be part of a path.
        """
        if name in self._checks:
            raise ValueError(f"there is a check `{name}` at {self.path} already")
        if not name or "/" in name:
            raise ValueError(f"`{name}` is not a valid name of a check: it becomes part of a path")
        self._checks[name] = check

    async def pass_all(self) -> bool:
        """Whether all checks pass."""
        return all([await self._passes(name, check) for name, check in self._checks.items()])

    def add_to(self, routes: Routes) -> None:
        """Serve all checks together at the path, and each check at its name below the path."""
        routes.add(self.path, self._all)
        routes.add(self.path + "/*", self._one)

    async def _all(self, request: HttpRequest) -> HttpResponse:
        excluded = set(request.query.get("exclude", ()))
        lines, healthy = [], True
        for name, check in sorted((self._checks or {"ping": ping}).items()):
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
                continue
            passed = await self._passes(name, check)
            healthy = healthy and passed
            lines.append(f"[+]{name} ok" if passed else f"[-]{name} failed: reason withheld")
        verdict = f"{self.path.lstrip('/')} check {'passed' if healthy else 'failed'}"
        if healthy and "verbose" not in request.query:
            return HttpResponse.text("ok")
        return HttpResponse.text("\n".join([*lines, verdict]) + "\n", 200 if healthy else 500)

    async def _one(self, request: HttpRequest) -> HttpResponse:
        name = request.path.rpartition("/")[2]
        check = self._checks.get(name) or ({"ping": ping}.get(name) if not self._checks else None)
        if check is None:
            raise HttpError(404, f"no check `{name}`\n")
        if await self._passes(name, check):
            return HttpResponse.text("ok")
        return HttpResponse.text(f"{name} failed: reason withheld\n", 500)

    async def _passes(self, name: str, check: Check) -> bool:
        # A check has a task of its own, which it may cancel.
        asking = asyncio.create_task(_failure_of(check), name=f"check {name}")
        try:
            await asyncio.wait({asking}, timeout=CHECK_TIMEOUT.total_seconds())
        finally:
            asking.cancel()
        if not asking.done():
            # The kubelet has given up by then. Its repeated probes must not pile up here.
            reason = f"no answer within {CHECK_TIMEOUT.total_seconds():g} s"
        elif asking.cancelled():
            reason = "it cancelled its own task"
        else:
            reason = asking.result()
        if reason:
            # The reason goes only to the log: anybody in the cluster may read the probe.
            logger.warning("check failed", extra={"path": self.path, "check": name, "error": reason})
        return not reason


async def _failure_of(check: Check) -> str:
    """Why a check fails. Nothing if it passes."""
    try:
        answer = check()
        if inspect.isawaitable(answer):
            await answer
    except BaseException as error:  # a check says no by raising anything
        if is_end(error):
            raise
        return safe_text(error) or type(error).__name__
    return ""

"""Spans of reconciles, of requests to the API server and of webhooks, by OpenTelemetry.

This is the only module that imports OpenTelemetry, and :mod:`pykb.runtime._tracing` the only one that
imports this one. Source of the names: https://opentelemetry.io/docs/specs/semconv/ (HTTP, Kubernetes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Token
from typing import TYPE_CHECKING, Any

from opentelemetry import context, propagate, trace
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode

from pykb import __version__
from pykb.api.safe_text import safe_text, without_values
from pykb.meta.gvk import NamespacedName
from pykb.runtime.client.connection import parse_path
from pykb.runtime.controller.causes import ReconcileCause, ReconcileId, ReconcileListener, ReconcileRecord
from pykb.runtime.serving import HttpError

if TYPE_CHECKING:
    from pykb.runtime.client.connection import Call
    from pykb.runtime.client.server import Server
    from pykb.runtime.serving import HttpRequest

_MOST_LINKED = 1024
"""Ended reconciles to which a later one can have a link."""


class Spans(ReconcileListener):
    """Makes spans with the program's tracer provider."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("pykb.runtime", __version__)
        self._running: dict[ReconcileId, tuple[Span, Token[Any]]] = {}
        self._known: dict[ReconcileId, SpanContext] = {}

    def started(self, record: ReconcileRecord) -> None:
        """Start a trace, with links to the reconciles whose writes are its causes."""
        controller, request, identity = record.id
        attributes: dict[str, Any] = {
            "pykb.controller.name": controller,
            "pykb.reconcile.id": identity,
            "pykb.reconcile.request": str(request),
            "pykb.reconcile.causes": [_reason(cause) for cause in record.causes],
        }
        if isinstance(request, NamespacedName) and request.namespace:
            attributes["k8s.namespace.name"] = request.namespace
        writers = dict.fromkeys(cause.written_by for cause in record.causes)
        links = [Link(self._known[each]) for each in writers if each in self._known]
        span = self._tracer.start_span(f"reconcile {controller}", links=links, attributes=attributes)
        self._running[record.id] = span, context.attach(trace.set_span_in_context(span))
        self._known[record.id] = span.get_span_context()
        if len(self._known) > _MOST_LINKED:
            del self._known[next(iter(self._known))]

    def ended(self, record: ReconcileRecord) -> None:
        """End the trace."""
        span, token = self._running.pop(record.id)
        context.detach(token)
        if record.error is not None:
            _fail(span, record.error)
        elif record.result is None:
            span.set_attribute("pykb.reconcile.cancelled", value=True)
        elif record.result.requeue_after is not None:
            span.set_attribute("pykb.reconcile.requeue_after", record.result.requeue_after.total_seconds())
        span.end()

    @contextmanager
    def request(self, call: Call, server: Server) -> Iterator[tuple[Exchanged, Mapping[str, str]]]:
        """One attempt of a request. Yields its span, and the headers that carry its context."""
        attributes: dict[str, Any] = {
            "http.request.method": call.method,
            "server.address": server.peer.host,
            "server.port": server.peer.port,
            "url.full": server.url_of(call),
        }
        name: str = call.method
        route = parse_path(call.path)
        if route is not None:
            template = (
                f"{route.group_version.path}{'/namespaces/{namespace}' if route.namespace else ''}/{route.plural}"
            )
            template += f"{'/{name}' if route.name else ''}/{route.subresource}".rstrip("/")
            name = f"{call.method} {template}"
            attributes["url.template"] = template
            if route.namespace:
                attributes["k8s.namespace.name"] = route.namespace
        headers: dict[str, str] = {}
        with self._span(name, SpanKind.CLIENT, attributes) as span:
            propagate.inject(headers)
            yield span, headers

    @contextmanager
    def webhook(self, path: str | None, request: HttpRequest) -> Iterator[Exchanged]:
        """One request of the API server, as a part of its trace. The path is ``None`` if nothing is served there."""
        attributes = {"http.request.method": request.method, "url.path": request.path, "url.scheme": "https"}
        name = request.method
        if path is not None:
            name = f"{request.method} {path}"
            attributes["http.route"] = path
        parent = propagate.extract(request.headers)
        with self._span(name, SpanKind.SERVER, attributes, parent) as span:
            yield span

    @contextmanager
    def _span(
        self, name: str, kind: SpanKind, attributes: Mapping[str, Any], parent: context.Context | None = None
    ) -> Iterator[Exchanged]:
        started = self._tracer.start_as_current_span(
            name, parent, kind, attributes, record_exception=False, set_status_on_exception=False
        )
        with started as span:
            exchanged = Exchanged(span, kind)
            try:
                yield exchanged
            except HttpError as error:
                exchanged.answered(error.status)
                raise
            except BaseException as error:
                _fail(span, error)
                raise


class Exchanged:
    """The span of a request or of a webhook."""

    def __init__(self, span: Span, kind: SpanKind) -> None:
        self._span = span
        self._refusals = 400 if kind is SpanKind.CLIENT else 500

    def answered(self, code: int) -> None:
        """Note the status code of the answer. A refusal is an error of the client, but not of the server."""
        self._span.set_attribute("http.response.status_code", code)
        if code >= self._refusals:
            self._span.set_attribute("error.type", str(code))
            self._span.set_status(StatusCode.ERROR)


def _fail(span: Span, error: BaseException) -> None:
    span.set_attribute("error.type", type(error).__qualname__)
    span.record_exception(without_values(error))
    span.set_status(Status(StatusCode.ERROR, safe_text(error)))


def _reason(cause: ReconcileCause) -> str:
    """A cause without the values of fields: traces leave the cluster."""
    if cause.event is None or cause.object is None:
        return str(cause.kind)
    what = f"{cause.event if cause.kind == 'event' else cause.kind} of {cause.object}"
    by = cause.written_by.controller if cause.written_by is not None else cause.field_manager
    paths = ", ".join(change.path for change in cause.changes)
    return what + (f" by {by}" if by else "") + (f": {paths}" if paths else "")

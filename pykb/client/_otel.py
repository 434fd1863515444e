"""Spans of requests to the API server and from it, by OpenTelemetry.

:mod:`pykb.client.tracing` is the only module that imports this one. Source of the names:
https://opentelemetry.io/docs/specs/semconv/ (HTTP, Kubernetes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry import context, propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from pykb import __version__
from pykb.api.safe_text import safe_text, without_values
from pykb.client.connection import parse_path

if TYPE_CHECKING:
    from pykb.client.connection import Call
    from pykb.client.server import Server


class Spans:
    """Makes spans with the program's tracer provider."""

    def __init__(self) -> None:
        self.tracer = trace.get_tracer("pykb.runtime", __version__)

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
    def served(self, method: str, path: str, headers: Mapping[str, str], *, is_known: bool) -> Iterator[Exchanged]:
        """One request of the API server, as a part of its trace. ``is_known`` says whether the path is served."""
        attributes = {"http.request.method": method, "url.path": path, "url.scheme": "https"}
        name = method
        if is_known:
            name = f"{method} {path}"
            attributes["http.route"] = path
        parent = propagate.extract(headers)
        with self._span(name, SpanKind.SERVER, attributes, parent) as span:
            yield span

    @contextmanager
    def _span(
        self, name: str, kind: SpanKind, attributes: Mapping[str, Any], parent: context.Context | None = None
    ) -> Iterator[Exchanged]:
        started = self.tracer.start_as_current_span(
            name, parent, kind, attributes, record_exception=False, set_status_on_exception=False
        )
        with started as span:
            exchanged = Exchanged(span, kind)
            try:
                yield exchanged
            except BaseException as error:
                self.fail(span, error)
                raise

    @staticmethod
    def fail(span: Span, error: BaseException) -> None:
        """Note an error, without values: spans leave the cluster."""
        span.set_attribute("error.type", type(error).__qualname__)
        span.record_exception(without_values(error))
        span.set_status(Status(StatusCode.ERROR, safe_text(error)))


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

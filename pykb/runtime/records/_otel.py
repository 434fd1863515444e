"""Spans of reconciles, by OpenTelemetry. Loaded when the program traces."""

from __future__ import annotations

from contextvars import Token
from typing import TYPE_CHECKING, Any

from opentelemetry import context, trace
from opentelemetry.trace import Link, Span, SpanContext

from pykb.meta.gvk import NamespacedName
from pykb.runtime.records.causes import ReconcileCause, ReconcileId, ReconcileListener, ReconcileRecord

if TYPE_CHECKING:
    from pykb.client._otel import Spans

_MOST_LINKED = 1024
"""Ended reconciles to which a later one can have a link."""


class ReconcileSpans(ReconcileListener):
    """Makes a trace of each reconcile."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
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
        span = self._spans.tracer.start_span(f"reconcile {controller}", links=links, attributes=attributes)
        self._running[record.id] = span, context.attach(trace.set_span_in_context(span))
        self._known[record.id] = span.get_span_context()
        if len(self._known) > _MOST_LINKED:
            del self._known[next(iter(self._known))]

    def ended(self, record: ReconcileRecord) -> None:
        """End the trace."""
        span, token = self._running.pop(record.id)
        context.detach(token)
        if record.error is not None:
            self._spans.fail(span, record.error)
        elif record.result is None:
            span.set_attribute("pykb.reconcile.cancelled", value=True)
        elif record.result.requeue_after is not None:
            span.set_attribute("pykb.reconcile.requeue_after", record.result.requeue_after.total_seconds())
        span.end()


def _reason(cause: ReconcileCause) -> str:
    """A cause without the values of fields: traces leave the cluster."""
    if cause.event is None or cause.object is None:
        return str(cause.kind)
    what = f"{cause.event if cause.kind == 'event' else cause.kind} of {cause.object}"
    by = cause.written_by.controller if cause.written_by is not None else cause.field_manager
    paths = ", ".join(change.path for change in cause.changes)
    return what + (f" by {by}" if by else "") + (f": {paths}" if paths else "")

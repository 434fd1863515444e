"""Calls of webhooks as spans, within the trace of the API server."""

from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from pykb.runtime.webhook import allowed

from .conftest import review, wire  # noqa: TID252 - shared by this folder only

PATH = "/judge"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADERS = {"Content-Type": "application/json", "traceparent": f"00-{TRACE}-{SPAN}-01"}


async def test_a_call_is_a_part_of_the_api_servers_trace(exported, manager_of, serving):
    """By the conventions for HTTP servers. What the webhook does belongs to it."""
    manager = manager_of()

    async def judge(request):
        with trace.get_tracer("the user's").start_as_current_span("inner"):
            return allowed()

    manager.webhook_server.register(PATH, judge)
    async with serving(manager) as caller:
        async with caller.post(PATH, review(wire()), headers=HEADERS) as response:
            assert response.status == 200
        async with caller.post("/none", review(wire()), headers=HEADERS) as response:
            assert response.status == 404
    inner, span, lost = exported.get_finished_spans()
    assert (span.name, span.kind) == (f"POST {PATH}", SpanKind.SERVER)
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, SPAN)
    assert dict(span.attributes) == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "http.route": PATH,
        "url.path": PATH,
        "url.scheme": "https",
    }
    assert inner.parent.span_id == span.context.span_id
    assert (lost.name, lost.attributes["http.response.status_code"]) == ("POST", 404)
    assert lost.status.status_code is StatusCode.UNSET


async def test_a_bug_of_a_webhook_is_an_error(exported, manager_of, serving):
    """Answered with 500, if it is not one of admission."""
    manager = manager_of()

    class Broken:
        async def answer(self, request):
            raise RuntimeError("a bug")

    manager.webhook_server.mount(PATH, Broken())
    async with serving(manager) as caller, caller.post(PATH, review(wire())) as response:
        assert response.status == 500
    (span,) = exported.get_finished_spans()
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "RuntimeError")

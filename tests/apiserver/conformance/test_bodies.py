"""Bodies that cannot be read, on both API servers."""

import pytest

from pykb.runtime.client.connection import Call
from pykb.runtime.errors import BadRequest

MERGE, PATCH, APPLY = (f"application/{name}" for name in ("merge-patch+json", "json-patch+json", "apply-patch+yaml"))
DEEP = '{"a":' * 10_100 + "1" + "}" * 10_100
"""JSON of more levels than Kubernetes allows."""


@pytest.mark.parametrize(
    ("method", "content_type", "body"),
    [
        ("POST", "application/json", '{{"apiVersion": "client.example.com/v1", "kind": "Widget", "spec": {}}}'),
        ("PUT", "application/json", '{{"apiVersion": "client.example.com/v1", "kind": "Widget", "spec": {}}}'),
        ("PATCH", APPLY, '{{"apiVersion": "client.example.com/v1", "kind": "Widget", "spec": {}}}'),
        ("PATCH", MERGE, '{{"spec": {}}}'),
        ("PATCH", PATCH, '[{{"op": "add", "path": "/spec/x", "value": {}}}]'),
        ("DELETE", "application/json", '{{"x": {}}}'),
    ],
)
@pytest.mark.parametrize(("value", "why"), [(DEEP, "exceeded max depth"), ('{"a": ', ".")], ids=["deep", "cut off"])
async def test_a_body_that_cannot_be_read_is_a_bad_request(
    client, namespace, widgets, method, content_type, body, value, why
):
    """Nothing is changed."""
    before = await client.create(widgets.make(namespace))
    path = f"/apis/client.example.com/v1/namespaces/{namespace}/widgets{'' if method == 'POST' else '/w'}"
    query = (("fieldManager", "tests"),) if content_type == APPLY else ()
    call = Call(method, path, body=body.format(value).encode(), content_type=content_type, query=query)
    with pytest.raises(BadRequest, match=why):
        await client.connection.request(call)
    assert (
        await client.get(type(before), f"{namespace}/w")
    ).metadata.resource_version == before.metadata.resource_version

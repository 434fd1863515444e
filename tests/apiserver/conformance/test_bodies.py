"""Bodies that cannot be read, on both API servers."""

import orjson
import pytest

from pykb.client.connection import Call
from pykb.client.errors import BadRequest, InternalServerError, Invalid

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
@pytest.mark.parametrize(
    ("value", "why"),
    [(DEEP, "exceeded max depth|invalid JSON patch"), ('{"a": ', ".")],  # a patch of Kubernetes 1.37: without a reason
    ids=["deep", "cut off"],
)
async def test_a_body_that_cannot_be_read_is_a_bad_request(
    client, namespace, widgets, minor, method, content_type, body, value, why
):
    """Nothing is changed. Before Kubernetes 1.35, the server calls a DELETE that it cannot read its own failure."""
    refused = InternalServerError if method == "DELETE" and minor < 35 else BadRequest
    before = await client.create(widgets.make(namespace))
    path = f"/apis/client.example.com/v1/namespaces/{namespace}/widgets{'' if method == 'POST' else '/w'}"
    query = (("fieldManager", "tests"),) if content_type == APPLY else ()
    call = Call(method, path, body=body.format(value).encode(), content_type=content_type, query=query)
    with pytest.raises(refused, match=why):
        await client.connection.request(call)
    assert (
        await client.get(type(before), f"{namespace}/w")
    ).metadata.resource_version == before.metadata.resource_version


async def test_the_path_says_of_which_kind_a_built_in_object_is(client, namespace, widgets):
    """Most clients of Kubernetes leave version and kind out. Custom resources must have them."""
    call = Call("POST", f"/api/v1/namespaces/{namespace}/configmaps", body=b'{"metadata": {"name": "plain"}}')
    made = orjson.loads(await client.connection.request(call))
    assert (made["apiVersion"], made["kind"]) == ("v1", "ConfigMap")
    await client.create(widgets.make(namespace))
    call = Call("POST", f"/apis/client.example.com/v1/namespaces/{namespace}/widgets", body=call.body)
    with pytest.raises(BadRequest):
        await client.connection.request(call)


MISFITS = [
    ("labels", {"a": 5}),
    ("labels", {"a": {}}),
    ("labels", ["a"]),
    ("annotations", {"a": True}),
    ("annotations", "x"),
    ("finalizers", "x"),
    ("finalizers", [5]),
    ("ownerReferences", 7),
    ("ownerReferences", [5]),
    ("generateName", 5),
]
"""Fields of the metadata that do not have their type."""


@pytest.mark.parametrize("kind", ["Widget", "ConfigMap"])
@pytest.mark.parametrize(
    ("way", "error"), [("create", BadRequest), (MERGE, Invalid), (PATCH, Invalid), (APPLY, InternalServerError)]
)
async def test_metadata_of_the_wrong_type_is_refused(client, namespace, widgets, kind, way, error):
    """With the codes of the API server: 400 for an object, 422 for a patch, 500 for an applied configuration."""
    path, version = f"/api/v1/namespaces/{namespace}/configmaps", "v1"
    if kind == "Widget":
        path, version = f"/apis/client.example.com/v1/namespaces/{namespace}/widgets", "client.example.com/v1"
    whole = {"apiVersion": version, "kind": kind} | ({"spec": {"size": 1}} if kind == "Widget" else {})

    async def send(method, where, body, **options):
        return await client.connection.request(Call(method, where, body=orjson.dumps(body), **options))

    def request(field, value):
        if way == "create":
            return send("POST", path, {**whole, "metadata": {"name": "x", field: value}})
        if way == MERGE:
            return send("PATCH", f"{path}/w", {"metadata": {field: value}}, content_type=way)
        if way == PATCH:
            operations = [{"op": "add", "path": f"/metadata/{field}", "value": value}]
            return send("PATCH", f"{path}/w", operations, content_type=way)
        query = (("fieldManager", "tests"), ("force", "true"))
        applied = {**whole, "metadata": {"name": "w", field: value}}
        return send("PATCH", f"{path}/w", applied, content_type=way, query=query)

    await send("POST", path, {**whole, "metadata": {"name": "w"}})
    for field, value in MISFITS:
        with pytest.raises(error):
            await request(field, value)


async def test_a_label_without_a_value_is_empty(client, namespace, widgets):
    """The API server reads null as an empty string."""
    wire = widgets.make(namespace).to_wire()
    wire["metadata"]["labels"] = {"a": None}
    await client.create(wire)
    assert wire["metadata"]["labels"] == {"a": ""}

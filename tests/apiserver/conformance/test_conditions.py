"""The `matchConditions` of webhooks: whether a webhook is called, and what happens if the evaluation fails.

No webhook answers here: a request for which one is called fails.
"""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from pykb.client.mapper import ResourceMapper
from pykb.explore._webhooks import Conditions
from pykb.runtime import ApiError, Client, Manager
from pykb.runtime.fake import FakeApiServer
from pykb.testing import eventually

CALLED, SKIPPED, REFUSED = 500, 0, 403
CASES = [
    ("object.data.food == 'hay'", "Fail", CALLED),
    ("object.data.food == 'oats'", "Fail", SKIPPED),
    ("object.data.food.matches('^h') && request.kind.kind == 'ConfigMap'", "Fail", CALLED),
    ("oldObject == null && request.operation == 'CREATE'", "Fail", CALLED),
    ("has(request.subResource)", "Fail", SKIPPED),
    ("has(object.data.house)", "Fail", SKIPPED),
    ("object.metadata.labels.exists(name, name == 'a')", "Fail", CALLED),
    ("object.data.house == 'north'", "Fail", REFUSED),
    ("object.data.house == 'north'", "Ignore", SKIPPED),
    ("object.data.house == 'north' || object.data.food == 'hay'", "Fail", CALLED),
]


def hook(name: str, namespace: str, *conditions: str, policy: str = "Fail") -> dict[str, Any]:
    """A webhook for one ConfigMap of a namespace."""
    mine = f"object != null && object.metadata.name == '{name}'"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    return {
        "name": f"{name}.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"service": {"name": "nobody", "namespace": namespace, "path": "/"}},
        "rules": [rule],
        "failurePolicy": policy,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "matchConditions": [
            {"name": f"c{number}", "expression": text} for number, text in enumerate([mine, *conditions])
        ],
    }


async def status(client: Client, namespace: str, name: str) -> int:
    """How the API server answers the creation of a ConfigMap: 0 if it accepts it."""
    metadata = {"name": name, "namespace": namespace, "labels": {"a": "b"}}
    try:
        await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"food": "hay"}})
    except ApiError as error:
        return error.status
    return 0


@pytest.fixture
def client(server: str, client: Client) -> Client:
    """The API server in memory evaluates conditions as the explorer lets it."""
    if server == "fake":
        memory = FakeApiServer()
        client = Client(memory, mapper=ResourceMapper(memory))
    return client


async def test_conditions_decide_whether_a_webhook_is_called(server, client, namespace):
    """One that is false decides even if another one fails: the first condition selects the object."""
    cases = [hook(f"case-{n}", namespace, text, policy=policy) for n, (text, policy, _) in enumerate(CASES)]
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"conditions-{secrets.token_hex(4)}"},
        "webhooks": [hook("known", namespace), *cases],
    }
    conditions = Conditions()
    if isinstance(client.connection, FakeApiServer):
        manager = Manager(client=client)
        client.connection.use_webhooks(manager.webhook_server, [configuration], check=conditions.check)
    else:
        await client.create(dict(configuration))
    try:
        await eventually(lambda: is_known(client, namespace))
        found = [await status(client, namespace, f"case-{number}") for number in range(len(CASES))]
    finally:
        if server == "real":
            await client.delete(configuration)
    assert found == [expected for *_, expected in CASES]
    assert not conditions.unknown


async def is_known(client: Client, namespace: str) -> bool:
    """Whether the API server has read the configuration."""
    found = await status(client, namespace, "known")
    if not found:
        await client.delete(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "known", "namespace": namespace}}
        )
    return found == CALLED

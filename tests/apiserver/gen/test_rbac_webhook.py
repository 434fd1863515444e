"""What is generated from RBAC and webhook markers is accepted, and what is diagnosed as refused is refused."""

from __future__ import annotations

import pytest

from pykb.diagnostics import Diagnostics
from pykb.gen._rbac import generate_rbac
from pykb.gen._webhook import generate_webhook
from pykb.gen.output import Artifact
from pykb.markers.collect import collect
from pykb.markers.registry import builtin_registry
from pykb.runtime import Client, Invalid

pytestmark = pytest.mark.apiserver

WEBHOOK = {
    "path": "/mutate-a-example-com-v1-foo",
    "mutating": "true",
    "failurePolicy": "fail",
    "sideEffects": "None",
    "groups": "a.example.com",
    "resources": "foos",
    "verbs": "create;update",
    "versions": "v1",
    "name": "mfoo-v1.kb.io",
    "admissionReviewVersions": "v1",
}


def generate(marker: str) -> tuple[list[Artifact], Diagnostics]:
    """The manifests of one marker."""
    diagnostics = Diagnostics()
    source = collect(f"# +kubebuilder:{marker}\n", "a.py", registry=builtin_registry(), diagnostics=diagnostics)
    roles = generate_rbac([source], role_name="manager-role", diagnostics=diagnostics)
    return [*roles, *generate_webhook([source], diagnostics=diagnostics)], diagnostics


def webhook(**changes: str | None) -> str:
    """A right marker with some arguments changed or left out."""
    arguments = {**WEBHOOK, **changes}
    return "webhook:" + ",".join(f"{name}={value}" for name, value in arguments.items() if value is not None)


async def dry_run(client: Client, artifacts: list[Artifact], namespace: str) -> None:
    """Create all documents without storing them; Roles go to the namespace of the test."""
    for artifact in artifacts:
        for document in artifact.documents:
            metadata = dict(document["metadata"])  # type: ignore[call-overload]
            if "namespace" in metadata:
                metadata["namespace"] = namespace
            await client.create({**document, "metadata": metadata}, dry_run=True)


@pytest.mark.parametrize(
    "marker",
    [
        'rbac:groups="",resources=pods;pods/log,verbs=get;list',
        "rbac:groups=*,resources=*,verbs=*",
        "rbac:groups=apps,resources=deployments,resourceNames=a;b,verbs=get,namespace=system,roleName=other",
        "rbac:urls=/metrics;/healthz/*,verbs=get;head",
        "rbac:urls=*,verbs=*",
        webhook(),
        webhook(path="/"),
        webhook(resources="*;pods/status"),
        webhook(path=None, url="https://example.com:8443/x"),
        webhook(groups="*", resources="*/*", verbs="*", versions="*", matchPolicy="Exact", timeoutSeconds="30"),
        webhook(
            mutating="false", path="/validate-a", resources="pods;pods/status", groups="core", verbs="delete;connect"
        ),
        webhook(servicePort="8443", serviceName="other", serviceNamespace="elsewhere", reinvocationPolicy="IfNeeded"),
        webhook(
            patch='`{"namespaceSelector":{"matchLabels":{"a":"b"}},"matchConditions":[{"name":"n","expression":"true"}]}`'
        ),
    ],
)
async def test_what_passes_the_checks_is_accepted(marker: str, client: Client, namespace: str) -> None:
    """No finding, no refusal."""
    artifacts, diagnostics = generate(marker)
    assert len(diagnostics) == 0, list(diagnostics)
    await dry_run(client, artifacts, namespace)


@pytest.mark.parametrize(
    "marker",
    [
        "rbac:groups=apps,verbs=get",
        "rbac:resources=pods,verbs=get",
        "rbac:urls=/metrics,verbs=get,namespace=system",
        "rbac:urls=/metrics,groups=apps,resources=deployments,verbs=get",
        "rbac:groups=apps,resources=deployments,verbs=get,roleName=a/b",
        webhook(name="two.parts"),
        webhook(name="Bad.Name.x"),
        webhook(path="mutate"),
        webhook(path="/Mutate"),
        webhook(path="/a//b"),
        webhook(path=None, url="http://example.com/x"),
        webhook(path=None, url='"https://example.com/x?y=z"'),
        webhook(path=None, url="https://user@example.com/x"),
        webhook(groups="*;apps"),
        webhook(verbs="*;create"),
        webhook(versions="*;v1"),
        webhook(versions='""'),
        webhook(resources="*/*;pods"),
        webhook(resources="*;pods"),
        webhook(resources="pods/*;pods/status"),
        webhook(admissionReviewVersions="v1;v1"),
        webhook(admissionReviewVersions="v1;V2"),
        webhook(path=None, url='"https://exa mple.com/x"'),
        webhook(sideEffects=None),
        webhook(admissionReviewVersions="v2"),
    ],
)
async def test_what_is_refused_was_diagnosed(marker: str, client: Client, namespace: str) -> None:
    """The server's refusals have an error of ours before them; what is wrong in a patch is not applied."""
    artifacts, diagnostics = generate(marker)
    with pytest.raises(Invalid):
        await dry_run(client, artifacts, namespace)
    assert diagnostics.has_errors()

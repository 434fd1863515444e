"""Installs webhook configurations on a control plane, waits until they are in effect, and removes them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.environment import WEBHOOK_NOT_IN_EFFECT, WEBHOOK_REFUSED, WEBHOOK_UNREACHABLE
from pykb.envtest.rest import APPLY, Rest
from pykb.envtest.webhook_manifest import API_VERSION, COLLECTIONS, Serving

GROUP = "/apis/admissionregistration.k8s.io/v1"
FIELD_MANAGER = "pykb"
PROBE = "probe.webhooks.pykb.invalid"
POLL_SECONDS = 0.02
TIMEOUT = timedelta(seconds=30)


def install_webhooks(rest: Rest, configurations: Iterable[dict[str, Any]]) -> list[str]:
    """Apply configurations and replace old ones with the same names. :func:`settle` waits until they are in effect.

    Returns:
        The names, each with its collection: ``mutatingwebhookconfigurations/...``.

    Raises:
        EnvironmentProblem: The server refused one.
    """
    names = []
    for configuration in configurations:
        name = f"{COLLECTIONS[configuration['kind']]}/{configuration['metadata']['name']}"
        path = f"{GROUP}/{name}?fieldManager={FIELD_MANAGER}&force=true"
        answer = rest.call("PATCH", path, configuration, content_type=APPLY)
        if not answer.ok:
            raise EnvironmentProblem(
                WEBHOOK_REFUSED.at(None, f"the API server refused `{name}`", notes=(answer.message,))
            )
        names.append(name)
    return names


def remove_webhooks(rest: Rest, names: Iterable[str]) -> None:
    """Delete configurations. A missing one is not an error.

    Raises:
        EnvironmentProblem: The server refused to delete one. The others are deleted anyway.
    """
    failed = []
    for name in names:
        answer = rest.call("DELETE", f"{GROUP}/{name}")
        if not answer.ok and answer.status != HTTPStatus.NOT_FOUND:
            failed.append(f"`{name}`: {answer.message}")
    if failed:
        raise EnvironmentProblem(
            WEBHOOK_REFUSED.at(None, "the API server did not delete webhook configurations", notes=tuple(failed))
        )


def installed_with(rest: Rest, prefix: str, *, url: str = "") -> list[str]:
    """The names of the installed configurations with a prefix, each with its collection.

    Args:
        rest: The cluster.
        prefix: The prefix of the names.
        url: Only configurations whose webhooks are served there.
    """
    found = []
    for collection in COLLECTIONS.values():
        for item in rest.call("GET", f"{GROUP}/{collection}").body.get("items") or []:
            urls = [str(webhook["clientConfig"].get("url") or "") for webhook in item.get("webhooks") or ()]
            if item["metadata"]["name"].startswith(prefix) and all(each.startswith(url) for each in urls):
                found.append(f"{collection}/{item['metadata']['name']}")
    return found


def settle(rest: Rest, serving: Serving, *, timeout: timedelta = TIMEOUT) -> str:
    """Wait until all earlier changes of webhook configurations are in effect.

    The API server sees changes in their order. This function adds a configuration with a webhook that fails for one
    marked object only, at a path that is not served. When a dry run of creating that object fails, all earlier changes
    are in effect. The server watches mutating and validating configurations separately, so each kind has its own.

    Args:
        rest: The cluster.
        serving: The server of the webhooks. The dry run shows whether the API server can reach it.
        timeout: How long to wait.

    Returns:
        Why the API server cannot reach the server; empty when it can.

    Raises:
        EnvironmentProblem: It took longer, or the configurations are refused.
    """
    deadline = time.monotonic() + timeout.total_seconds()
    token = secrets.token_hex(8)
    probes = {kind: _probe(kind, f"{token}-{number}", serving) for number, kind in enumerate(COLLECTIONS)}
    names: Sequence[str] = ()
    unreached = ""
    try:
        names = install_webhooks(rest, probes.values())
        for probe in probes.values():
            unreached = _noticed(rest, probe, deadline) or unreached
    finally:
        remove_webhooks(rest, names)
    return unreached


def unreachable(serving: Serving, reason: str) -> Diagnostic:
    """The finding that the API server cannot reach the webhooks, with help."""
    return WEBHOOK_UNREACHABLE.at(
        None,
        f"the API server cannot call webhooks at `{serving.url}`",
        notes=(reason,),
        help=("PYKB_WEBHOOK_HOST=<a name or an address at which the cluster reaches this machine>",),
    )


def _probe(kind: str, token: str, serving: Serving) -> dict[str, Any]:
    webhook = {
        "name": PROBE,
        "clientConfig": serving.client_config(f"/{token}"),
        "rules": [
            {
                "apiGroups": ["scheduling.k8s.io"],  # a kind that few other webhooks match
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["priorityclasses"],
            },
        ],
        "objectSelector": {"matchLabels": {PROBE: token}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": f"pykb-probe-{token}"}, "webhooks": [webhook]}


def _noticed(rest: Rest, probe: dict[str, Any], deadline: float) -> str:
    labels = probe["webhooks"][0]["objectSelector"]["matchLabels"]
    metadata = {"name": "pykb-probe", "labels": labels}
    marked = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": 0}
    while True:
        answer = rest.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses?dryRun=All", marked)
        if PROBE in answer.message:
            # `Post "https://...": dial tcp ...: connection refused`, unlike an answer with status 404.
            return answer.message if 'Post "' in answer.message else ""
        if not answer.ok or time.monotonic() > deadline:
            why = (
                f"a dry run of creating a PriorityClass said: {answer.message}"
                if not answer.ok
                else "the configuration has no effect yet"
            )
            raise EnvironmentProblem(
                WEBHOOK_NOT_IN_EFFECT.at(None, "the API server did not notice the webhook configurations", notes=(why,))
            )
        time.sleep(POLL_SECONDS)

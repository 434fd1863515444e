"""Waits until the API server reaches the webhooks of an operator, and says what it reports if it does not.

Available replicas are not enough. The CA bundle must be set and known to the API server, and the nodes must send the
requests of the Service to the new pods. So the API server is asked to create objects of the kinds, as a dry run.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pykb.deployment.cluster import Cluster
from pykb.deployment.manifests import CRD, WEBHOOK_KINDS, Object, is_converted, of_kind, title_of
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.environment import WEBHOOK_UNANSWERED
from pykb.envtest.reporter import Reporter, Step
from pykb.meta.gvk import rule_concerns

_INJECTED = "cert-manager.io/inject-ca-from"
_NAME = "pykb-asks-webhooks"
_NAMESPACE = "default"
_INTERVAL = 1.0
_SHOWN = 300

_FAILED = re.compile(r'failed calling webhook "(?P<name>[^"]+)": (?P<reason>.*)', re.DOTALL)
_UNCONVERTED = re.compile(
    r"conversion webhook for (?P<name>\S+ \S+) failed: (?P<reason>(?:Post|the server could not find) .*)", re.DOTALL
)
"""A converter that fails has answered."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why the API server does not reach a webhook.

    Attributes:
        title: The obstacle in a few words.
        reason: What the API server says.
        remedies: What can be done about it.
    """

    title: str
    reason: str = ""
    remedies: tuple[str, ...] = ()


def await_webhooks(
    cluster: Cluster, operator: Sequence[Object], samples: Sequence[Object], reporter: Reporter, *, timeout: timedelta
) -> None:
    """Wait until the API server reaches the webhooks of an operator. Without webhooks, this does nothing.

    A webhook that may fail (`failurePolicy: Ignore`), is not called for CREATE or is for a kind of others is not asked:
    it is on the same server as the others. A webhook that validates is called for valid objects only, so it is asked
    about a sample.

    Args:
        cluster: The cluster.
        operator: The operator.
        samples: Objects of its kinds.
        reporter: Gets the progress.
        timeout: How long to wait.

    Raises:
        EnvironmentProblem: One is not reached in time. The diagnostic says why.
    """
    called = [each for each in operator if any(True for _ in _clients(each))]
    if not called:
        return
    step = reporter.step("waiting for the webhooks")
    try:
        _await(cluster, operator, called, list(_questions(operator, samples)), step, timeout)
    except KeyboardInterrupt:
        step.failed("everything was applied, and the manager runs")
        raise


def _await(
    cluster: Cluster,
    operator: Sequence[Object],
    called: Sequence[Object],
    questions: Sequence[tuple[str, Object]],
    step: Step,
    timeout: timedelta,
) -> None:
    names = {webhook["name"] for each in called for webhook in each.get("webhooks") or ()}
    end = time.monotonic() + timeout.total_seconds()
    while True:
        found = _untrusted(cluster, called) or _unanswered(cluster, questions, names)
        if found is None:
            step.done("they answer")
            return
        if time.monotonic() >= end:
            step.failed(found.title)
            raise EnvironmentProblem(_diagnostic(operator, found, timeout))
        step.update(f"{found.title}{f': {found.reason}' if found.reason else ''}")
        time.sleep(min(_INTERVAL, max(0.0, end - time.monotonic())))


def _clients(obj: Object) -> Iterator[dict[str, Any]]:
    """The `clientConfig` of each webhook that an object makes the API server call through a Service."""
    found = [each.get("clientConfig") for each in obj.get("webhooks") or ()] if obj["kind"] in WEBHOOK_KINDS else []
    if obj["kind"] == CRD and is_converted(obj):
        found.append((obj["spec"]["conversion"].get("webhook") or {}).get("clientConfig"))
    yield from (each for each in found if each and each.get("service"))


def _untrusted(cluster: Cluster, called: Sequence[Object]) -> Obstacle | None:
    """An object whose `caBundle` nobody has set. The API server trusts no certificate of such a webhook."""
    names = [f"{each['kind']}/{each['metadata']['name']}" for each in called]
    answer = json.loads(cluster.kubectl("get", *names, "--output=json"))
    for each in answer.get("items", [answer]):  # a single one is not in a list
        if all(map(_is_trusted, _clients(each))):
            continue
        source = (each["metadata"].get("annotations") or {}).get(_INJECTED)
        title = f"`{title_of(each)}` has no caBundle"
        if source is None:
            return Obstacle(title, "the manager sets it, and the log says why it does not")
        namespace, _, name = source.partition("/")
        look = f"kubectl describe certificate {name} --namespace {namespace}"
        return Obstacle(title, "the cainjector of cert-manager sets it when the Certificate was issued", (look,))
    return None


def _is_trusted(client: dict[str, Any]) -> bool:
    return bool(client.get("caBundle"))


def _questions(operator: Sequence[Object], samples: Iterable[Object]) -> Iterator[tuple[str, Object]]:
    """An object for each served version of each kind that has webhooks, and where it would be created."""
    given = {(each.get("apiVersion"), each.get("kind")): each for each in reversed(list(samples))}
    rules = [*_rules(operator)]
    for crd in of_kind(operator, CRD):
        spec = crd["spec"]
        if is_converted(crd) or any(rule_concerns(rule, spec["group"], spec["names"]["plural"]) for rule in rules):
            for version in (each["name"] for each in spec["versions"] if each.get("served")):
                sample = given.get((f"{spec['group']}/{version}", spec["names"]["kind"]), {})
                yield _question(spec, version, sample)


def _question(spec: dict[str, Any], version: str, sample: Object) -> tuple[str, Object]:
    """The path for an object of a version of a CRD, and the object, made of a sample."""
    named = {"apiVersion": f"{spec['group']}/{version}", "kind": spec["names"]["kind"]}
    metadata = {**(sample.get("metadata") or {}), "name": _NAME}
    place = ""
    if spec["scope"] == "Namespaced":
        place = f"namespaces/{_NAMESPACE}/"
        metadata["namespace"] = _NAMESPACE
    path = f"/apis/{spec['group']}/{version}/{place}{spec['names']['plural']}?dryRun=All"
    return path, {**sample, **named, "metadata": metadata}


def _rules(operator: Sequence[Object]) -> Iterator[dict[str, Any]]:
    """What the API server calls the admission webhooks for."""
    for each in operator:
        if each["kind"] in WEBHOOK_KINDS:
            for webhook in each.get("webhooks") or ():
                yield from webhook.get("rules") or ()


def _unanswered(cluster: Cluster, questions: Iterable[tuple[str, Object]], names: set[str]) -> Obstacle | None:
    """A webhook that the API server does not reach. Every answer will do: also one that refuses the object."""
    for path, obj in questions:
        answer = cluster.kubectl.attempt("create", f"--raw={path}", "--filename=-", stdin=json.dumps(obj))
        if answer.ok:
            continue
        if (match := _FAILED.search(answer.stderr)) is not None and match["name"] in names:
            return _unreached(f"webhook `{match['name']}`", match["reason"])
        if (match := _UNCONVERTED.search(answer.stderr)) is not None:
            return _unreached(f"conversion webhook of `{match['name'].replace(', Kind=', ' ')}`", match["reason"])
    return None


def _unreached(what: str, reason: str) -> Obstacle:
    said = reason.strip()
    remedies: tuple[str, ...] = ()
    if "x509" in said:
        remedies = ("its caBundle does not fit the certificate that the manager serves: see the log of the manager",)
    elif "deadline exceeded" in said or "i/o timeout" in said:
        remedies = ("let the API server through to the pods' port for webhooks: firewall of the nodes, NetworkPolicy",)
    elif "refused" in said or "no endpoints" in said:
        remedies = ("does the manager serve webhooks? ENABLE_WEBHOOKS=false in config/manager switches them off",)
    return Obstacle(f"the API server does not reach the {what}", said[:_SHOWN], remedies)


def _diagnostic(operator: Sequence[Object], obstacle: Obstacle, timeout: timedelta) -> Diagnostic:
    managers = [each["metadata"] for each in of_kind(operator, "Deployment")]
    logs = [f"kubectl logs --namespace {each['namespace']} deployment/{each['name']}" for each in managers]
    return WEBHOOK_UNANSWERED.at(
        None,
        f"{obstacle.title} after {timeout.total_seconds():g} s",
        *obstacle.remedies,
        *logs,
        notes=(
            obstacle.reason,
            "everything was applied, and the manager runs",
            "the API server refuses objects of these kinds until it reaches the webhooks",
        ),
    )

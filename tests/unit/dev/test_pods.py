"""Which manager `pykb inspect` shows, and what it says if there is none. kubectl's answers are given here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from pykb.dev.pods import Subject, find_subject, leader_of
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.tools.kubectl import Kubectl
from pykb.tools.process import Finished

SELECTOR = {"selector": {"matchLabels": {"app": "shop"}}}
DEPLOYMENT = {"metadata": {"name": "shop", "namespace": "shop-system"}, "spec": SELECTOR}
FORBIDDEN = 'Error from server (Forbidden): pods is forbidden: User "ann" cannot list resource "pods"'


@dataclass
class Answers:
    """Stands for kubectl. What it is asked for without an answer here is not there."""

    given: dict[str, Any]
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def attempt(self, *words: str, stdin: str | None = None) -> Finished:
        """Answer by the second word."""
        self.asked.append(words)
        answer = self.given.get(words[1], {"items": []} if "--ignore-not-found" not in words else "")
        if isinstance(answer, str):
            return Finished(words, 1 if answer else 0, "", answer)
        return Finished(words, 0, json.dumps(answer), "")


def kubectl(**given: Any) -> Kubectl:
    """A kubectl that answers so."""
    return Answers({name.replace("__", "/"): answer for name, answer in given.items()})  # type: ignore[return-value]


def pod(name: str, *, ready: bool = True, port: int | None = 8083, **more: Any) -> dict[str, Any]:
    """A pod that runs."""
    ports = [{"name": "https", "containerPort": 8443}]
    ports += [{"name": "records", "containerPort": port}] if port else []
    return {
        "metadata": {"name": name, "namespace": "shop-system", "labels": {"app.kubernetes.io/name": "shop"}, **more},
        "spec": {"containers": [{"name": "proxy"}, {"name": "manager", "ports": ports}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def lease(name: str, holder: str | None) -> dict[str, Any]:
    """A Lease."""
    return {"metadata": {"name": name}, "spec": {"holderIdentity": holder}}


def refusal(ask: Callable[[], object]) -> Diagnostic:
    """What is said instead of an answer."""
    with pytest.raises(EnvironmentProblem) as raised:
        ask()
    return raised.value.diagnostic


def found(**given: Any) -> str:
    """The pod of the Deployment, as the page names it."""
    return Subject(kubectl(deployment__shop=DEPLOYMENT, **given), "deployment", "shop", "shop-system").find_pod().title


def test_the_leader_is_shown_else_a_pod_that_is_ready() -> None:
    """Pods that end do not count. Without the permission to list Leases, nobody knows who leads."""
    pods = {"items": [pod("a", ready=False), pod("b"), pod("c", ready=False), pod("d", deletionTimestamp="now")]}
    leases = {"items": [lease("other", "x_1"), lease("shop", "c_1"), lease("idle", None)]}
    assert found(pods=pods, leases=leases) == "pod shop-system/c, the leader, one of 3 replicas"
    assert found(pods=pods, leases=FORBIDDEN) == "pod shop-system/b, one of 3 replicas"
    assert found(pods={"items": [pod("a")]}) == "pod shop-system/a"


def test_the_lease_of_the_leader_is_not_taken_for_one_of_a_shard() -> None:
    """Their names begin with its name."""
    leases = [lease("shop-shard-0", "a_1"), lease("shop", "b_1"), lease("shop-shard-1", "b_1")]
    leader = leader_of([pod("a"), pod("b")], leases)
    assert leader is not None
    assert leader["metadata"]["name"] == "b"


def test_a_pod_may_be_named() -> None:
    """Another replica than the leader."""
    assert Subject(kubectl(pod__a=pod("a")), "pod", "a").find_pod().port == 8083
    ended = {**pod("a"), "status": {"phase": "Succeeded"}}
    assert refusal(Subject(kubectl(pod__a=ended), "pod", "a").find_pod).message == "pod `a` does not run"


def test_what_is_missing_is_said_with_a_remedy() -> None:
    """A Deployment, a pod, the port of the records, the permission."""
    missing = refusal(Subject(kubectl(), "deployment", "shop").find_pod)
    assert missing.message == "there is no deployment `shop` in the namespace of the kubeconfig"
    assert "pykb inspect deployment/NAME --namespace NAMESPACE" in missing.help
    idle = refusal(lambda: found(pods={"items": []}))
    assert (idle.code.slug, idle.message) == ("inspect-target", "deployment `shop` has no running pod")
    off = refusal(lambda: found(pods={"items": [pod("a", port=None)]}))
    assert (off.code.slug, off.message) == (
        "records-off",
        "pod `a` does not serve its records: it has no port `records`",
    )
    assert "config/default/kustomization.yaml" in off.help[0]
    forbidden = refusal(lambda: found(pods=FORBIDDEN))
    assert forbidden.code.slug == "inspect-forbidden"
    assert "cannot list resource" in forbidden.notes[0]
    failed = refusal(lambda: found(pods="Unable to connect to the server"))
    assert failed.code.slug == "command-failed"


def test_without_a_name_the_only_manager_is_taken() -> None:
    """Of the project, else of the namespace. Several are a choice."""
    two = [DEPLOYMENT, {"metadata": {"name": "other"}}]
    of_project = find_subject(kubectl(), [DEPLOYMENT], namespace="", account="")
    assert (of_project.name, of_project.namespace) == ("shop", "shop-system")
    elsewhere = find_subject(kubectl(), [DEPLOYMENT], namespace="test", account="")
    assert (elsewhere.name, elsewhere.namespace) == ("shop", "test")
    of_namespace = find_subject(kubectl(deployments={"items": [DEPLOYMENT]}), [], namespace="", account="reader")
    assert (of_namespace.name, of_namespace.account) == ("shop", "reader")
    many = refusal(lambda: find_subject(kubectl(), two, namespace="", account=""))
    assert many.help == (
        "pykb inspect deployment/shop --namespace shop-system",
        "pykb inspect deployment/other",
    )
    none = refusal(lambda: find_subject(kubectl(), [], namespace="test", account=""))
    assert "in namespace `test`" in none.message


def test_the_account_of_the_project_reads() -> None:
    """The namespace may have the readers of several projects."""
    labels = {"app.kubernetes.io/name": "shop"}
    accounts = [{"metadata": {"name": "other-reader"}}, {"metadata": {"name": "shop-reader", "labels": labels}}]
    given = kubectl(pod__a=pod("a"), serviceaccounts={"items": accounts}, token={})
    subject = Subject(given, "pod", "a")
    subject.token_for(subject.find_pod())
    assert given.asked[-1][:3] == ("create", "token", "shop-reader")  # type: ignore[attr-defined]
    off = refusal(lambda: Subject(kubectl(pod__a=pod("a")), "pod", "a").token_for(subject.find_pod()))
    assert off.message == "namespace `shop-system` has no service account that reads records"

"""What the objects of a project are for: where their templates go, and which values decide about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pykb.deployment.manifests import CRD, WEBHOOK_KINDS, Object, is_converted
from pykb.plugins.rendered import AUTOSCALER

_RBAC = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})
_PROMETHEUS = frozenset({"ServiceMonitor", "PrometheusRule"})
_BUDGET = "PodDisruptionBudget"
_METRICS = re.compile(r"(^|-)metrics(-|$)")
_WEBHOOK = re.compile(r"(^|-)webhooks?(-|$)")
_HELPER = re.compile(r"-(admin|editor|viewer)-role$")


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of an object's template, and the values that must be true for it."""

    folder: str
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """What a project has. A chart has values only for these."""

    crds: bool
    helpers: bool
    webhooks: bool
    certificates: bool
    metrics: bool
    prometheus: bool
    policies: bool
    budget: bool
    autoscaler: bool

    @classmethod
    def of(cls, objects: Sequence[Object], prefix: str) -> Parts:
        """The parts of these objects."""
        kinds = {each["kind"] for each in objects}
        return cls(
            crds=CRD in kinds,
            helpers=any(is_helper(each) for each in objects),
            webhooks=bool(kinds & WEBHOOK_KINDS) or any(each["kind"] == CRD and is_converted(each) for each in objects),
            certificates="Certificate" in kinds,
            metrics=any(each["kind"] == "Service" and _METRICS.search(_rest(each, prefix)) for each in objects),
            prometheus=bool(kinds & _PROMETHEUS),
            policies="NetworkPolicy" in kinds,
            budget=_BUDGET in kinds,
            autoscaler=AUTOSCALER in kinds,
        )


def is_helper(obj: Object) -> bool:
    """Whether it is a role for users of the project's kinds."""
    return obj["kind"] == "ClusterRole" and _HELPER.search(obj["metadata"]["name"]) is not None


def place(obj: Object, parts: Parts, prefix: str) -> Place:
    """Where the template of an object goes, and when it is part of a release."""
    kind = obj["kind"]
    name = _rest(obj, prefix)
    about = (".Values.metrics.enabled",) * (parts.metrics and _METRICS.search(name) is not None)
    about += (".Values.webhook.enabled",) * (parts.webhooks and _WEBHOOK.search(name) is not None)
    if kind == CRD:
        return Place("crd", (".Values.crd.enabled",))
    if kind == "ServiceAccount":
        return Place("rbac", (".Values.serviceAccount.create",))
    if kind in _RBAC:
        return Place("rbac", (".Values.rbac.helpers.enabled",) if is_helper(obj) else about)
    if kind == "NetworkPolicy":
        return Place("network-policy", (".Values.networkPolicy.enabled", *about))
    if kind in _PROMETHEUS:
        return Place("prometheus", (".Values.prometheus.enabled", *about))
    if obj["apiVersion"].startswith("cert-manager.io/"):
        return Place("cert-manager", (".Values.certManager.enabled",))
    if kind in WEBHOOK_KINDS or (kind == "Service" and _WEBHOOK.search(name)):
        return Place("webhook", (".Values.webhook.enabled",))
    if kind == "Service" and _METRICS.search(name):
        return Place("metrics", about)
    if kind == AUTOSCALER:
        return Place("extra", (".Values.autoscaling.enabled",))
    if kind == _BUDGET:
        return Place("extra", (".Values.podDisruptionBudget.enabled",))
    return Place("manager" if kind == "Deployment" else "extra")


def _rest(obj: Object, prefix: str) -> str:
    """The name without the project's prefix, which may be any word."""
    return str(obj["metadata"]["name"]).removeprefix(prefix)

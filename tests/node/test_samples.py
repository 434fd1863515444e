"""Each sample as its user ships it: built, deployed under Pod Security "restricted", reconciled by its pod, undeployed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from hack.samples.build import PROJECTS
from hack.samples.recipes import multigroup
from hack.samples.steps import Step
from tests.e2e.conftest import Shell
from tests.node.audit import AuditLog, Grant, granted
from tests.node.operator import Node, Operator, copied, deployed, objects

SAMPLES = "config/samples"


@dataclass(frozen=True)
class Sample:
    """A sample and what its manager does.

    Attributes:
        name: The folder.
        made: Objects that the manager makes for its sample, for `kubectl get`.
        logged: What the manager writes about it.
        later: Permissions that it needs when its sample is changed, which this test does not do.
        steps: The recipe to build it by, if the committed project needs what the node does not have.
        foreign: The manifest of a kind that others define.
    """

    name: str
    made: tuple[str, ...] = ()
    logged: str = ""
    later: frozenset[str] = frozenset()
    steps: tuple[Step, ...] = ()
    foreign: str = ""

    def project(self, into: Path) -> Path:
        """Make the project in a folder."""
        if not self.steps:
            return copied(self.name, into)
        folder = into / self.name
        folder.mkdir()
        for step in self.steps:
            step(folder)
        return folder


def _all(verbs: str, *resources: str) -> frozenset[str]:
    return frozenset(f"{verb} {resource}" for verb in verbs.split() for resource in resources)


ISSUERS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: issuers.certs.example.org}
spec:
  group: certs.example.org
  scope: Namespaced
  names: {kind: Issuer, listKind: IssuerList, plural: issuers, singular: issuer}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}},
     schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
"""

SAMPLE = [
    Sample(
        "virtulmachine",
        logged="machine default/virtulmachine-sample: cpu 1",
        later=_all("create delete update", "virtulmachines.infra.sealyun.com"),
    ),
    Sample("foo", made=("deployment/example-foo",), later=_all("delete patch update", "deployments.apps")),
    Sample("app", made=("deployment/web", "service/web"), later=_all("delete patch", "deployments.apps", "services")),
    Sample(
        "unit",
        made=("deployment/unit-sample", "service/unit-sample", "ingress/unit-sample", "pvc/unit-sample"),
        later=_all("delete patch", "deployments.apps", "services", "persistentvolumeclaims")
        | _all("create delete patch", "statefulsets.apps")
        | _all("patch", "ingresses.networking.k8s.io")
        | _all("update", "units.custom.example.com"),
    ),
    Sample("pod-watcher", logged="is Running"),
    Sample("memcached", made=("deployment/memcached-sample",), later=_all("patch", "deployments.apps")),
    Sample(
        "multigroup",
        logged="reconciling kraken-sample",
        later=_all(
            "create delete patch update",
            *("captains.crew.example.com", "deployments.apps", "issuers.certs.example.org"),
            *("frigates.ship.example.com", "harbours.ship.example.com"),
        )
        | _all("create delete update", "kraken.sea-creatures.example.com")
        | _all("create", "events"),  # of handlers that call `kopf.event`
        steps=tuple(multigroup.steps("built-in")),
        foreign=ISSUERS,
    ),
]


def needs_no_request(grant: Grant) -> bool:
    """Whether a permission is for something else than what every manager does in its first minute.

    The API server asks for `update` on finalizers before it accepts an owner reference that blocks deletion. Reads come
    from the cache, which lists and watches. A status is updated or patched. The certificates' objects are made again
    when they were deleted, scrapers of metrics are reviewed, and a repeated event is patched.
    """
    resource, verb = grant.resource, grant.verb
    return (
        resource.endswith(("/finalizers", "/status"))
        or verb == "get"
        or (verb == "create" and resource in {"secrets", "configmaps", "tokenreviews", "subjectaccessreviews"})
        or (verb == "patch" and resource == "events")
    )


@pytest.mark.parametrize("sample", SAMPLE, ids=lambda sample: sample.name)
def test_a_sample_is_reconciled_by_its_pod(sample: Sample, node: Node, audit_log: AuditLog, tmp_path: Path) -> None:
    """The API server forbids it nothing, it has no permission that it does not need, and nothing is left of it."""
    folder = sample.project(tmp_path)
    if sample.foreign:
        Shell(folder, node.kubectl, dict(os.environ)).ctl("apply", "--filename=-", text=sample.foreign)
    before, start = objects(node), audit_log.size()
    with deployed(node, folder) as operator:
        _reconciled(operator, sample)
        permissions = granted(operator)
    operator.eventually(lambda: objects(node) <= before, "nothing is left")
    assert audit_log.forbidden(operator.account, start) == []
    unused = permissions - audit_log.used(operator.account, start)
    assert {str(grant) for grant in unused if not needs_no_request(grant)} <= sample.later


def test_every_sample_is_here() -> None:
    """A sample that is added to testdata is deployed as well."""
    assert {sample.name for sample in SAMPLE} == set(PROJECTS)


def _reconciled(operator: Operator, sample: Sample) -> None:
    """Apply the sample, wait for what its manager does, and delete it."""
    has_samples = (operator.shell.directory / SAMPLES).exists()
    if has_samples:
        operator.eventually(lambda: _applied(operator), "the sample is accepted")
    operator.eventually(lambda: sample.logged in operator.log(), f"the manager logs {sample.logged!r}")
    for made in sample.made:
        get = ("get", made, "--ignore-not-found", "--output=name")
        operator.eventually(lambda get=get: bool(operator.shell.ctl(*get)), f"the manager makes {made}")
    if has_samples:
        operator.shell.ctl("delete", f"--kustomize={SAMPLES}", "--ignore-not-found", "--timeout=60s")


def _applied(operator: Operator) -> bool:
    """Whether the API server accepts the sample. Its node may not know yet that the pod with the webhooks is ready."""
    try:
        operator.shell.ctl("apply", f"--kustomize={SAMPLES}")
    except pytest.fail.Exception:
        return False
    return True

"""Each sample as its user ships it: built, deployed under Pod Security "restricted", reconciled by its pod, undeployed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hack.samples.build import PROJECTS
from hack.samples.recipes import multigroup
from hack.samples.steps import Step
from tests.e2e.conftest import Shell
from tests.node.audit import AuditLog, Grant, granted
from tests.node.operator import Node, Operator, copied, deployed, objects

SAMPLES = "config/samples"


@dataclass(frozen=True)
class Change:
    """A merge patch of a sample, and the result.

    Attributes:
        patch: The patch.
        made: The object to look at, for `kubectl get`.
        path: Where in it, as a JSON path. Empty for the whole object.
        value: What is there then. Empty means that the object is gone.
    """

    patch: dict[str, Any]
    made: str
    path: str = ""
    value: str = ""

    def is_made(self, shell: Shell) -> bool:
        """Whether the manager has done it."""
        output = f"--output=jsonpath={{{self.path}}}" if self.path else "--output=name"
        return shell.ctl("get", self.made, "--ignore-not-found", output).strip() == self.value


@dataclass(frozen=True)
class Sample:
    """A sample and what its manager does.

    Attributes:
        name: The folder.
        made: Objects that the manager makes for its sample, for `kubectl get`.
        logged: What the manager writes about it.
        changes: Changes of the sample, and what its manager then makes of it.
        spare: Permissions that it has and does not need, each with its reason beside it.
        steps: The recipe to build it by, if the committed project needs what the node does not have.
        foreign: The manifest of a kind that others define.
    """

    name: str
    made: tuple[str, ...] = ()
    logged: str = ""
    changes: tuple[Change, ...] = ()
    spare: frozenset[str] = frozenset()
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

OF_AUTHORS = "create delete update"
"""`pykb create api` grants every verb on the kind, as kubebuilder does. Its author removes what the code does not use,
and these samples are as they were scaffolded."""

SAMPLE = [
    Sample(
        "virtulmachine",
        logged="machine default/virtulmachine-sample: cpu 1",
        spare=_all(OF_AUTHORS, "virtulmachines.infra.sealyun.com"),
    ),
    Sample(
        "foo",
        made=("deployment/example-foo",),
        changes=(
            Change({"spec": {"replicas": 2}}, "deployment/example-foo", ".spec.replicas", "2"),
            Change({"spec": {"deploymentName": "renamed"}}, "deployment/example-foo"),
        ),
    ),
    Sample(
        "app",
        made=("deployment/web", "service/web"),
        changes=(
            Change({"spec": {"deployment": {"replicas": 1}}}, "deployment/web", ".spec.replicas", "1"),
            Change({"spec": {"deployment": {"name": "site"}}}, "deployment/web"),
            Change({"spec": {"service": {"name": "site"}}}, "service/web"),
        ),
    ),
    Sample(
        "unit",
        made=("deployment/unit-sample", "service/unit-sample", "ingress/unit-sample", "pvc/unit-sample"),
        changes=(
            Change({"spec": {"replicas": 1}}, "deployment/unit-sample", ".spec.replicas", "1"),
            Change(
                {"spec": {"relationResource": {"service": {"ports": [{"port": 81}]}}}},
                "service/unit-sample",
                ".spec.ports[0].port",
                "81",
            ),
            Change(
                {"spec": {"relationResource": {"ingress": {"defaultBackend": {"service": {"port": {"number": 81}}}}}}},
                "ingress/unit-sample",
                ".spec.defaultBackend.service.port.number",
                "81",
            ),
            Change({"spec": {"category": "StatefulSet"}}, "deployment/unit-sample"),
            Change({"spec": {"replicas": 2}}, "statefulset/unit-sample", ".spec.replicas", "2"),
            Change({"spec": {"category": "Deployment"}}, "statefulset/unit-sample"),
            Change({"spec": {"relationResource": {"service": None}}}, "service/unit-sample"),
            Change({"spec": {"relationResource": {"pvc": None}}}, "pvc/unit-sample"),
        ),
        # The API server refuses changes of a claim that no volume is bound to.
        spare=_all("patch", "persistentvolumeclaims"),
    ),
    Sample("pod-watcher", logged="is Running"),
    Sample(
        "memcached",
        made=("deployment/memcached-sample",),
        changes=(Change({"spec": {"size": 2}}, "deployment/memcached-sample", ".spec.replicas", "2"),),
    ),
    Sample(
        "multigroup",
        logged="reconciling kraken-sample",
        spare=_all(
            f"{OF_AUTHORS} patch",
            *("captains.crew.example.com", "deployments.apps", "issuers.certs.example.org"),
            *("frigates.ship.example.com", "harbours.ship.example.com"),
        )
        | _all(OF_AUTHORS, "kraken.sea-creatures.example.com")
        | _all("create", "events"),  # of handlers that call `kopf.event`
        steps=tuple(multigroup.steps("built-in")),
        foreign=ISSUERS,
    ),
]


def needs_no_request(grant: Grant, granted: set[Grant], used: set[Grant]) -> bool:
    """Whether a permission is scaffolded for something that the audit log does not show, or not of every manager.

    - Who may list or watch objects reads nothing more by `get`. It is for code that reads past the cache. A status is
      read with its object.
    - A status is updated or patched, as its author likes. kubebuilder grants both. A controller as it was scaffolded
      writes none.
    - The API server asks for `update` of finalizers before it accepts an owner reference that blocks deletion, if its
      plugin OwnerReferencesPermissionEnforcement is on. That is no request of its own.
    - An event is patched when it is the same again within minutes, which depends on the controller and on the time.
    """
    group, resource, verb = grant
    kind, _, part = resource.partition("/")
    return (
        part in {"finalizers", "status"}
        or (verb == "get" and bool({Grant(group, kind, "list"), Grant(group, kind, "watch")} & granted & used))
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
        _asked_and_healed(operator)
        permissions = granted(operator)
    operator.eventually(lambda: objects(node) <= before, "nothing is left")
    assert audit_log.forbidden(operator.account, start) == []
    used = audit_log.used(operator.account, start)
    unused = permissions - used
    assert {str(grant) for grant in unused if not needs_no_request(grant, permissions, used)} == sample.spare


def test_every_sample_is_here() -> None:
    """A sample that is added to testdata is deployed as well."""
    assert {sample.name for sample in SAMPLE} == set(PROJECTS)


def _reconciled(operator: Operator, sample: Sample) -> None:
    """Apply the sample, wait for what its manager does, change it, and delete it."""
    shell = operator.shell
    has_samples = (shell.directory / SAMPLES).exists()
    if has_samples:
        shell.ctl("apply", f"--kustomize={SAMPLES}")  # `pykb deploy` has waited for the webhooks
    operator.eventually(lambda: sample.logged in operator.log(), f"the manager logs {sample.logged!r}")
    for made in sample.made:
        get = ("get", made, "--ignore-not-found", "--output=name")
        operator.eventually(lambda get=get: bool(shell.ctl(*get)), f"the manager makes {made}")
    for change in sample.changes:
        shell.ctl("patch", f"--kustomize={SAMPLES}", "--type=merge", "--patch", json.dumps(change.patch))
        operator.eventually(lambda change=change: change.is_made(shell), f"the manager does {change}")
    if has_samples:
        shell.ctl("delete", f"--kustomize={SAMPLES}", "--ignore-not-found", "--timeout=60s")


def _asked_and_healed(operator: Operator) -> None:
    """Ask for the metrics with a token, and delete the certificates, which come back."""
    (pod,) = operator.pod_names()
    assert operator.scrape(pod, operator.token()) == "403"
    certificates = operator.ctl("get", "secrets", "--output=name").split()
    for secret in certificates:
        both = (secret, secret.replace("secret/", "configmap/"))
        operator.ctl("delete", *both)
        found = ("get", *both, "--ignore-not-found", "--output=name")
        operator.eventually(lambda found=found: len(operator.ctl(*found).split()) == 2, "the certificates come back")

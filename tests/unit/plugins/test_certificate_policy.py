"""What the ServiceAccount of a manager with certificates of its own can change: `caBundle` of its places, nothing else.

A real API server is asked with the account's own token. Its permissions are widened for these tests, so that only the
policies stand between it and the objects.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.commands.options import NewApi, NewProject, NewWebhook
from pykb.deployment.apply import await_deleted
from pykb.deployment.manifests import as_list, objects_of
from pykb.envtest import ControlPlane
from pykb.envtest.components import Authority, Component
from pykb.envtest.rest import Answer, Rest
from pykb.tools.kubectl import APPLY, Kubectl
from tests.unit.plugins.conftest import Grow, kubectl, pykb, run

pytestmark = pytest.mark.apiserver

Object = dict[str, Any]
Change = Callable[[Object], None]

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
BUNDLE = base64.b64encode(Authority().pair.certificate).decode()
OVERLAY = {"namespace": "harbour", "namePrefix": "north-", "resources": ["../default"]}
DENIED = "and nothing else"
KINDS = ("VALIDATING", "MUTATING", "CRD")


@pytest.fixture(scope="module")
def root(grow: Grow) -> Path:
    """A project with a converted kind, and webhooks of each type. Another folder gives other names and a namespace."""
    kinds = [NewApi("fleet", "v1", "Ferry"), NewApi("fleet", "v1beta1", "Ferry", controller=False)]
    webhook = NewWebhook("fleet", "v1", "Ferry", defaulting=True, validation=True, conversion=True)
    made = grow(NewProject("lock.example.com", "lock"), *kinds, webhook)
    pykb(made, "generate")
    (made / "config/overlay").mkdir()
    (made / "config/overlay/kustomization.yaml").write_text(yaml.safe_dump(OVERLAY), encoding="utf-8")
    return made


class Lock:
    """An operator in the cluster, and its account."""

    def __init__(self, control_plane: ControlPlane, objects: list[Object]) -> None:
        self.plane, self.objects = control_plane, objects
        self.admin = control_plane.rest()
        (account,) = (each["metadata"] for each in objects if each["kind"] == "ServiceAccount")
        self.account: str = account["name"]
        self.namespace: str = account["namespace"]
        prefix = self.account.removesuffix("controller-manager")
        self.paths = {
            "VALIDATING": f"{ADMISSION}/validatingwebhookconfigurations/{prefix}validating-webhook-configuration",
            "MUTATING": f"{ADMISSION}/mutatingwebhookconfigurations/{prefix}mutating-webhook-configuration",
            "CRD": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ferries.fleet.lock.example.com",
        }

    def token(self) -> Rest:
        """The account."""
        return Rest.from_kubeconfig(self.plane.service_account(self.namespace, self.account))

    def kubectl(self, *words: str, objects: list[Object]) -> None:
        """Run kubectl as administrator."""
        Kubectl(kubectl(), self.plane.kubeconfig)(*words, stdin=as_list(objects))

    def found(self, which: str) -> Object:
        """An object as it is."""
        answer = self.admin.call("GET", self.paths[which])
        assert answer.ok, answer.message
        return answer.body

    def rights(self) -> list[Object]:
        """All rights to webhook configurations and CRDs, for the account."""
        group = "rbac.authorization.k8s.io"
        rule = {
            "apiGroups": ["admissionregistration.k8s.io", "apiextensions.k8s.io"],
            "resources": ["*"],
            "verbs": ["*"],
        }
        metadata = {"name": f"{self.account}-everything"}
        reference = {"apiGroup": group, "kind": "ClusterRole", "name": metadata["name"]}
        subject = {"kind": "ServiceAccount", "name": self.account, "namespace": self.namespace}
        role = {"apiVersion": f"{group}/v1", "metadata": metadata}
        return [
            {**role, "kind": "ClusterRole", "rules": [rule]},
            {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]},
        ]


@pytest.fixture(scope="module", params=["default", "overlay"])
def lock(request: pytest.FixtureRequest, root: Path, control_plane: ControlPlane) -> Iterator[Lock]:
    """The operator, applied as `pykb deploy` applies it, under two names."""
    objects = objects_of(run(root, kubectl(), "kustomize", f"config/{request.param}"))
    made = Lock(control_plane, objects)
    made.kubectl("apply", *APPLY, objects=[each for each in objects if each["kind"] == "Namespace"])
    made.kubectl("apply", *APPLY, objects=[*objects, *made.rights()])
    account = made.token()
    end = time.monotonic() + 60  # the API server has to see the policies and the account
    for which in KINDS:
        while attempt(account, made.paths[which], labels(made.found(which))).ok:
            assert time.monotonic() < end
            time.sleep(0.1)
    yield made
    made.kubectl("delete", "--wait=false", "--filename=-", objects=[*objects, *made.rights()])
    crds = [each["metadata"]["name"] for each in objects if each["kind"] == "CustomResourceDefinition"]
    await_deleted(Kubectl(kubectl(), control_plane.kubeconfig), crds)


def labels(found: Object) -> Object:
    """The object with one label more."""
    changed = deepcopy(found)
    changed["metadata"].setdefault("labels", {})["more"] = "yes"
    return changed


def attempt(who: Rest, path: str, changed: Object) -> Answer:
    """Try to store an object, as a dry run: the same admission, and nothing to put back."""
    return who.call("PUT", f"{path}?dryRun=All", changed)


def attempts(who: Rest, path: str, found: Object, changed: Object) -> Iterator[tuple[str, Answer]]:
    """The same by each verb that changes an object."""
    yield "update", attempt(who, path, changed)
    replaced = [{"op": "replace", "path": f"/{key}", "value": changed[key]} for key in changed if key in found]
    removed = [{"op": "remove", "path": f"/{key}"} for key in found if key not in changed]
    yield "json patch", patch(who, path, "json-patch+json", [*replaced, *removed])
    yield "merge patch", patch(who, path, "merge-patch+json", difference(found, changed))
    applied = deepcopy(changed)
    for key in ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"):
        applied["metadata"].pop(key, None)
    yield "apply", patch(who, path, "apply-patch+yaml", applied, "&fieldManager=other&force=true")


def patch(who: Rest, path: str, kind: str, body: object, query: str = "") -> Answer:
    """Try to patch an object, as a dry run."""
    return who.call("PATCH", f"{path}?dryRun=All{query}", body, content_type=f"application/{kind}")


def difference(found: Object, changed: Object) -> Object:
    """A merge patch."""
    gone: Object = dict.fromkeys(found.keys() - changed.keys())
    for key, value in changed.items():
        known = found.get(key)
        if value != known:
            gone[key] = difference(known, value) if isinstance(value, dict) and isinstance(known, dict) else value
    return gone


def first(found: Object) -> Object:
    """The first webhook of a configuration."""
    webhook: Object = found["webhooks"][0]
    return webhook


def conversion(found: Object) -> Object:
    """The webhook that converts the versions of a CRD."""
    webhook: Object = found["spec"]["conversion"]["webhook"]
    return webhook


def elsewhere(client: Object) -> None:
    """Call a server somewhere else."""
    del client["service"]
    client["url"] = "https://attacker.example.com/"


def put(found: Object, key: str, value: object) -> None:
    """Set a key."""
    found[key] = value


METADATA: dict[str, Change] = {
    "a label": lambda it: it["metadata"].update(labels={"more": "yes"}),
    "an annotation": lambda it: it["metadata"].update(annotations={"more": "yes"}),
    "an owner": lambda it: it["metadata"].update(
        ownerReferences=[{"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "none"}]
    ),
    "a finalizer": lambda it: it["metadata"].update(finalizers=["example.com/stays"]),
}
WEBHOOKS: dict[str, Change] = {
    "every resource": lambda it: first(it).update(
        rules=[{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]
    ),
    "another url": lambda it: elsewhere(first(it)["clientConfig"]),
    "another url and a caBundle": lambda it: (
        elsewhere(first(it)["clientConfig"]),
        put(first(it)["clientConfig"], "caBundle", BUNDLE),
    )[0],
    "another service": lambda it: first(it)["clientConfig"]["service"].update(namespace="default"),
    "another path": lambda it: first(it)["clientConfig"]["service"].update(path="/other"),
    "another port": lambda it: first(it)["clientConfig"]["service"].update(port=444),
    "one more": lambda it: it["webhooks"].append({**first(it), "name": "more.example.com"}),
    "one more, in front": lambda it: it["webhooks"].insert(0, {**first(it), "name": "more.example.com"}),
    "another name": lambda it: first(it).update(name="more.example.com"),
    "none": lambda it: it.update(webhooks=[]),
    "no list of them": lambda it: it.pop("webhooks"),
    "failurePolicy": lambda it: first(it).update(failurePolicy="Ignore"),
    "namespaceSelector": lambda it: first(it).update(namespaceSelector={"matchLabels": {"a": "b"}}),
    "objectSelector": lambda it: first(it).update(objectSelector={"matchLabels": {"a": "b"}}),
    "matchConditions": lambda it: first(it).update(matchConditions=[{"name": "never", "expression": "false"}]),
    "timeoutSeconds": lambda it: first(it).update(timeoutSeconds=30),
    "caBundle and rules": lambda it: (
        put(first(it)["clientConfig"], "caBundle", BUNDLE),
        first(it)["rules"][0].update(operations=["*"]),
    )[0],
}
CRD: dict[str, Change] = {
    "the schema": lambda it: it["spec"]["versions"][0]["schema"]["openAPIV3Schema"].update(description="other"),
    "any field": lambda it: (
        it["spec"].update(preserveUnknownFields=False)
        or it["spec"]["versions"][0]["schema"]["openAPIV3Schema"].update({"x-kubernetes-preserve-unknown-fields": True})
    ),
    "a version less": lambda it: it["spec"]["versions"][1].update(served=False),
    "a column": lambda it: it["spec"]["versions"][0].update(
        additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": ".spec"}]
    ),
    "a short name": lambda it: it["spec"]["names"].update(shortNames=["fe"]),
    "no conversion": lambda it: it["spec"].update(conversion={"strategy": "None"}),
    "no mention of conversion": lambda it: it["spec"].pop("conversion"),
    "another url": lambda it: elsewhere(conversion(it)["clientConfig"]),
    "another service": lambda it: conversion(it)["clientConfig"]["service"].update(namespace="default"),
    "other reviews": lambda it: conversion(it).update(conversionReviewVersions=["v1", "v1beta1"]),
}
CHANGES = {which: {**METADATA, **(CRD if which == "CRD" else WEBHOOKS)} for which in KINDS}


@pytest.mark.parametrize("which", KINDS)
def test_the_account_changes_nothing_but_the_bundle(lock: Lock, which: str) -> None:
    """By no verb that there is. An administrator may do what it may not."""
    account, found, path = lock.token(), lock.found(which), lock.paths[which]
    wrong: list[str] = []
    for what, change in islice(CHANGES[which].items(), None if lock.namespace == "lock-system" else 1):
        changed = deepcopy(found)
        change(changed)
        tried = zip(attempts(lock.admin, path, found, changed), attempts(account, path, found, changed), strict=True)
        for (verb, allowed), (_, answer) in tried:
            # To apply adds fields and takes none away, which may give an object that is not valid, or the same one.
            is_void = verb == "apply" and (not allowed.ok or same(allowed.body, found))
            if not is_void and not allowed.ok:
                wrong.append(f"administrator, {verb}, {what}: {allowed.message}")
            if not is_void and (answer.status != 403 or DENIED not in answer.message):
                wrong.append(f"account, {verb}, {what}: {answer.status} {answer.message}")
    assert wrong == []


def same(one: Object, other: Object) -> bool:
    """Whether two objects differ only in who manages their fields."""
    one, other = deepcopy(one), deepcopy(other)
    for each in (one, other):
        for key in ("managedFields", "generation", "resourceVersion"):
            each["metadata"].pop(key, None)
    return one == other


@pytest.mark.parametrize("which", KINDS)
def test_the_account_sets_the_bundle_of_its_own_places(lock: Lock, which: str) -> None:
    """By each verb, and takes it away again."""
    account, path, found = lock.token(), lock.paths[which], lock.found(which)
    for bundle in (BUNDLE, None):
        changed = deepcopy(found)
        for client in [conversion(changed)["clientConfig"]] if which == "CRD" else clients(changed):
            client.pop("caBundle", None)
            if bundle:
                client["caBundle"] = bundle
        said = {verb: answer.message for verb, answer in attempts(account, path, found, changed) if not answer.ok}
        assert said == {}


def clients(found: Object) -> list[Object]:
    """Where the API server calls the webhooks of a configuration."""
    return [each["clientConfig"] for each in found["webhooks"]]


def test_others_in_the_same_configuration_keep_their_bundle(lock: Lock) -> None:
    """An administrator added a webhook that the operator does not serve."""
    path, found = lock.paths["VALIDATING"], lock.found("VALIDATING")
    foreign = deepcopy(first(found)) | {"name": "other.example.com"}
    elsewhere(foreign["clientConfig"])
    found["webhooks"].append(foreign)
    answer = lock.admin.call("PUT", path, found)
    assert answer.ok, answer.message
    try:
        changed = deepcopy(answer.body)
        first(changed)["clientConfig"]["caBundle"] = BUNDLE
        assert attempt(lock.token(), path, changed).ok
        changed["webhooks"][-1]["clientConfig"]["caBundle"] = BUNDLE
        refused = attempt(lock.token(), path, changed)
        assert (refused.status, DENIED in refused.message) == (403, True)
    finally:
        lock.kubectl("apply", *APPLY, objects=[each for each in lock.objects if each["kind"].startswith("Validating")])
        lock.admin.call("PUT", path, {**lock.found("VALIDATING"), "webhooks": found["webhooks"][:-1]})


@pytest.mark.parametrize("which", KINDS)
def test_the_account_neither_deletes_nor_creates_them(lock: Lock, which: str) -> None:
    """Whatever other permissions it has."""
    path, found = lock.paths[which], lock.found(which)
    account = lock.token()
    refused = account.call("DELETE", f"{path}?dryRun=All")
    assert (refused.status, DENIED in refused.message) == (403, True)
    collection, _, name = path.rpartition("/")
    fresh = {**found, "metadata": {"name": name}}
    refused = account.call("POST", f"{collection}?dryRun=All", fresh)
    assert (refused.status, DENIED in refused.message) == (403, True)


def test_objects_of_others_are_not_concerned(lock: Lock) -> None:
    """Nor are other accounts of the namespace. Permissions decide there, as before."""
    path, found = lock.paths["VALIDATING"], lock.found("VALIDATING")
    fresh = {**found, "metadata": {"name": "somebody-elses"}}
    assert lock.token().call("POST", f"{ADMISSION}/validatingwebhookconfigurations?dryRun=All", fresh).ok
    other = Rest.from_kubeconfig(lock.plane.user("system:serviceaccount:default:lock", groups=["system:masters"]))
    assert attempt(other, path, labels(found)).ok


def test_the_api_server_finds_no_fault_in_the_expressions(lock: Lock) -> None:
    """kube-controller-manager would write its warnings into the status; a wrong expression is refused at once."""
    policies = [each for each in lock.objects if each["kind"] == "ValidatingAdmissionPolicy"]
    assert len(policies) == 2
    for each in policies:
        path = f"{ADMISSION}/validatingadmissionpolicies/{each['metadata']['name']}"
        answer = lock.admin.call("GET", path)
        assert answer.ok, answer.message
        assert "namespace" not in answer.body["metadata"]
        assert "expressionWarnings" not in json.dumps(answer.body.get("status") or {})


class WithoutPolicies(ControlPlane):
    """The API server of an older Kubernetes, as far as policies go."""

    def _apiserver(self) -> Component:
        component = super()._apiserver()
        off = [f"{ADMISSION.removeprefix('/apis/')}/{each}=false" for each in POLICIES]
        flags = (f"--runtime-config={','.join(off)}", "--disable-admission-plugins=ValidatingAdmissionPolicy")
        return replace(component, argv=(*component.argv, *flags))


def test_a_cluster_without_policies_gets_nothing(root: Path) -> None:
    """`pykb deploy` says what follows from it. Nothing is applied."""
    with WithoutPolicies() as plane:
        deploy = ("deploy", "--image", "registry.example.com/lock:v1", f"--kubeconfig={plane.kubeconfig}")
        shown = pykb(root, *deploy, code=1)
        assert "error[kind-unserved]: the cluster does not serve `ValidatingAdmissionPolicy`" in shown
        assert "whoever owns the manager's pod can have every write of the cluster sent to a server of theirs" in shown
        assert "pykb edit --certificates cert-manager" in shown
        assert not plane.rest().call("GET", "/api/v1/namespaces/lock-system").ok
        pykb(root, "build-installer", "--image", "registry.example.com/lock:v1")
        first, *_ = (root / "dist/install.yaml").read_text(encoding="utf-8").splitlines()
        assert first.startswith("# The cluster needs Kubernetes 1.30.")
        kustomization = root / "config/certificates/kustomization.yaml"
        before = kustomization.read_text(encoding="utf-8")
        kustomization.write_text(re.sub(r"- .*policy.*\n", "", before), "utf-8")
        try:
            pykb(root, *deploy, "--no-wait")
        finally:
            kustomization.write_text(before, "utf-8")

"""An operator with webhooks as its pod: who reads its metrics, whom its webhooks refuse, who leads, how it is upgraded."""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from tests.node.audit import AuditLog, rules_of
from tests.node.operator import Operator
from tests.node.requests import MACHINE, load

SECRET = "sealvm-serving-certificate"
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
READ = """
import os, pathlib, ssl, sys, urllib.error, urllib.request
account = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
secrets = f"/api/v1/namespaces/{(account / 'namespace').read_text()}/secrets/{sys.stdin.read().strip()}"
server = "https://{KUBERNETES_SERVICE_HOST}:{KUBERNETES_SERVICE_PORT}".format_map(os.environ)
headers = {"Authorization": f"Bearer {(account / 'token').read_text()}"}
request = urllib.request.Request(server + secrets.rstrip("/"), headers=headers)
try:
    with urllib.request.urlopen(request, context=ssl._create_unverified_context()) as answer:
        print(answer.status)
except urllib.error.HTTPError as error:
    print(error.code)
"""


def test_metrics_are_for_those_who_may_read_them(machines: Operator) -> None:
    """No token: 401. A token that may not: 403. The role `metrics-reader` lets a ServiceAccount read them."""
    (pod,) = machines.pod_names()
    token = machines.token()
    assert machines.scrape(pod) == "401"
    assert machines.scrape(pod, token) == "403"
    reader = f"--clusterrole={machines.prefix}metrics-reader"
    account = f"--serviceaccount={machines.namespace}:{machines.manager}"
    machines.ctl("create", "clusterrolebinding", "node-reader", reader, account)
    try:
        machines.eventually(lambda: "# HELP" in machines.scrape(pod, token), "the metrics are read")
    finally:
        machines.ctl("delete", "clusterrolebinding", "node-reader")


def test_webhooks_are_served_by_the_pod(machines: Operator) -> None:
    """The one sets a default, the other refuses with its reason."""
    create = (str(machines.node.kubectl), "create", "--dry-run=server", "--output=json", "--filename=-")

    def create_with(**spec: str) -> subprocess.CompletedProcess[str]:
        text = json.dumps({**MACHINE, "spec": spec})
        return subprocess.run(create, input=text, capture_output=True, text=True, check=False)

    assert json.loads(create_with(cpu="2").stdout)["spec"]["memory"] == "4Gi"
    assert "must be a number from 1 to 64" in create_with(cpu="65").stderr


def test_its_permissions_are_for_its_own_secret_only(machines: Operator, audit_log: AuditLog) -> None:
    """By name, as the authority of its certificates needs no more. Another Secret cannot even be seen."""
    machines.ctl("create", "secret", "generic", "other", "--from-literal=key=value")
    (pod,) = machines.pod_names()
    status = {name: machines.python(pod, READ, name).strip() for name in (SECRET, "other", "")}
    machines.ctl("delete", "secret", "other")
    assert status == {SECRET: "200", "other": "403", "": "403"}
    rules = [rule for rule in rules_of(machines) if {"secrets", "*"} & set(rule.get("resources", ()))]
    assert [(rule["resourceNames"], set(rule["verbs"])) for rule in rules] == [([SECRET], {"get", "patch", "create"})]
    # RBAC knows the name of an object to create only in a server-side apply: the deleted Secret comes back by one.
    assert [verb for verb in VERBS if may(machines, verb, "secrets")] == []
    assert [verb for verb in VERBS if may(machines, verb, f"secrets/{SECRET}")] == ["get", "create", "patch"]
    assert audit_log.named(machines.account, "secrets") == {SECRET}


def may(operator: Operator, verb: str, what: str) -> bool:
    """Whether the API server lets the manager do something in its namespace."""
    words = ("auth", "can-i", verb, what, f"--namespace={operator.namespace}", f"--as={operator.account}")
    done = subprocess.run((str(operator.node.kubectl), *words), capture_output=True, text=True, check=False)
    assert done.stdout.strip() in {"yes", "no"}, done.stderr
    return done.stdout.strip() == "yes"


def test_the_other_replica_leads_when_the_leader_is_killed(machines: Operator) -> None:
    """A pod that is deleted without grace releases nothing. The other one waits for its lease, then reconciles."""
    machines.scale(2)
    first = machines.leader()
    assert first in machines.pod_names()
    machines.ctl("delete", "pod", first, "--grace-period=0", "--force")
    machines.eventually(lambda: machines.leader() not in {"", first}, "another replica leads")
    machines.shell.ctl("apply", "--filename=-", text=json.dumps(MACHINE))
    try:
        done = ("get", "virtulmachines", "asked", "--output=jsonpath={.status.status}")
        machines.eventually(lambda: machines.shell.ctl(*done) == "Running", "the new leader reconciles")
    finally:
        machines.shell.ctl("delete", "virtulmachines", "asked")
        machines.scale(1)


@pytest.mark.parametrize("replicas", [1, 2])
def test_an_upgrade_fails_no_request(machines: Operator, replicas: int) -> None:
    """The pods change over to the next image while their webhooks answer 20 requests a second."""
    machines.scale(replicas)
    tag = f"next-{replicas}"
    machines.shell.edit("sealvm/__main__.py", ("if __name__", f'print("{tag}")\n\n\nif __name__'))
    machines.build(tag)
    with load() as running:
        time.sleep(2)  # some requests before the upgrade, and some after it
        machines.shell.run("sed", "-i", f"s/^  replicas: .*/  replicas: {replicas}/", "config/manager/manager.yaml")
        machines.deploy(tag)
        time.sleep(2)
    assert all(tag in machines.log(pod) for pod in machines.pod_names())
    assert running.failed == []
    assert running.answered > 100

"""The certificates that three replicas make themselves, on a real node: in agreement, renewed in time, and healed.

They live for minutes here. The replicas share the process namespace of their pod, so that they can be frozen.
"""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.e2e.conftest import Shell
from tests.node.operator import Node, Operator, copied, deployed
from tests.node.requests import MACHINE, load

LIFE = 60
"""Seconds. The authority lives three times as long. Both are renewed when a third of it is left."""
HEALED = 30
"""Within so many seconds."""

SERVED = 'import ssl; print(ssl.get_server_certificate(("localhost", 9443)))'
SIGNAL = """
import os, pathlib, signal, sys
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    if b"sealvm" in path.read_bytes() and int(path.parent.name) != os.getpid():
        os.kill(int(path.parent.name), signal.Signals[sys.stdin.read().strip()])
"""
OPTIONS = f"""
    short = ManagedCertificateOptions(life=timedelta(seconds={LIFE}), authority_life=timedelta(seconds={3 * LIFE}))
    manager = Manager(
        ManagerOptions.from_args(leader_election_id=LEADER_ELECTION_ID, managed_certificate=short)
    )
"""


def _short_lived(shell: Shell) -> None:
    shell.edit(
        "sealvm/__main__.py",
        ("import Manager, ManagerOptions\n", "import ManagedCertificateOptions, Manager, ManagerOptions\n"),
        ("from pykb.runtime", "from datetime import timedelta\n\nfrom pykb.runtime"),
        ("\n    manager = Manager(ManagerOptions.from_args(leader_election_id=LEADER_ELECTION_ID))\n", OPTIONS),
    )
    shell.edit(
        "config/manager/manager.yaml",
        ("  replicas: 1\n", "  replicas: 3\n"),
        ("    spec:\n      securityContext:", "    spec:\n      shareProcessNamespace: true\n      securityContext:"),
        ("          periodSeconds: 20\n", "          periodSeconds: 200\n"),  # a frozen replica is not restarted
    )


@pytest.fixture(scope="module")
def replicas(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """Three replicas that have started at once."""
    folder = copied("virtulmachine", tmp_path_factory.mktemp("node"))
    with deployed(node, folder, tag="certificates", prepare=_short_lived) as operator:
        yield operator


def authorities(operator: Operator) -> set[str]:
    """What the API server trusts, and what the Secret has."""
    secrets = operator.json("get", "secrets")["items"] or [{}]
    found = {base64.b64decode((each.get("data") or {}).get("ca.crt", "")).decode() for each in secrets}
    for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        for each in operator.json("get", kind)["items"]:
            found |= {base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode() for hook in each["webhooks"]}
    return found


def agree(operator: Operator, pods: Sequence[str] = ()) -> bool:
    """Whether all replicas serve one certificate, by an authority that the API server trusts."""
    try:
        served = {operator.python(pod, SERVED) for pod in pods or operator.pod_names()}
    except pytest.fail.Exception:
        return False  # it does not listen at present
    return len(served) == 1 and len(authorities(operator)) == 1 and "" not in authorities(operator)


def answers(operator: Operator) -> bool:
    """Whether the API server reaches a webhook."""
    create = (str(operator.node.kubectl), "create", "--dry-run=server", "--filename=-")
    return (
        subprocess.run(create, input=json.dumps(MACHINE), capture_output=True, text=True, check=False).returncode == 0
    )


def within(seconds: float, check: Callable[[], bool], what: str, operator: Operator) -> None:
    """Fail if a check does not hold in time."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds:g} s: {what}\n{operator.log()}")
        time.sleep(0.2)


def test_replicas_that_start_at_once_agree_on_one_authority(replicas: Operator) -> None:
    """One of them made it."""
    assert len(replicas.pods()) == 3
    within(HEALED, lambda: agree(replicas), "one certificate", replicas)
    assert replicas.log().count("made an authority") == 1


def test_a_renewal_fails_no_request(replicas: Operator) -> None:
    """Of the certificate and of its authority, under 20 requests a second."""

    def renewed() -> bool:
        log = replicas.log()
        return "renewed the authority" in log and log.count("renewed the certificate") > 1

    with load() as running:
        within(5 * LIFE, renewed, "both are renewed", replicas)
        within(LIFE, lambda: agree(replicas), "one certificate", replicas)
    assert running.failed == []
    assert running.answered > 20 * LIFE / 2


def test_a_deleted_secret_comes_back(replicas: Operator) -> None:
    """With what the replicas serve, and the log says it."""
    replicas.ctl("delete", "secrets", "--all")
    within(HEALED, lambda: agree(replicas) and answers(replicas), "the Secret is there again", replicas)
    assert "the Secret of the certificates is missing" in replicas.log()
    assert "restored the certificates" in replicas.log()


def test_an_emptied_bundle_is_filled(replicas: Operator) -> None:
    """And the log says it."""
    name = f"validatingwebhookconfiguration/{replicas.prefix}validating-webhook-configuration"
    before = replicas.log().count("authority set in caBundle")
    change = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
    replicas.ctl("patch", name, "--type=json", "--patch", json.dumps(change))
    within(HEALED, lambda: agree(replicas) and answers(replicas), "the caBundle is filled", replicas)
    assert replicas.log().count("authority set in caBundle") > before


def test_a_frozen_replica_does_no_harm(replicas: Operator) -> None:
    """The others restore the Secret meanwhile. When it goes on, it agrees with them."""
    frozen, *others = replicas.pod_names()
    replicas.python(frozen, SIGNAL, "SIGSTOP")
    try:
        replicas.ctl("delete", "secrets", "--all")
        within(HEALED, lambda: agree(replicas, others), "the others restore it", replicas)
    finally:
        replicas.python(frozen, SIGNAL, "SIGCONT")
    within(HEALED, lambda: agree(replicas) and answers(replicas), "all three agree", replicas)


def test_a_jump_of_the_clock_is_healed(replicas: Operator) -> None:
    """A machine that slept: for every replica, it is suddenly later, and its certificate has expired.

    The leader has lost its lease as well. So its container ends and is started again.
    """
    pods = replicas.pod_names()
    before = replicas.python(pods[0], SERVED)
    for pod in pods:
        replicas.python(pod, SIGNAL, "SIGSTOP")
    time.sleep(LIFE + 5)
    for pod in pods:
        replicas.python(pod, SIGNAL, "SIGCONT")
    within(HEALED, lambda: agree(replicas) and answers(replicas), "a new certificate", replicas)
    assert replicas.python(pods[0], SERVED) != before
    assert replicas.pod_names() == pods

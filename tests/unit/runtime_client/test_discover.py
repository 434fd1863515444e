"""Where the cluster is looked for, in which order, and what is said when there is none."""

from pathlib import Path

import pytest
import yaml

from pykb.client.login import InClusterSource, discover_credentials
from pykb.diagnostics import EnvironmentProblem


def _kubeconfig(path: Path, server: str) -> Path:
    document = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document), "utf-8")
    return path


@pytest.fixture
def places(tmp_path):
    """A home with a kubeconfig, a pod's service account, a listed and an explicit kubeconfig."""
    account = tmp_path / "account"
    account.mkdir()
    for name, text in (("token", "t1\n"), ("ca.crt", "CA"), ("namespace", "team-ns")):
        (account / name).write_text(text, "utf-8")
    return {
        "explicit": _kubeconfig(tmp_path / "explicit", "https://explicit"),
        "listed": _kubeconfig(tmp_path / "listed", "https://listed"),
        "home": _kubeconfig(tmp_path / "home" / ".kube" / "config", "https://home").parent.parent,
        "account": account,
    }


POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.mark.parametrize(
    ("arguments", "environ", "server"),
    [
        ({"kubeconfig"}, {"KUBECONFIG", "pod"}, "https://explicit"),
        (set(), {"KUBECONFIG", "pod"}, "https://listed"),
        (set(), {"pod"}, "https://10.0.0.1:443"),
        (set(), set(), "https://home"),
        ({"master"}, {"pod"}, "https://master"),
        ({"master"}, set(), "https://master"),
    ],
)
async def test_the_order_is_explicit_listed_pod_home(places, arguments, environ, server):
    """controller-runtime's order: --kubeconfig, KUBECONFIG, the service account, ~/.kube/config; --master on top."""
    environment = (POD if "pod" in environ else {}) | (
        {"KUBECONFIG": str(places["listed"])} if "KUBECONFIG" in environ else {}
    )
    source = discover_credentials(
        kubeconfig=places["explicit"] if "kubeconfig" in arguments else None,
        master="https://master" if "master" in arguments else None,
        environ=environment,
        home=places["home"],
        service_account=places["account"],
    )
    assert (await source.current()).server == server


async def test_a_pod_reads_its_files_and_reads_them_again(places):
    """Token, CA and namespace come from files; a rotated token is used within a minute, or at once after a 401."""
    now = 1.0
    source = InClusterSource(directory=places["account"], environ=POD, monotonic=lambda: now)
    found = await source.current()
    assert (found.token, found.ca_data, found.namespace) == ("t1", b"CA", "team-ns")
    (places["account"] / "token").write_text("t2", "utf-8")
    assert (await source.current()).token == "t1"
    assert (await source.refresh()).token == "t2"
    (places["account"] / "token").write_text("t3", "utf-8")
    now += 60
    assert (await source.current()).token == "t3"


async def test_an_ipv6_service_is_bracketed(places):
    """The service's host may be an IPv6 address."""
    source = InClusterSource(directory=places["account"], environ={**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"})
    assert (await source.current()).server == "https://[fd00::1]:443"


@pytest.mark.parametrize(
    ("environ", "words", "help_text"),
    [
        ({}, "no cluster is configured", "pykb cluster up"),
        ({"KUBECONFIG": "gone"}, "KUBECONFIG names `gone`, which does not exist", "pykb cluster up"),
        (POD, "this is a pod, but", "automountServiceAccountToken"),
    ],
)
def test_nothing_found_says_where_was_looked_and_what_to_type(tmp_path, environ, words, help_text):
    """Without a cluster the diagnostic helps on."""
    with pytest.raises(EnvironmentProblem) as caught:
        discover_credentials(environ=environ, home=tmp_path, service_account=tmp_path / "none")
    assert words in caught.value.diagnostic.message
    assert help_text in caught.value.diagnostic.help[0]


async def test_master_alone_is_enough(tmp_path):
    """A server that asks for no credentials (kubectl proxy) needs no kubeconfig."""
    source = discover_credentials(master="http://127.0.0.1:8001/", environ={}, home=tmp_path, service_account=tmp_path)
    assert (await source.refresh()).server == "http://127.0.0.1:8001"

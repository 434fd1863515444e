"""Clusters that are older than a project supports: a real API server that behaves like an older one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pykb.cli import app
from pykb.commands.options import NewApi, NewProject
from pykb.deployment.cluster import Cluster, check_answers, check_version
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import ControlPlane, get_assets
from pykb.envtest.cache import KUBERNETES
from pykb.envtest.components import Component
from pykb.envtest.rest import Rest
from pykb.project.settings import NEWEST, OLDEST, Minor, setting, shown
from pykb.tools.kubectl import Kubectl
from tests.unit.plugins.scaffolding import start

OLDER: Minor = (NEWEST[0], NEWEST[1] - 1)
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE = "/api/v1/namespaces/crates-system"


class Older(ControlPlane):
    """The API server of the newest version, which behaves like the one before."""

    def _apiserver(self) -> Component:
        component = super()._apiserver()
        return replace(component, argv=(*component.argv, f"--emulated-version={shown(OLDER)}"))


@pytest.fixture(scope="module")
def older() -> Iterator[ControlPlane]:
    """Such an API server."""
    with Older(assets=get_assets(kubectl=True)) as plane:
        yield plane


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that supports the newest version only, with a kind. It is the working directory."""
    options = NewProject(domain="example.com", kubernetes=shown(NEWEST))
    root = start(options, tmp_path / "crates", NewApi("fleet", "v1", "Crate"))
    monkeypatch.chdir(root)
    monkeypatch.setenv("NO_COLOR", "1")
    assert app.run(["generate"]) == 0
    return root


def installed(rest: Rest) -> list[str]:
    """The CRDs of a cluster."""
    return [each["metadata"]["name"] for each in rest.call("GET", CRDS).body["items"]]


@pytest.mark.parametrize("words", [["install"], ["install", "--diff"], ["deploy", "--no-wait"], ["deploy", "--diff"]])
def test_an_older_cluster_gets_nothing(
    words: list[str], root: Path, older: ControlPlane, capfd: pytest.CaptureFixture[str]
) -> None:
    """The message says which version it has, which one the project supports, and what to type."""
    capfd.readouterr()
    assert app.run([*words, "--kubeconfig", str(older.kubeconfig)]) == 1
    shown_ = capfd.readouterr().err
    assert (
        f"error[cluster-old]: the cluster has Kubernetes {KUBERNETES} and behaves like {shown(OLDER)}, "
        f"but the project supports {shown(NEWEST)} and newer\n"
        "note: nothing was applied\n"
        "help: upgrade the cluster, or name another one: `--kubeconfig FILE`, `--context NAME`\n"
        f"help: or support it: `{setting(OLDER)}` in [tool.pykb] of pyproject.toml, then `pykb generate`\n"
    ) in shown_
    assert installed(older.rest()) == []
    assert not older.rest().call("GET", NAMESPACE).ok


def test_a_cluster_of_the_oldest_version_gets_the_crds(root: Path, older: ControlPlane) -> None:
    """So does a newer one. A project that names none is deployed everywhere."""
    settings = root / "pyproject.toml"
    text = settings.read_text(encoding="utf-8")
    for line in (setting(OLDER), setting(OLDEST), "", "# kubernetes = 1"):
        settings.write_text(text.replace(setting(NEWEST), line), "utf-8")
        assert app.run(["install", "--kubeconfig", str(older.kubeconfig)]) == 0
        assert installed(older.rest()) == ["crates.fleet.example.com"]
        assert app.run(["uninstall", "--yes", "--kubeconfig", str(older.kubeconfig)]) == 0


def test_a_cluster_older_than_pykb_knows_cannot_be_supported(root: Path, older: ControlPlane) -> None:
    """A setting would not be accepted, so none is proposed. An answer without a version stops nothing."""
    program = get_assets(kubectl=True).kubectl
    assert program is not None
    cluster = Cluster(Kubectl(program, older.kubeconfig))
    check_answers(cluster, OLDER)
    for server in ({}, {"gitVersion": "unknown"}, {"gitVersion": "v1.34.2-gke.100"}, {"gitVersion": "v2.0.0"}):
        check_version(server, (1, 34))
    with pytest.raises(EnvironmentProblem) as error:
        check_version({"gitVersion": "v1.27.3+k3s1"}, (1, 34))
    assert error.value.diagnostic.message == (
        "the cluster has Kubernetes 1.27.3+k3s1, but the project supports 1.34 and newer"
    )
    assert error.value.diagnostic.help[1] == "pykb supports 1.28 and newer"

"""What the targets of a generated project wait for."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from pykb.commands.create_api import NewApi
from pykb.commands.init import NewProject
from pykb.envtest import ControlPlane
from tests.unit.plugins.conftest import Grow, kubectl, make

PACKAGES = "hack/requirements.py pykb"
TOOLS = "Adding linters and tests"


@pytest.fixture(scope="module")
def root(grow: Grow) -> Path:
    """A project without an environment."""
    return grow(NewProject("example.com", "harbour"))


def recipes(root: Path, target: str) -> str:
    """What `make` would run for a target."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(["make", "-n", target], cwd=root, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    "target", ["manifests", "check-manifests", "install", "run", "dev", "deploy", "build-installer"]
)
def test_the_way_to_the_first_reconcile_needs_no_linters(root: Path, target: str) -> None:
    """Installing mypy, pytest and ruff would take a third of the time to the first reconcile."""
    text = recipes(root, target)
    assert PACKAGES in text
    assert TOOLS not in text


@pytest.mark.parametrize("target", ["all", "fmt", "lint", "lint-fix", "typecheck", "test", "environment"])
def test_what_checks_the_code_brings_its_tools(root: Path, target: str) -> None:
    """They come on top of the environment, and after it."""
    text = recipes(root, target)
    assert 0 < text.index(PACKAGES) < text.index(TOOLS)


def test_an_environment_that_was_moved_is_made_anew(grow: Grow, tmp_path: Path) -> None:
    """Its scripts name the old place; what has not changed is not made again."""
    here = grow(NewProject("example.com", "lighthouse"))
    (here / ".venv").mkdir()
    (here / ".venv/.made").write_text(f"{here.resolve()}\n")
    assert PACKAGES not in recipes(here, "manifests")
    there = tmp_path / "a new place"
    here.rename(there)
    assert PACKAGES in recipes(there, "manifests")


def test_targets_that_are_named_together_run_one_after_the_other(root: Path, tmp_path: Path) -> None:
    """As the README names them, also for those who have `-j` in MAKEFLAGS: an image is built before it is pushed."""
    tool = tmp_path / "docker"
    tool.write_text(f"#!/bin/sh\necho $1 begins >>{tmp_path}/log\nsleep 0.2\necho $1 ends >>{tmp_path}/log\n")
    tool.chmod(0o755)
    environment = {**os.environ, "MAKEFLAGS": "-j4"}
    command = ["make", "docker-build", "docker-push", f"CONTAINER_TOOL={tool}"]
    subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True)
    assert (tmp_path / "log").read_text().splitlines() == ["build begins", "build ends", "push begins", "push ends"]


HELD = """
apiVersion: fleet.example.com/v1
kind: Ship
metadata: {name: ark, namespace: default, finalizers: [example.com/cargo]}
spec: {}
"""


@pytest.mark.apiserver
def test_undeploy_leaves_the_manager_while_objects_wait_for_it(grow: Grow, control_plane: ControlPlane) -> None:
    """They are named; only `FORCE=true` takes away who cleans up after them."""
    root = grow(NewProject("example.com", "wharf"), NewApi("fleet", "v1", "Ship"))

    def ctl(*words: str, text: str = "") -> str:
        command = [str(kubectl()), f"--kubeconfig={control_plane.kubeconfig}", *words]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    make(root, control_plane, "deploy")
    ctl("wait", "--for=condition=Established", "crd/ships.fleet.example.com")
    ctl("apply", "-f", "-", text=HELD)
    try:
        undeploy = ("undeploy", "DELETE_TIMEOUT=1s")
        shown = make(root, control_plane, *undeploy, code=2)
        assert re.search(r"^Ship +default +ark +\[example\.com/cargo\]$", shown, re.MULTILINE)
        assert "the manager, which cleans up after them, was not deleted" in shown
        assert "FORCE=true" in shown
        manager = ("get", "deployments", "--namespace=wharf-system", "--output=name")
        assert ctl(*manager) == "deployment.apps/wharf-controller-manager\n"
        shown = make(root, control_plane, *undeploy, "FORCE=true", code=2)
        assert re.search(r"^CustomResourceDefinition +ships\.fleet\.example\.com ", shown, re.MULTILINE)
        assert ctl(*manager) == ""
    finally:
        ctl("patch", "ship", "ark", "--type=merge", "--patch", '{"metadata": {"finalizers": null}}')
        ctl("wait", "--for=delete", "crd/ships.fleet.example.com", "--timeout=30s")


@pytest.fixture
def with_cluster(grow: Grow) -> Path:
    """A project with a control plane of its own, and a kubectl that tells which cluster it is for and finds none."""
    root = grow(NewProject("example.com", "lagoon"))
    (root / ".pykb/cluster").mkdir(parents=True)
    (root / ".pykb/cluster/kubeconfig").touch()
    tool = root.parent / "kubectl"
    tool.write_text(f'#!/bin/sh\necho "${{KUBECONFIG#{root}/}}" >>"{root.parent}/asked"\nexit 1\n')
    tool.chmod(0o755)
    return root


def asked(root: Path, *words: str, **environment: str) -> tuple[str, str]:
    """The kubeconfig that kubectl was called with first, and what `make` said."""
    env = {k: v for k, v in os.environ.items() if k != "KUBECONFIG" and not k.startswith("MAKE")}
    command = ["make", "-o", "manifests", f"KUBECTL={root.parent / 'kubectl'}", *words]
    done = subprocess.run(command, cwd=root, env={**env, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    log = root.parent / "asked"
    return (log.read_text().splitlines()[0] if log.exists() else ""), done.stderr


@pytest.mark.parametrize("target", ["install", "uninstall", "run", "undeploy"])
def test_a_project_uses_its_own_control_plane(with_cluster: Path, target: str) -> None:
    """What would reach the cluster of another day says where it goes, and goes there."""
    kubeconfig, said = asked(with_cluster, target)
    assert kubeconfig == ".pykb/cluster/kubeconfig"
    assert "note: using the project's own control plane (.pykb/cluster/kubeconfig)" in said
    assert "cluster up` or `make dev` starts it again" in said


def test_a_cluster_that_was_chosen_counts_more(with_cluster: Path) -> None:
    """By the environment or on the command line."""
    for words, environment in (([], {"KUBECONFIG": "/x"}), (["KUBECONFIG=/x"], {})):
        kubeconfig, said = asked(with_cluster, "install", *words, **environment)
        assert kubeconfig == "/x"
        assert "own control plane" not in said
    (with_cluster.parent / "asked").unlink()
    kubectl = f"KUBECTL={with_cluster.parent / 'kubectl'} --context=x"
    assert asked(with_cluster, "install", kubectl)[0] == ""


def test_nothing_is_deployed_to_a_control_plane_without_nodes(with_cluster: Path) -> None:
    """Unless it was chosen."""
    kubeconfig, said = asked(with_cluster, "deploy")
    assert kubeconfig == ""
    assert "has no nodes to run the operator on\nhelp: choose one: make deploy KUBECONFIG=" in said
    assert asked(with_cluster, "deploy", "KUBECONFIG=/x")[0] == "/x"

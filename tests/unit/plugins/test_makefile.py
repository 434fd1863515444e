"""What the targets of a generated project wait for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.commands.options import NewApi, NewProject
from pykb.envtest import ControlPlane
from tests.unit.plugins.conftest import Grow, kubectl, make, pykb

ENVIRONMENT = "hack/environment.py"


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
    "target", ["all", "manifests", "check-manifests", "lint", "test", "install", "run", "dev", "deploy"]
)
def test_what_needs_the_environment_makes_it_first(root: Path, target: str) -> None:
    """Once, before anything else."""
    text = recipes(root, target)
    assert text.count(ENVIRONMENT) == 1
    assert text.index(ENVIRONMENT) < text.index("-P -m")


def test_an_environment_is_not_made_again(grow: Grow, tmp_path: Path) -> None:
    """What is there stays, also where the project was moved: no target runs a script that names the old place."""
    here = grow(NewProject("example.com", "lighthouse"))
    (here / ".venv/bin").mkdir(parents=True)
    (here / ".venv/bin/python").symlink_to(sys.executable)
    (here / ".venv/.made").touch()
    there = tmp_path / "a new place"
    here.rename(there)
    for target in ("all", "test", "run", "deploy"):
        text = recipes(there, target)
        assert ENVIRONMENT not in text
        assert not re.search(r"\.venv/bin/(?!python -P -m)", text)


def test_an_environment_whose_python_was_removed_is_made_again(grow: Grow) -> None:
    """As by an upgrade of the system: its link leads nowhere."""
    root = grow(NewProject("example.com", "lighthouse"))
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to("/usr/bin/python3.0")
    (root / ".venv/.made").touch()
    assert ENVIRONMENT in recipes(root, "manifests")


def test_a_python_that_is_too_old_is_said(root: Path, tmp_path: Path) -> None:
    """Before anything is made."""
    old = tmp_path / "an old python"
    old.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import runpy, sys; sys.version_info = (3, 9); sys.executable = sys.argv[1];"
        ' runpy.run_path(sys.argv[2], run_name="__main__")\' "$0" "$1"\n'
    )
    old.chmod(0o755)
    done = subprocess.run(["make", "manifests", f"PYTHON={old}"], cwd=root, capture_output=True, text=True, check=False)
    assert done.stderr.startswith(f"error: {old} is not Python 3.11 or newer; name one: make PYTHON=python3.13\n")
    assert not (root / ".venv").exists()


def test_it_is_short_and_has_no_logic(root: Path) -> None:
    """What has to be decided is decided by pykb, where it is tested. No target takes more than a few lines."""
    text = (root / "Makefile").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 120
    assert not re.search(r"^(ifn?eq|ifn?def|define|else)\b|\bthen\b|\bfor\b.*\bdo\b|^\t.*\$\(if\b", text, re.MULTILINE)
    assert max(rule.count("\n") for rule in re.findall(r"(?:^\t.*\n)+", text, re.MULTILINE)) <= 6


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
apiVersion: fleet.wharf.example.com/v1
kind: Ship
metadata: {name: ark, namespace: default, finalizers: [example.com/cargo]}
spec: {}
"""


@pytest.mark.apiserver
def test_undeploy_leaves_the_manager_while_objects_wait_for_it(grow: Grow, control_plane: ControlPlane) -> None:
    """They are named; only `--force` takes away who cleans up after them."""
    root = grow(NewProject("wharf.example.com", "wharf"), NewApi("fleet", "v1", "Ship"))

    def ctl(*words: str, text: str = "") -> str:
        command = [str(kubectl()), f"--kubeconfig={control_plane.kubeconfig}", *words]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    kubeconfig = f"--kubeconfig={control_plane.kubeconfig}"
    pykb(root, "generate")
    pykb(root, "deploy", "--image", "controller:latest", kubeconfig)
    ctl("wait", "--for=condition=Established", "crd/ships.fleet.wharf.example.com", "--timeout=60s")
    ctl("apply", "-f", "-", text=HELD)
    try:
        shown = make(root, control_plane, "undeploy", "ARGS=--timeout 1", code=2)
        assert re.search(r"Ship +default +ark +\[example\.com/cargo\]$", shown, re.MULTILINE)
        assert "the manager, which cleans up after them, was not deleted" in shown
        assert "--force" in shown
        manager = ("get", "deployments", "--namespace=wharf-system", "--output=name")
        assert ctl(*manager) == "deployment.apps/wharf-controller-manager\n"
        shown = pykb(root, "undeploy", "--yes", "--timeout", "1", "--force", kubeconfig, code=1)
        assert re.search(r"CustomResourceDefinition +<none> +ships\.fleet\.wharf\.example\.com ", shown, re.MULTILINE)
        assert re.search(r"Namespace +<none> +wharf-system ", shown, re.MULTILINE)  # no controller empties it
        assert ctl(*manager) == ""
    finally:
        ctl(
            "patch",
            "ships.fleet.wharf.example.com",
            "ark",
            "--type=merge",
            "--patch",
            '{"metadata": {"finalizers": null}}',
        )
        ctl("wait", "--for=delete", "crd/ships.fleet.wharf.example.com", "--timeout=60s")


@pytest.mark.apiserver
def test_a_command_that_changes_nothing_says_so(grow: Grow, control_plane: ControlPlane) -> None:
    """An empty answer could also be a mistake, such as another cluster."""
    root = grow(NewProject("jetty.example.com", "jetty"), NewApi("fleet", "v1", "Barge"))

    kubeconfig = f"--kubeconfig={control_plane.kubeconfig}"
    assert "crd/bases" in pykb(root, "generate")
    assert "nothing would change" not in pykb(root, "install", "--diff", kubeconfig)
    assert "barges.fleet.jetty.example.com serverside-applied" in pykb(root, "install", kubeconfig)
    assert pykb(root, "install", "--diff", kubeconfig) == "nothing would change\n"
    assert "there was nothing to delete" not in pykb(root, "uninstall", kubeconfig)
    for command in ("uninstall", "undeploy"):
        assert pykb(root, command, kubeconfig).endswith("there was nothing to delete\n")


@pytest.mark.parametrize(
    ("target", "program", "remedy"),
    [
        ("docker-build", "docker", "CONTAINER_TOOL=podman"),
        ("docker-push", "docker", "CONTAINER_TOOL=podman"),
        ("docker-buildx", "docker", "CONTAINER_TOOL=podman"),
        ("test-e2e", "kind", "make run-test-e2e"),
        ("setup-test-e2e", "kind", "make run-test-e2e"),
        ("cleanup-test-e2e", "kind", "make run-test-e2e"),
        ("manifests", "python3", "PYTHON=python3.13"),
    ],
)
def test_a_missing_program_is_named_with_a_remedy(
    root: Path, tmp_path: Path, target: str, program: str, remedy: str
) -> None:
    """Two lines, in place of a shell's."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "env", "git", "make"):
        (programs / name).symlink_to(shutil.which(name) or name)
    done = subprocess.run(
        ["make", target], cwd=root, env={"PATH": str(programs)}, capture_output=True, text=True, check=False
    )
    error, help_, *rest = done.stderr.splitlines()
    assert error == f"error: {program} is not on PATH"
    assert help_.startswith("help: ")
    assert remedy in help_
    assert [line for line in rest if not line.startswith("make")] == []


def test_a_docker_without_the_plugin_for_several_platforms_is_said(root: Path, tmp_path: Path) -> None:
    """Docker itself takes the words after an unknown command for its own flags: `unknown flag: --name`."""
    tool = tmp_path / "docker"
    tool.write_text("#!/bin/sh\necho 'unknown flag: --name' >&2\nexit 125\n")
    tool.chmod(0o755)
    command = ["make", "docker-buildx", f"CONTAINER_TOOL={tool}"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    error, help_, *rest = done.stderr.splitlines()
    assert (done.stdout, error) == ("", f"error: {tool} has no plugin buildx")
    assert help_.startswith("help: install it (https://docs.docker.com/go/buildx); `make docker-build docker-push`")
    assert [line for line in rest if not line.startswith("make")] == []

"""A project with everything else, from a fresh clone in a folder with a blank, with Python, make and a folder of wheels.

It is bound to its namespace, and has several groups, kopf handlers, a built-in kind and a named controller.

The tests of this file are one story: each goes on where the one before it stopped.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from pykb.envtest import ControlPlane
from tests.e2e.conftest import Shell, deployed, eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PROJECT = "dry dock"
NAME = "drydock"
DOMAIN = "drydock.example.com"
BOXES = f"boxes.cargo.{DOMAIN}"
NAMESPACE = f"--namespace={NAME}-system"
MADE = ("--resource", "--controller", "--no-make")
DEPENDENCIES = 'dependencies = ["pykubebuilder=='


def has(shell: Shell, package: str) -> bool:
    """Whether the environment has a package."""
    return any((shell.directory / ".venv").glob(f"lib/python3*/site-packages/{package}-*.dist-info"))


def test_scaffold(shell: Shell) -> None:
    """Each command adds to what the others made. In a clone, files have any times."""
    shell.pykb("init", "--domain", DOMAIN, "--project-name", NAME, "--namespaced", "--multigroup")
    shell.pykb("create", "api", "--group", "fleet", "--version", "v1beta1", "--kind", "Ship", *MADE)
    shell.pykb("create", "api", "--group", "cargo", "--version", "v1", "--kind", "Box", "--style", "handlers", *MADE)
    builtin = ("--group", "apps", "--version", "v1", "--kind", "Deployment", "--no-resource", "--controller")
    shell.pykb("create", "api", *builtin, "--controller-name", "cranes", "--no-make")
    shell.run("git", "init", "--quiet")
    shell.run("git", "add", "--all")
    shell.run("git", "-c", "user.name=me", "-c", "user.email=me@example.com", "commit", "--quiet", "--message=first")
    original = shell.directory.rename(shell.directory.with_name("original"))
    shell.directory.mkdir()
    shell.run("git", "clone", "--quiet", str(original), ".")


def test_two_makes_at_once_make_one_environment(shell: Shell, wheels: Path) -> None:
    """Without a package index, without uv and without pip, which venv brings. uv gets pip's folder of wheels.

    Settings for other installations of pip do not matter.
    """
    assert find_spec("pip") is None
    shell.environment.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=wheels.as_uri())
    shell.environment.update(PIP_USER="1", PIP_REQUIRE_VIRTUALENV="1")
    with shell.running("make", "environment") as other:
        printed = shell.run("make", "environment", both=True)
        assert other.handle.wait(300) == 0, other.log
    assert f"{printed}{other.log}".count("Creating the environment") == 1
    local = {path.name for path in (shell.directory / ".pykb").iterdir()}
    assert local - {"lock", "wheels", ".gitignore"} == {"uv"}
    shell.run("make", "manifests")
    assert (shell.directory / "config/crd/bases/fleet.drydock.example.com_ships.yaml").exists()
    assert has(shell, "typer")


def test_changed_requirements_are_installed_and_removed(shell: Shell) -> None:
    """By the next target, which does nothing where nothing of them has changed."""
    text = (shell.directory / "pyproject.toml").read_text(encoding="utf-8")
    shell.edit("pyproject.toml", (DEPENDENCIES, DEPENDENCIES.replace("[", '["cronsim>=2", ')))
    shell.run("make", "manifests")
    assert has(shell, "cronsim")
    (shell.directory / "pyproject.toml").write_text(text, encoding="utf-8")
    shell.run("make", "manifests")
    assert not has(shell, "cronsim")
    shell.edit("pyproject.toml", ("line-length = 120", "line-length = 100"))
    assert "nstalled" not in shell.run("make", "manifests", both=True)
    (shell.directory / "pyproject.toml").write_text(text, encoding="utf-8")


def test_passes_its_own_tests(shell: Shell) -> None:
    """On the cluster that is there. The last test of this story sees format, lint and types."""
    shell.run("make", "test", "USE_EXISTING_CLUSTER=true")


def test_deployed_manager_needs_its_namespace_only(shell: Shell, control_plane: ControlPlane) -> None:
    """Reconcilers and handlers work with a Role in the operator's namespace: nothing forbidden, nothing seen outside."""
    with deployed(shell, control_plane, NAME) as manager:
        shell.ctl(NAMESPACE, "apply", "--kustomize", "config/samples")
        manager.prints("drydock-system/ship-sample")
        manager.prints("box-sample")
        manager.prints("drydock-system/drydock-controller-manager")

        def finalizers() -> str:
            return shell.ctl(NAMESPACE, "get", BOXES, "box-sample", "--output=jsonpath={.metadata.finalizers}")

        eventually(lambda: bool(finalizers()), "kopf holds the object", context=lambda: manager.log)
        shell.ctl("apply", "--kustomize", "config/samples")
        shell.ctl(NAMESPACE, "delete", "--kustomize", "config/samples", "--timeout=60s")
        assert "default/ship-sample" not in manager.log
        shell.ctl("delete", "--kustomize", "config/samples", "--timeout=60s")


def test_a_project_that_was_moved_keeps_its_environment(shell: Shell) -> None:
    """All programs of the environment run from the new place. Format, lint and types are in order."""
    moved = shell.directory.with_name("a new place")
    shutil.move(shell.directory, moved)
    here = Shell(moved, shell.kubectl, shell.environment)
    printed = here.run("make", both=True)
    assert "install" not in printed
    assert "Creating" not in printed
    assert "Success: no issues found" in printed
    assert "1 passed" in here.run(".venv/bin/python", "-P", "-m", "pytest", "tests/test_manager.py")

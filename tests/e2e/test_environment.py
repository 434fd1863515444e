"""The environment of a project: from a fresh clone in a folder with a blank, with only Python and make.

The tests of this file are one story: each goes on where the one before it stopped.
"""

from __future__ import annotations

import shutil

import pytest

from tests.e2e.conftest import Shell

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PROJECT = "dry dock"
DEPENDENCIES = 'dependencies = ["pykubebuilder=='


def has(shell: Shell, package: str) -> bool:
    """Whether the environment has a package."""
    return any((shell.directory / ".venv").glob(f"lib/python3*/site-packages/{package}-*.dist-info"))


def test_two_makes_at_once_make_one_environment(shell: Shell) -> None:
    """In a clone, whose files have any times. Linters and test tools come later."""
    shell.pykb("init", "--domain", "example.com", "--project-name", "harbour")
    shell.pykb("create", "api", "--group", "fleet", "--version", "v1", "--kind", "Ship", "--resource", "--no-make")
    shell.run("git", "init", "--quiet")
    shell.run("git", "add", "--all")
    shell.run("git", "-c", "user.name=me", "-c", "user.email=me@example.com", "commit", "--quiet", "--message=first")
    original = shell.directory.rename(shell.directory.with_name("original"))
    shell.directory.parent.joinpath(PROJECT).mkdir()
    shell.run("git", "clone", "--quiet", str(original), ".")
    with shell.running("make", ".venv/.made") as other:
        shell.run("make", ".venv/.made")
        assert other.handle.wait(300) == 0, other.log
    shell.run("make", "manifests")
    assert (shell.directory / "config/crd/bases/fleet.example.com_ships.yaml").exists()
    assert has(shell, "typer")
    assert not has(shell, "pytest")


def test_changed_requirements_are_installed_and_removed(shell: Shell) -> None:
    """By the next target, which does nothing where nothing of them has changed."""
    text = (shell.directory / "pyproject.toml").read_text(encoding="utf-8")
    shell.edit("pyproject.toml", (DEPENDENCIES, DEPENDENCIES.replace("[", '["tomli-w>=1", ')))
    shell.run("make", "manifests")
    assert has(shell, "tomli_w")
    (shell.directory / "pyproject.toml").write_text(text, encoding="utf-8")
    shell.run("make", "manifests")
    assert not has(shell, "tomli_w")
    shell.edit("pyproject.toml", ("line-length = 120", "line-length = 100"))
    assert "install" not in shell.run("make", "manifests", both=True)


def test_a_project_that_was_moved_keeps_its_environment(shell: Shell) -> None:
    """All programs of the environment run from the new place."""
    shell.run("make", "environment")
    moved = shell.directory.with_name("a new place")
    shutil.move(shell.directory, moved)
    here = Shell(moved, shell.kubectl, shell.environment)
    printed = here.run("make", both=True)
    assert "install" not in printed
    assert "Creating" not in printed
    assert "Success: no issues found" in printed

"""What the tests of the plugins share: projects, made without a command line."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from pykb.cli import app
from pykb.commands.options import NewProject
from pykb.envtest import ControlPlane, get_assets
from tests.unit.plugins.scaffolding import New, start

Grow = Callable[..., Path]


@pytest.fixture(scope="session")
def grow(tmp_path_factory: pytest.TempPathFactory) -> Grow:
    """Makes a project with the APIs and webhooks that a test names; nothing is generated."""

    def make(options: NewProject, *additions: New) -> Path:
        return start(options, tmp_path_factory.mktemp("projects") / options.project_name, *additions)

    return make


def kubectl() -> Path:
    """The kubectl of pykb's own control plane."""
    found = get_assets(kubectl=True).kubectl
    assert found is not None
    return found


def run(root: Path, *command: str | Path, code: int = 0, **environment: str) -> str:
    """Run a program in a project and give what it printed."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(command, cwd=root, env={**env, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def pykb(root: Path, *words: str, code: int = 0, **environment: str) -> str:
    """Run a command of pykb in a project and give what it printed. It needs no process of its own."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(printed):
        patch.chdir(root)
        patch.setattr(os, "fsync", lambda _: None)  # the disk is not under test
        for name, value in {"NO_COLOR": "1", **environment}.items():
            patch.setenv(name, value)
        done = app.run(words)
    assert done == code, printed.getvalue()
    return printed.getvalue()


def make(root: Path, control_plane: ControlPlane, *words: str, code: int = 0, kubeconfig: Path | None = None) -> str:
    """Run a target with this environment's pykb in place of one that the project would install."""
    command = ("make", "-o", ".venv/.made", f"PYKB={sys.executable} -m pykb")
    return run(root, *command, *words, code=code, KUBECONFIG=str(kubeconfig or control_plane.kubeconfig))

"""What the tests of the plugins share: projects, made without a command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from pykb.commands.create_api import NewApi, plan_api
from pykb.commands.create_webhook import NewWebhook, plan_webhook
from pykb.commands.init import NewProject, plan_project
from pykb.envtest import ControlPlane, get_assets
from pykb.files.apply import apply
from pykb.files.plan import Plan
from pykb.project.file import read
from pykb.scaffold import distribution

Grow = Callable[..., Path]


@pytest.fixture(scope="session")
def grow(tmp_path_factory: pytest.TempPathFactory) -> Grow:
    """Makes a project with the APIs and webhooks that a test names; nothing is generated."""
    wheel = cache(distribution.wheel)  # of the same sources it is the same

    def make(options: NewProject, *additions: NewApi | NewWebhook) -> Path:
        root = tmp_path_factory.mktemp("projects") / options.project_name
        root.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distribution, "wheel", wheel)
            plan, found = plan_project(options, root, year="2026")
        write(plan)
        for each in additions:
            file, problems = read(root)
            assert not problems
            planned, found = plan_api(each, file, root) if isinstance(each, NewApi) else plan_webhook(each, file, root)
            assert planned is not None, [str(finding) for finding in found]
            write(planned.plan)
        return root

    def write(plan: Plan | None) -> None:
        assert plan is not None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: None)  # the disk is not under test
            assert apply(plan) is None

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


def make(root: Path, control_plane: ControlPlane, *words: str, code: int = 0, kubeconfig: Path | None = None) -> str:
    """Run a target with this environment's pykb in place of one that the project would install."""
    command = ("make", "-o", ".venv/.made", f"PYKB={sys.executable} -m pykb")
    return run(root, *command, *words, code=code, KUBECONFIG=str(kubeconfig or control_plane.kubeconfig))

"""The committed projects, edits and all, still pass their own checks after their layout was changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hack.samples.build import UNTRACKED
from pykb.envtest import ControlPlane

TESTDATA = Path(__file__).parents[2] / "testdata"
SAMPLES = ("app", "virtulmachine")


def run(root: Path, *command: str, **environment: str) -> None:
    """Run a tool of this environment; what it printed is the failure's text."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module", params=SAMPLES)
def regrouped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample with folders for API groups."""
    root = tmp_path_factory.mktemp("regrouped") / str(request.param)
    shutil.copytree(TESTDATA / root.name, root, ignore=shutil.ignore_patterns(*UNTRACKED))
    run(root, "pykb", "edit", "--multigroup")
    return root


def test_a_regrouped_sample_is_formatted_clean_and_typed(regrouped: Path) -> None:
    """By the configuration that it was scaffolded with. Generated manifests are up to date."""
    run(regrouped, "ruff", "format", "--no-cache", "--check", ".")
    run(regrouped, "ruff", "check", "--no-cache", ".")
    run(regrouped, "mypy", ".")
    run(regrouped, "pykb", "generate", "--check")


@pytest.mark.apiserver
def test_a_regrouped_sample_passes_its_tests(regrouped: Path, control_plane: ControlPlane) -> None:
    """Against the control plane that is already running."""
    run(
        regrouped,
        *("pytest", "-q", "-p", "no:cacheprovider", "--ignore", "tests/e2e"),
        USE_EXISTING_CLUSTER="true",
        KUBECONFIG=str(control_plane.kubeconfig),
    )

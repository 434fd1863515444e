"""The committed projects pass what their own Makefile asks of them: format, style, types, and tests on a real API server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.envtest import ControlPlane
from tests.conftest import EXPLORE_BRIEFLY

TESTDATA = Path(__file__).parents[2] / "testdata"
SAMPLES = sorted(path.parent.name for path in TESTDATA.glob("*/PROJECT"))


def run(sample: str, *command: str, **environment: str) -> None:
    """Run a tool of this environment in a sample; what it printed is the failure's text."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=TESTDATA / sample,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_is_formatted_and_clean(sample: str) -> None:
    """By the configuration that it was scaffolded with."""
    run(sample, "ruff", "format", "--no-cache", "--check", ".")
    run(sample, "ruff", "check", "--no-cache", ".")


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_is_typed(sample: str, mypy_cache: Path) -> None:
    """Its own mypy settings are strict."""
    run(sample, "mypy", "--cache-dir", str(mypy_cache), ".")


@pytest.mark.apiserver
@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_passes_its_tests(sample: str, control_plane: ControlPlane) -> None:
    """Against the control plane that is already running."""
    run(
        sample,
        *("pytest", "-q", "-p", "no:cacheprovider", "--assert=plain", "--ignore", "tests/e2e"),
        USE_EXISTING_CLUSTER="true",
        KUBECONFIG=str(control_plane.kubeconfig),
        **EXPLORE_BRIEFLY,
    )


@pytest.mark.parametrize(
    "sample",
    [
        *("app", "foo", "memcached"),
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("multigroup", "unit", "virtulmachine")),
    ],
)
def test_the_explorer_accuses_no_sample(sample: str) -> None:
    """By any history: what the tests of the sample try in their first seconds depends on the machine."""
    run(sample, "pykb", "explore")

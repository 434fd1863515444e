"""The tests that a project is given pass, also side by side on one control plane."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.commands.options import NewApi, NewProject, NewWebhook
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import ControlPlane
from pykb.plugins import Style
from pykb.project.resource import Operand
from pykb.testing._explorers import ProjectExplorer
from tests.conftest import EXPLORE_BRIEFLY
from tests.unit.plugins.conftest import Grow, pykb

PYTEST = ("pytest", "-q", "-p", "no:cacheprovider", "--assert=plain")


def run(root: Path, *command: str, **variables: str) -> None:
    """Run a module in a project; what it finds fails the test."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


@pytest.mark.apiserver
def test_objects_without_a_namespace_do_not_meet(grow: Grow, control_plane: ControlPlane) -> None:
    """Of a cluster-scoped kind, each test makes an object of its own: two controllers, handlers, webhooks of two versions."""
    root = grow(
        NewProject("example.com", "sea"),
        NewApi("deep", "v1", "Kraken", namespaced=False),
        NewApi("deep", "v1", "Kraken", namespaced=False, resource=False, controller_name="feeding"),
        NewApi("deep", "v2", "Kraken", namespaced=False, controller=False),
        NewApi("deep", "v1", "Squid", namespaced=False, style=Style.HANDLERS),
        NewWebhook("deep", "v1", "Kraken", defaulting=True),
        NewWebhook("deep", "v2", "Kraken", validation=True),
        NewWebhook("deep", "v1", "Squid", validation=True),
    )
    pykb(root, "generate")
    cluster = {"USE_EXISTING_CLUSTER": "true", "KUBECONFIG": str(control_plane.kubeconfig)}
    run(root, *PYTEST, "-m", "not e2e", **cluster)


@pytest.fixture(scope="module")
def several(grow: Grow) -> Path:
    """A project with reconcilers of several sorts, and its manifests."""
    root = grow(
        NewProject("example.com", "sea", multigroup=True),
        NewApi("deep", "v1", "Kraken", namespaced=False),
        NewApi("deep", "v1", "Kraken", namespaced=False, resource=False, controller_name="feeding"),
        NewApi("deep", "v1beta1", "Squid", controller=False),
        NewApi("deep", "v1", "Squid"),
        NewWebhook("deep", "v1", "Squid", defaulting=True, validation=True, conversion=True, spoke=("v1beta1",)),
        NewApi("shore", "v1", "Squid", operand=Operand("squid:1"), plugins=("deploy-image",)),
        NewApi("shore", "v1", "Crab", controller=False),
        NewApi("shore", "v1", "Gull", style=Style.HANDLERS),
        NewApi("core", "v1", "Pod", resource=False),
    )
    pykb(root, "generate")
    return root


def test_what_is_scaffolded_holds_under_faults(several: Path) -> None:
    """One test for each kind with a reconciler, whatever its options. It passes before anything is edited."""
    tests = sorted(path.relative_to(several / "tests").as_posix() for path in several.glob("tests/**/test_*_faults.py"))
    folder = "controllers"
    assert tests == [
        f"{folder}/deep/test_kraken_faults.py",
        f"{folder}/deep/test_squid_faults.py",
        f"{folder}/shore/test_squid_faults.py",
    ]
    run(several, *PYTEST, *(f"tests/{each}" for each in tests), **EXPLORE_BRIEFLY)


def test_a_limit_that_is_not_a_number_is_said(several: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variable's name."""
    monkeypatch.setenv("PYKB_EXPLORE_SECONDS", "soon")
    with pytest.raises(EnvironmentProblem, match="`PYKB_EXPLORE_SECONDS=soon` is not a number"):
        ProjectExplorer(several).run(lambda _: None)

"""The tests that a project is given pass, also side by side on one control plane."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.commands.create_api import NewApi
from pykb.commands.create_webhook import NewWebhook
from pykb.commands.init import NewProject
from pykb.plugins.style import Style
from tests.unit.plugins.conftest import Grow


def run(root: Path, *command: str) -> None:
    """Run a module in a project; what it finds fails the test."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


@pytest.mark.apiserver
def test_objects_without_a_namespace_do_not_meet(grow: Grow) -> None:
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
    run(root, "pykb", "generate")
    run(root, "pytest", "-q", "-p", "no:cacheprovider", "-m", "not e2e")

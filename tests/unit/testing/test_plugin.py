"""The pytest plugin in other people's environments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "aiohttp",
    "kopf",
    "pydantic",
    "cryptography",
    "yaml",
    "typer",
    "rich",
    "jinja2",
    "pykb.runtime",
    "pykb.envtest",
)


def test_importing_the_plugin_is_cheap() -> None:
    """Every pytest run of every environment with pykb in it pays for this import."""
    program = f"import sys, pykb.testing.plugin; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def run_pytest(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a project of its own."""
    kept = {k: v for k, v in os.environ.items() if k not in {"KUBECONFIG", "USE_EXISTING_CLUSTER"}}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, env={**kept, **variables}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("name", "value"), [("KUBEBUILDER_ASSETS", "/no/such"), ("USE_EXISTING_CLUSTER", "true")])
def test_a_broken_environment_is_told_without_a_traceback(tmp_path: Path, name: str, value: str) -> None:
    """The fixture fails with the diagnostic: what is wrong, and what to do."""
    (tmp_path / "test_x.py").write_text("def test_x(control_plane): pass\n")
    done = run_pytest(tmp_path, **{name: value, "HOME": str(tmp_path)})
    assert "error[" in done.stdout
    assert "help: " in done.stdout
    assert "Traceback" not in done.stdout
    assert "plugin.py" not in done.stdout


def test_projects_that_do_not_use_it_notice_nothing(tmp_path: Path) -> None:
    """No control plane is looked for, no warning is given."""
    (tmp_path / "test_x.py").write_text("def test_x(): pass\n")
    done = run_pytest(tmp_path, "-W", "error", "-p", "no:asyncio", KUBEBUILDER_ASSETS="/no/such")
    assert done.returncode == 0, done.stdout

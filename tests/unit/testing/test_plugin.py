"""The pytest plugin in other people's environments."""

from __future__ import annotations

import os
import re
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


def test_getting_the_control_plane_is_not_counted_against_a_tests_time_limit(tmp_path: Path) -> None:
    """The first run may build for minutes: before the first test, and a failure is told as what it is."""
    (tmp_path / "test_x.py").write_text("def test_x(control_plane): pass\ndef test_y(control_plane): pass\n")
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text("#!/bin/sh\n/bin/sleep 1.5\necho broken by a test >&2\nexit 1\n")
    go.chmod(0o755)
    nowhere = "http://127.0.0.1:9"  # nothing is downloaded either
    variables = {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "KUBEBUILDER_ASSETS": "",
        "PIP_NO_INDEX": "1",
    }
    proxies = {"https_proxy": nowhere, "HTTPS_PROXY": nowhere, "no_proxy": "", "NO_PROXY": ""}
    done = run_pytest(tmp_path, "--timeout=1", **variables, **proxies, PATH=str(go.parent))
    assert "Timeout" not in done.stdout
    assert "error[envtest-assets-missing]: found no etcd, kube-apiserver" in done.stdout
    assert "Traceback" not in done.stdout
    assert "2 errors" in done.stdout


def test_what_the_explorer_has_tried_is_said_after_the_tests(tmp_path: Path) -> None:
    """A test that passes says only that nothing was found there. Processes of pytest-xdist make no difference."""
    (tmp_path / "test_x.py").write_text(
        "from app_operator.__main__ import register\n\n"
        "def test_x(explorer):\n    explorer.run(register, only=['explore-leak']).check()\n"
    )
    app = Path(__file__).parents[3] / "testdata" / "app"
    done = run_pytest(app, "-n1", str(tmp_path / "test_x.py"), f"--rootdir={app}", PYTHONPATH=str(app))
    assert done.returncode == 0, done.stdout
    assert re.search(r"test_x: \d+ histories, \d+ of \d+ lines, finished: leak\n", done.stdout), done.stdout

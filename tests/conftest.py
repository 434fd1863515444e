"""Fixtures that the project's own tests share; ``control_plane``, ``client`` and ``namespace`` are those of pykb.testing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]

# A shell that starts us in the background has Ctrl-C ignored, by us and by every process that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# API servers of short lives spend a quarter of their time on collecting garbage.
os.environ.setdefault("GOGC", "200")

# A busy machine is not a slow strategy: no test of ours asserts a time.
settings.register_profile("pykb", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("pykb")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that accepts what is generated now."""
    parser.addoption("--update-golden", action="store_true", help="write the expected files of golden tests anew")


@pytest.fixture(scope="session")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ``mypy --strict`` on programs of users. Runs share a cache: most of what mypy reads is pykb and Pydantic."""
    strict = ("--strict", "--warn-unused-ignores", "--hide-error-context", "--python-version", "3.11")
    cache = tmp_path_factory.mktemp("mypy")

    def check(*programs: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", *strict, "--cache-dir", cache]
        return subprocess.run([*command, *programs], cwd=ROOT, capture_output=True, text=True, check=False)

    return check


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Makes a folder `project` with the files that a test names."""

    def make(files: Mapping[str, str | bytes], folder: str = "project") -> Path:
        root = tmp_path / folder
        root.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return make

"""Fixtures that the project's own tests share; ``control_plane``, ``client`` and ``namespace`` are those of pykb.testing."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ROOT = Path(__file__).parents[1]

# The pytest of a project imports what this environment has and a project does not need, for a tenth of a second.
PLUGINS_OF_PROJECTS = "-p no:hypothesispytest"

# Projects' own tests explore what they are given. What the explorer finds is judged by its own tests.
EXPLORE_BRIEFLY = {"PYKB_EXPLORE_SECONDS": "2"}

# A shell that starts us in the background has Ctrl-C ignored, by us and by every process that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# API servers of short lives spend a quarter of their time on collecting garbage, and another one on giving work to
# each other's threads. Several of them share the processor.
os.environ.setdefault("GOGC", "200")
os.environ.setdefault("GOMAXPROCS", "1")

# Records that commands leave are proven with a key of the user, which is not to be that of who runs the tests.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="pykb-tests-")

# A worker holds thousands of tests. To look through all of them for garbage as often as by default takes a tenth of
# the time.
gc.set_threshold(1000, 10, 200)

# A busy machine is not a slow strategy: no test of ours asserts a time.
settings.register_profile("pykb", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("pykb")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that accepts what is generated now."""
    parser.addoption("--update-golden", action="store_true", help="write the expected files of golden tests anew")


def pytest_unconfigure() -> None:
    """The key goes with the tests, also in workers."""
    shutil.rmtree(os.environ["XDG_STATE_HOME"], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that run mypy have more time: it may have to read all that a program imports, on a busy machine."""
    for item in items:
        if {"mypy", "mypy_cache"} & set(getattr(item, "fixturenames", ())) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(300))


def pytest_collection_finish() -> None:
    """The tests and their modules stay until the end, so they are no garbage."""
    gc.collect()
    gc.freeze()
    # For processes that tests start. Workers of this run have all plugins.
    os.environ["PYTEST_ADDOPTS"] = PLUGINS_OF_PROJECTS


@pytest.fixture(scope="session")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ``mypy --strict`` on programs of users. It begins with what `make lint` has learned of pykb."""
    strict = ("--strict", "--warn-unused-ignores", "--hide-error-context", "--python-version", "3.11")
    cache = tmp_path_factory.mktemp("mypy")
    for known in (ROOT / ".mypy_cache/3.11").glob("*.db"):
        (cache / "3.11").mkdir(exist_ok=True)
        # A run of mypy may be writing there.
        with closing(sqlite3.connect(known)) as source, closing(sqlite3.connect(cache / "3.11" / known.name)) as copy:
            source.backup(copy)

    def check(*programs: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", *strict, "--cache-dir", cache]
        return subprocess.run([*command, *programs], cwd=ROOT, capture_output=True, text=True, check=False)

    return check


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of mypy for generated projects, which knows what they all import: pykb and Pydantic.

    Two runs of mypy must not write to the same cache, so each worker has its own copy.
    """
    kept, mine = ROOT / ".mypy_cache/projects", tmp_path_factory.mktemp("mypy") / "projects"
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, "-m", "mypy", "--cache-dir", kept, "."]
        subprocess.run(command, cwd=ROOT / "testdata/app", capture_output=True, check=False)
        shutil.copytree(kept, mine)
    return mine


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans that the program makes: it traces, with the SDK of OpenTelemetry."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


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

"""A generated project and a cluster for it, handled as their user handles them: by commands."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hack.wheels import wheels as kept_wheels
from pykb.envtest import ControlPlane, get_assets
from tests.conftest import EXPLORE_BRIEFLY

LOCK = Path(__file__).parents[2] / "requirements.txt"
PATIENCE = 60.0
"""Seconds after which something that should happen counts as not happening."""


def eventually(check: Callable[[], bool], what: str, *, context: Callable[[], str] = str) -> None:
    """Wait until a check holds; fail with what was waited for."""
    deadline = time.monotonic() + PATIENCE
    while not check():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {PATIENCE:g} s: {what}\n{context()}")
        time.sleep(0.1)


@dataclass
class Process:
    """A program that runs beside the test, and its output."""

    handle: subprocess.Popen[bytes]
    log_file: Path

    @property
    def log(self) -> str:
        """What it printed so far."""
        return self.log_file.read_text(encoding="utf-8")

    def prints(self, text: str, *, times: int = 1) -> None:
        """Wait until it has printed a text, so many times."""

        def check() -> bool:
            if self.handle.poll() is not None:
                pytest.fail(f"ended with exit code {self.handle.returncode} before it printed {text!r}\n{self.log}")
            return self.log.count(text) >= times

        eventually(check, f"{text!r} printed {times} times", context=lambda: self.log)

    def interrupt(self) -> int:
        """End it as Ctrl-C does, and return its exit code."""
        os.killpg(self.handle.pid, signal.SIGINT)
        return self.handle.wait(PATIENCE)


@dataclass
class Shell:
    """Runs commands in a directory, against a cluster."""

    directory: Path
    kubectl: Path
    environment: dict[str, str] = field(default_factory=dict)

    def with_kubeconfig(self, path: Path) -> Shell:
        """The same for another user of the cluster."""
        return Shell(self.directory, self.kubectl, {**self.environment, "KUBECONFIG": str(path)})

    def run(self, *command: str, code: int = 0, text: str | None = None, both: bool = False) -> str:
        """Run a command and return what it prints to stdout, or `both` to stdout and stderr; another exit code fails."""
        done = subprocess.run(
            command,
            cwd=self.directory,
            env=self.environment,
            input=text or "",
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if done.returncode != code:
            pytest.fail(f"$ {' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr if both else done.stdout

    def pykb(self, *arguments: str) -> str:
        """Run pykb as it is installed here, not the project's."""
        return self.run(sys.executable, "-m", "pykb", *arguments)

    def ctl(self, *arguments: str, text: str | None = None) -> str:
        """Run kubectl."""
        return self.run(str(self.kubectl), *arguments, text=text)

    @contextmanager
    def running(self, *command: str) -> Iterator[Process]:
        """Run a program for the length of a block, then end it as Ctrl-C does."""
        log = self.directory.parent / f"{self.directory.name}-{time.monotonic_ns()}.log"
        with log.open("wb") as output:
            handle = subprocess.Popen(
                command,
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        process = Process(handle, log)
        try:
            yield process
        finally:
            if handle.poll() is None:
                os.killpg(handle.pid, signal.SIGTERM)
                try:
                    handle.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    os.killpg(handle.pid, signal.SIGKILL)
                    handle.wait()

    def edit(self, path: str, *edits: tuple[str, str]) -> None:
        """Replace texts that occur exactly once in a file."""
        file = self.directory / path
        text = file.read_text(encoding="utf-8")
        for old, new in edits:
            assert text.count(old) == 1, f"{path} has {old!r} {text.count(old)} times"
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")


def free_port() -> int:
    """A port that nobody listens on at present."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def refusals(shell: Shell) -> float:
    """How many requests the API server has not authorized so far."""
    metrics = shell.ctl("get", "--raw", "/metrics")
    found = re.findall(
        r'^authorization_attempts_total{result="(denied|no-opinion|error)"} (\S+)$', metrics, re.MULTILINE
    )
    return sum(float(count) for _, count in found)


@contextmanager
def deployed(shell: Shell, control_plane: ControlPlane, project: str) -> Iterator[Process]:
    """Run `make deploy`, then the manager as its pod would: with its arguments, environment and ServiceAccount.

    At the end the API server must have forbidden it nothing.
    """
    image = f"registry.example.com/{project}:v0.0.1"
    namespace = f"{project}-system"
    shell.run("make", "deploy", f"IMG={image}")
    deployment = json.loads(
        shell.ctl("--namespace", namespace, "get", "deployment", f"{project}-controller-manager", "--output=json")
    )
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == image

    account = shell.with_kubeconfig(control_plane.service_account(namespace, pod["serviceAccountName"]))
    for variable in container.get("env", []):
        assert variable["valueFrom"] == {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
        account.environment[variable["name"]] = namespace
    # The ports are this host's, not a pod's own.
    addresses = {flag: f"127.0.0.1:{free_port()}" for flag in ("--metrics-bind-address", "--health-probe-bind-address")}
    arguments = [
        f"{flag}={addresses[flag]}" if (flag := argument.partition("=")[0]) in addresses else argument
        for argument in container["args"]
    ]
    before = refusals(shell)
    command = (".venv/bin/python", "-m", project, *arguments, f"--leader-election-namespace={namespace}")
    with account.running(*command) as manager:
        yield manager
        assert "forbidden" not in manager.log.lower(), manager.log
        assert manager.interrupt() == 0, manager.log
    assert refusals(shell) == before, manager.log
    account.run(str(account.kubectl), "get", "nodes", code=1)
    assert refusals(shell) > before, "what is forbidden is counted"


@pytest.fixture(scope="session")
def wheels() -> Path:
    """The packages of requirements.txt, in place of a package index."""
    return kept_wheels(LOCK)


@pytest.fixture(scope="module")
def shell(
    control_plane: ControlPlane,
    mypy_cache: Path,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Shell:
    """A shell in an empty directory, with a kubeconfig and no Python environment. mypy knows pykb already.

    The directory, and so the project, is named by the variable PROJECT of the test's module. The API server has
    objects of other tests, so no other project has this one's name or domain.
    """
    directory: Path = tmp_path_factory.mktemp("e2e") / request.module.PROJECT
    directory.mkdir()
    assets = get_assets(kubectl=True)
    assert assets.kubectl is not None
    hidden = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "MAKE")  # its user writes bytecode and has all plugins
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(hidden)},
        "KUBECONFIG": str(control_plane.kubeconfig),
        "KUBEBUILDER_ASSETS": str(assets.folder),
        "KUBECTL": str(assets.kubectl),
        "PYTHON": sys.executable,
        "MYPY_CACHE_DIR": str(mypy_cache),
        "NO_COLOR": "1",
        **EXPLORE_BRIEFLY,
    }
    return Shell(directory, assets.kubectl, environment)

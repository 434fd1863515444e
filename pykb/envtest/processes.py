"""The client of the supervisor's pipe, and checks of recorded process ids."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pykb.diagnostics.codes.environment import CONTROL_PLANE_START
from pykb.envtest import _supervisor as supervisor
from pykb.envtest.components import Component

PROGRAM = Path(supervisor.__file__)


@dataclass(frozen=True, slots=True)
class State:
    """The running components (name to process id) and the ended ones (name to exit code)."""

    running: dict[str, int]
    exited: dict[str, int]


class Processes:
    """Child processes that cannot outlive this process: see :mod:`pykb.envtest._supervisor`. Thread-safe."""

    def __init__(self, *, output: bool = False) -> None:
        """Start the supervisor.

        Args:
            output: Whether to open a pipe for the output of children.
        """
        self._lock = threading.Lock()
        self.output: int | None = None
        """The read end of the output pipe. The reader closes it."""
        writer: int | None = None
        if output:
            self.output, writer = os.pipe()
        # With the parent's id, the supervisor notices the end of this process even if a fork keeps the pipe open.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", PROGRAM, "--parent", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(writer,) if writer is not None else (),
        )
        self._writer = writer
        if writer is not None:
            os.close(writer)  # the supervisor inherits it with the same number

    def start(self, component: Component) -> int:
        """Start a component and return its process id.

        Raises:
            EnvironmentProblem: The program cannot be run.
        """
        return self._started(component.argv[0], component.command())

    def start_piped(self, name: str, argv: Sequence[str], *, folder: Path, env: Mapping[str, str]) -> int:
        """Start a program whose output goes into the pipe.

        Raises:
            EnvironmentProblem: The program cannot be run.
        """
        command = {"do": "start", "name": name, "argv": list(argv), "cwd": str(folder), "env": dict(env)}
        return self._started(argv[0], command | {"output": self._writer})

    def _started(self, program: str, command: dict[str, object]) -> int:
        answer = self._ask(command)
        if "error" in answer:
            raise CONTROL_PLANE_START.problem(f"cannot run `{program}`", notes=str(answer["error"]))
        return int(answer["pid"])

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a component. Does nothing when it is not running."""
        self._ask({"do": "signal", "name": name, "signal": number})

    def stop(self, names: Sequence[str], *, grace: timedelta) -> None:
        """End components, the last started first, and wait for their ends."""
        self._ask({"do": "stop", "names": list(names), "grace": grace.total_seconds()})

    def state(self) -> State:
        """The current state."""
        answer = self._ask({"do": "state"})
        return State(answer["running"], answer["exited"])

    def close(self) -> None:
        """End all running components, without grace, and the supervisor. Further calls do nothing."""
        with self._lock:
            if self._process.stdin and not self._process.stdin.closed:
                with contextlib.suppress(BrokenPipeError):
                    self._process.stdin.close()
            self._process.wait()
            if self._process.stdout:
                self._process.stdout.close()

    def _ask(self, command: dict[str, object]) -> dict[str, Any]:
        with self._lock:
            stdin, stdout = self._process.stdin, self._process.stdout
            if stdin is None or stdout is None or stdin.closed:
                return {"running": {}, "exited": {}}
            try:
                stdin.write(json.dumps(command).encode() + b"\n")
                stdin.flush()
                line = stdout.readline()
            except BrokenPipeError:
                line = b""
            if not line:
                raise CONTROL_PLANE_START.problem("the supervisor process of the control plane ended unexpectedly")
            answer: dict[str, Any] = json.loads(line)
            return answer


def process_id(value: object) -> int:
    """A recorded process id. Refuses ids that mean several processes."""
    if type(value) is not int or value <= 1:
        raise ValueError(f"`{value}` is not a process")
    return value


def mentions(pid: int, path: str) -> bool:
    """Whether a process has a path on its command line. This proves that a recorded id is still valid."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        if Path("/proc/self").exists():
            return False
        shown = subprocess.run(["ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, check=False)  # macOS
        words = shown.stdout
    return os.fsencode(path) in words

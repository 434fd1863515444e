"""The process between pykb and a control plane. It starts etcd and the apiserver, and ends with its caller.

It runs as a program by its file name (``python -I _supervisor.py``), and imports only the standard library. It is the
parent of the control plane's processes. Requests of pykb are JSON lines on stdin, and each is answered with a line on
stdout. When stdin ends, the caller is gone, even after SIGKILL. The supervisor then ends everything at once. This works
on Linux and macOS. A process id always belongs to its child, since only a parent's ``wait`` frees the id.

``PR_SET_PDEATHSIG`` alone is not enough: it fires when the *thread* that forked ends, and test fixtures start control
planes from any thread. Here it is a second safeguard, in case the supervisor itself is killed. This process has one
thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1  # linux/prctl.h
GRACE_SECONDS = 5.0
POLL_SECONDS = 0.01


class Supervisor:
    """Starts, signals and ends processes, and keeps the exit code of each.

    Invariant: ``running`` is in the order of starting. Processes end in the opposite order, since the apiserver needs
    etcd until its end.
    """

    def __init__(self) -> None:
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.exited: dict[str, int] = {}
        self.commands: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "start": self.start,
            "signal": self.send_signal,
            "stop": self.stop,
            "state": lambda _: self.state(),
        }

    def start(self, command: dict[str, Any]) -> dict[str, Any]:
        """Start ``argv`` as ``name``. Its output goes into the file ``log`` or the open file ``output``."""
        with contextlib.ExitStack() as stack:
            output = command.get("output") or stack.enter_context(Path(command["log"]).open("ab"))
            try:
                process = subprocess.Popen(
                    command["argv"],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd=command["cwd"],
                    env={**os.environ, **command.get("env", {})},
                    preexec_fn=_die_with_parent,  # noqa: PLW1509 - safe: this process has a single thread
                )
            except OSError as error:
                return {"error": str(error)}
        self.running[command["name"]] = process
        self.exited.pop(command["name"], None)
        return {"pid": process.pid}

    def send_signal(self, command: dict[str, Any]) -> dict[str, Any]:
        """Send a signal to one process and return at once."""
        self.reap()
        process = self.running.get(command["name"])
        if process is not None:
            process.send_signal(command["signal"])
        return self.state()

    def stop(self, command: dict[str, Any]) -> dict[str, Any]:
        """End the named processes in the opposite order of their start, with SIGTERM and then SIGKILL."""
        names = [name for name in reversed(self.running) if name in command["names"]]
        for name in names:
            self.end(name, grace=command.get("grace", GRACE_SECONDS))
        return self.state()

    def end(self, name: str, *, grace: float) -> None:
        """End one process: SIGTERM, then SIGKILL after ``grace`` seconds. Without grace, only SIGKILL."""
        process = self.running[name]
        if grace > 0:
            process.send_signal(signal.SIGCONT)  # a stopped process would not receive SIGTERM
            process.terminate()
            deadline = time.monotonic() + grace
            while time.monotonic() < deadline and not has_ended(process.pid):
                time.sleep(POLL_SECONDS)
        # Each process leads its own group. Until it is waited for, no other group can have its number.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.reap()

    def state(self) -> dict[str, Any]:
        """The running processes, and the exit codes of ended ones."""
        self.reap()
        return {"running": {name: process.pid for name, process in self.running.items()}, "exited": self.exited}

    def reap(self) -> None:
        """Record processes that have ended."""
        for name, process in list(self.running.items()):
            code = process.poll()
            if code is not None:
                self.exited[name] = code
                del self.running[name]

    def end_all(self, *, grace: float) -> None:
        """End all processes, the last started first."""
        for name in reversed(list(self.running)):
            self.end(name, grace=grace)

    def answer(self, line: bytes) -> dict[str, Any]:
        """Carry out one command."""
        try:
            command = json.loads(line)
            return self.commands[command["do"]](command)
        except (KeyError, ValueError, TypeError) as error:
            return {"error": f"{type(error).__name__}: {error}"}


def has_ended(pid: int) -> bool:
    """Whether a child has ended. Does not reap it."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _die_with_parent() -> None:
    """In the child, before exec: make it end with the supervisor, and ignore a terminal's Ctrl-C."""
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def serve_pipe(supervisor: Supervisor, parent: int) -> None:
    """Answer commands until stdin ends or the parent is gone. Then end everything at once."""
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    pending = b""
    while os.getppid() == parent:  # a fork of the parent may keep the pipe open after the parent's end
        if not selector.select(timeout=1):
            continue
        received = os.read(0, 65536)
        if not received:
            break
        *lines, pending = (pending + received).split(b"\n")
        with contextlib.suppress(BrokenPipeError):
            for line in lines:
                os.write(1, json.dumps(supervisor.answer(line)).encode() + b"\n")
    supervisor.end_all(grace=0)


def serve_plan(supervisor: Supervisor, plan: Path) -> None:
    """Run the processes of a plan file until SIGTERM, or until SIGQUIT to end without grace.

    SIGHUP means that the plan has new processes. ``state.json`` in the same folder has the running and ended processes.
    A process that ends is not restarted, so that the state shows it.
    """
    told = {"stop": False, "look": True, "grace": True}
    rounds = 0
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: told.update(stop=True))
    signal.signal(signal.SIGQUIT, lambda *_: told.update(stop=True, grace=False))
    signal.signal(signal.SIGHUP, lambda *_: told.update(look=True))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while not told["stop"]:
        if told["look"]:
            told["look"] = False
            rounds += 1
            for command in json.loads(plan.read_text(encoding="utf-8")):
                if command["name"] not in supervisor.running:
                    supervisor.start(command)
        write_state(supervisor, plan.with_name("state.json"), rounds)
        os.read(reader, 4096)
    supervisor.end_all(grace=GRACE_SECONDS if told["grace"] else 0)
    write_state(supervisor, plan.with_name("state.json"), rounds)


def write_state(supervisor: Supervisor, path: Path, rounds: int) -> None:
    """Replace the state file atomically. Ignores a missing folder, which somebody may have removed."""
    draft = path.with_suffix(".tmp")
    with contextlib.suppress(FileNotFoundError):
        draft.write_text(
            json.dumps({"supervisor": os.getpid(), "rounds": rounds, **supervisor.state()}), encoding="utf-8"
        )
        draft.replace(path)


def main() -> None:
    """With ``--parent PID``, serve the pipe. With ``--plan FILE``, run a plan file in the background."""
    supervisor = Supervisor()
    match sys.argv[1:]:
        case ["--plan", name]:
            if os.fork():
                os._exit(0)
            serve_plan(supervisor, Path(name))
        case ["--parent", pid]:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # only the end of stdin ends this process: it cannot be missed
            serve_pipe(supervisor, int(pid))
        case _:
            sys.exit("usage: supervisor.py --parent PID | --plan FILE")


if __name__ == "__main__":
    main()

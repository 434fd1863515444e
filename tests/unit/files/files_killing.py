"""Runs a function in a child process that dies, or fails, at its Nth change of the file system.

The child sees the operating system through Python's audit events (every open for writing, rename, mkdir, unlink,
rmdir, chmod) and through a wrapped ``os.write`` that first writes only half. Nothing of pykb is replaced.

As a program, this module makes the children. Its process is small, and pytest's is not: a fork copies page tables.
"""

from __future__ import annotations

import errno
import functools
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from pykb.diagnostics import EnvironmentProblem

_EVENTS = frozenset({"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.truncate", "os.link"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

FINISHED, FAILED = "finished", "failed"


def run_and_break(action: functools.partial[object], at: int, *, how: str) -> str:
    """Run ``action`` in a child whose change number ``at`` is its last (`kill`) or raises ENOSPC (`raise`).

    Or in which Ctrl-C arrives at that change (`interrupt`).

    Gives how the child ended: `finished` (it made fewer changes), `killed`, or `failed` (it reported an error).
    """
    parent = _parent()
    assert parent.stdin is not None
    assert parent.stdout is not None
    pickle.dump((action, at, how), parent.stdin)
    parent.stdin.flush()
    status: int = pickle.load(parent.stdout)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return "killed"
    code = os.WEXITSTATUS(status)
    assert code in {0, 1}, f"the child ended with {code}"
    return FINISHED if code == 0 else FAILED


@functools.cache
def _parent() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def end() -> None:
    """End the process that makes the children, if there is one."""
    if _parent.cache_info().currsize:
        _parent().communicate()
        _parent.cache_clear()


def _serve() -> None:
    os.fsync = lambda _: None  # type: ignore[assignment] # a kill loses nothing that the kernel has
    while True:
        try:
            action, at, how = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        child = os.fork()
        if child == 0:
            _run(action, at, how)
        _, status = os.waitpid(child, 0)
        pickle.dump(status, sys.stdout.buffer)
        sys.stdout.flush()


def _run(action: Callable[[], object], at: int, how: str) -> None:
    code = 70
    try:
        _arm(at, how)
        try:
            action()
            code = 0
        except (OSError, EnvironmentProblem, KeyboardInterrupt):
            code = 1
    finally:
        os._exit(code)


def _arm(at: int, how: str) -> None:
    count = 0
    real_write = os.write

    def strike() -> None:
        nonlocal count
        count += 1
        if count != at + 1:
            return
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "interrupt":
            raise KeyboardInterrupt
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x")

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in _EVENTS or (event == "open" and isinstance(args[2], int) and args[2] & _WRITING):
            strike()

    def write(handle: int, data: Any) -> int:
        half = real_write(handle, bytes(data)[: len(data) // 2])
        strike()
        return half or real_write(handle, data)

    os.write = write  # type: ignore[assignment]
    sys.addaudithook(hook)


if __name__ == "__main__":
    _serve()

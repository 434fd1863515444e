"""Runs a program that may hang or write without end, within limits of time and output."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

_CHUNK = 65536


class LimitError(Exception):
    """The program was ended. The message says which limit it exceeded."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many seconds a program may run, and how many bytes it may write to each of its streams."""

    seconds: float
    size: int


@dataclass(frozen=True, slots=True)
class Output:
    """A program that has ended within the limits."""

    code: int
    stdout: bytes
    stderr: bytes


def run(
    argv: Sequence[str | Path], *, cwd: Path, stdin: bytes, limits: Limits, env: Mapping[str, str] | None = None
) -> Output:
    """Run a program until it ends and its output is closed. Processes that it leaves behind are killed.

    Args:
        argv: The program and its arguments.
        cwd: The folder to run it in.
        stdin: Its input.
        limits: When to end it.
        env: All of its variables. The default are those of this process.

    Raises:
        LimitError: It exceeded a limit.
        OSError: It cannot be started.
    """
    deadline = time.monotonic() + limits.seconds
    with TemporaryFile() as given:  # a program that does not read its input cannot block us
        given.write(stdin)
        given.seek(0)
        words = [os.fspath(word) for word in argv]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            words, cwd=cwd, env=env, stdin=given, stdout=pipe, stderr=pipe, start_new_session=True
        )
    with process:
        try:
            stdout, stderr = _read(process, limits, deadline)
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise LimitError(f"did not end within {limits.seconds:g} s") from error
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    return Output(code, stdout, stderr)


def _read(process: subprocess.Popen[bytes], limits: Limits, deadline: float) -> tuple[bytes, bytes]:
    """What the program writes to stdout and to stderr, to their ends."""
    taken = {"stdout": bytearray(), "stderr": bytearray()}
    with selectors.DefaultSelector() as streams:
        for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
            if stream is not None:
                streams.register(stream, selectors.EVENT_READ, name)
        while streams.get_map():
            ready = streams.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                taken[key.data] += chunk
                if not chunk:
                    streams.unregister(key.fileobj)
                if len(taken[key.data]) > limits.size:
                    raise LimitError(f"wrote more than {limits.size // 1024**2} MiB to {key.data}")
    return bytes(taken["stdout"]), bytes(taken["stderr"])

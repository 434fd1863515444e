"""Finds and runs programs without a shell, and reports failures."""

from __future__ import annotations

import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pykb.diagnostics.codes.environment import COMMAND_FAILED, TOOL_MISSING

_CHUNK = 65536
_LONGEST_LINE = 1000
QUOTED_LINES = 12
"""The number of last lines of a failed program's output that a diagnostic quotes."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has ended."""

    argv: tuple[str, ...]
    code: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether its exit code is 0."""
        return self.code == 0


def find_program(name: str, *, folders: Sequence[Path] = ()) -> Path | None:
    """Find the executable ``name`` in ``folders``, then on ``PATH``. ``None`` when it is in neither."""
    for folder in folders:
        candidate = folder / name
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which(name)
    return Path(found) if found else None


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: timedelta | None = None,
) -> Finished:
    """Run a program to its end and keep its output.

    Args:
        argv: The program and its arguments, passed on as they are.
        cwd: Folder to run it in.
        env: Variables in addition to this process's own.
        stdin: Text for its stdin. The default is empty, so that a program never waits for the keyboard.
        timeout: The maximum time that it may run.

    Raises:
        EnvironmentProblem: The program does not exist, or took longer than ``timeout``.
    """
    words = tuple(os.fspath(word) for word in argv)
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**os.environ, **env} if env else None,
            input=stdin if stdin is not None else "",
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout.total_seconds() if timeout else None,
            check=False,
        )
    except (FileNotFoundError, PermissionError) as error:
        why = "there is no such program" if isinstance(error, FileNotFoundError) else "it is not executable"
        raise TOOL_MISSING.problem(f"cannot run `{words[0]}`: {why}") from error
    except subprocess.TimeoutExpired as error:
        seconds = timeout.total_seconds() if timeout else 0
        raise COMMAND_FAILED.problem(f"`{shlex.join(words)}` did not end within {seconds:g} s") from error
    return Finished(words, done.returncode, done.stdout, done.stderr)


def succeeded(done: Finished) -> Finished:
    """Return a program that has ended.

    Raises:
        EnvironmentProblem: Its exit code is not 0. The diagnostic quotes the last lines of its output.
    """
    if not done.ok:
        raise COMMAND_FAILED.problem(
            f"`{shlex.join(done.argv)}` ended with {describe_exit(done.code)}",
            notes=quote(done.stderr or done.stdout, source="it wrote"),
        )
    return done


def describe_exit(code: int) -> str:
    """An exit code of ``subprocess`` in words. Negative codes are signals."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def quote(output: str, *, source: str) -> tuple[str, ...]:
    """The last lines of an output as a note of a diagnostic; empty for empty output."""
    lines = [_shortened(line.rstrip()) for line in output.splitlines() if line.strip()][-QUOTED_LINES:]
    return ("\n".join((f"{source}:", *lines)),) if lines else ()


def _shortened(line: str) -> str:
    half = _LONGEST_LINE // 2
    return line if len(line) <= _LONGEST_LINE else f"{line[:half]} ... {line[-half:]}"


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


def run_bounded(
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
    from tempfile import TemporaryFile

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

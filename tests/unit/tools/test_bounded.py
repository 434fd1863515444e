"""A program that hangs, floods or leaves others behind is ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pykb.tools.process import LimitError, Limits, Output, run_bounded

_MIB = 1024**2


def shell(script: str, folder: Path, *, seconds: float = 60, stdin: bytes = b"") -> Output:
    """What a script of the shell writes."""
    return run_bounded(["/bin/sh", "-c", script], cwd=folder, stdin=stdin, limits=Limits(seconds, _MIB))


def test_what_a_program_writes(tmp_path: Path) -> None:
    """Both streams and the exit code, in the folder given, with all of its input."""
    got = shell("cat; pwd >&2; exit 4", tmp_path, stdin=b"x" * _MIB)
    assert got == Output(4, b"x" * _MIB, f"{tmp_path}\n".encode())


def test_input_that_is_not_read_does_not_block(tmp_path: Path) -> None:
    """The program may know the answer without it."""
    assert shell("echo yes", tmp_path, stdin=b"x" * 10 * _MIB).stdout == b"yes\n"


@pytest.mark.parametrize(
    "script", ["sleep 60", "exec >&- 2>&-; sleep 60", "sleep 60 & exit 0", "trap '' TERM; sleep 60"]
)
def test_a_program_that_does_not_end(tmp_path: Path, script: str) -> None:
    """Whatever holds it up, also a process that it leaves behind with its output."""
    with pytest.raises(LimitError, match=r"did not end within 0.2 s"):
        shell(script, tmp_path, seconds=0.2)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_program_that_writes_without_end(tmp_path: Path, stream: str) -> None:
    """Neither memory nor disk fills up."""
    to = " >&2" if stream == "stderr" else ""
    with pytest.raises(LimitError, match=f"wrote more than 1 MiB to {stream}"):
        shell(f"cat /dev/zero{to}", tmp_path)


def test_processes_that_it_leaves_behind_end(tmp_path: Path) -> None:
    """They would otherwise write into the project later."""
    child = int(shell("sleep 60 >&- 2>&- & echo $!", tmp_path).stdout)
    while True:  # until the kernel has delivered the signal
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if "State:\tZ" in Path(f"/proc/{child}/status").read_text(encoding="utf-8"):
            return

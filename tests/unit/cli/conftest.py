"""What the tests of the command line share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from pykb.cli import app
from pykb.scaffold import distribution

wheel = cache(distribution.wheel)


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command did."""

    code: int
    out: str
    err: str


Pykb = Callable[..., Ended]


@pytest.fixture
def pykb(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Pykb:
    """Runs a command line in this process."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # the disk is not under test
    monkeypatch.setattr(distribution, "wheel", wheel)  # of the same sources it is the same
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*words: str) -> Ended:
        capfd.readouterr()
        code = app.run(words)
        out, err = capfd.readouterr()
        return Ended(code, out, err)

    return run


@pytest.fixture
def spawn() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ``python -m pykb`` as a process of its own."""

    def run(words: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            [sys.executable, "-m", "pykb", *words],
            check=False,
            **{"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, **options},
        )

    return run


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh project `sealvm`, committed to git; to be copied, not changed."""
    root = tmp_path_factory.mktemp("pristine") / "sealvm"
    root.mkdir()
    words = [sys.executable, "-m", "pykb", "init", "--domain", "sealyun.com", "--owner", "fanux"]
    subprocess.run(words, cwd=root, check=True, capture_output=True)
    commit(root)
    return root


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pristine: Path) -> Path:
    """A fresh project `sealvm`, committed to git; the working directory."""
    root = tmp_path / "sealvm"
    shutil.copytree(pristine, root)
    monkeypatch.chdir(root)
    return root


def commit(root: Path) -> None:
    """Put everything into a commit."""
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.email=a@b", "-c", "user.name=a", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=root, check=True)


@pytest.fixture
def status() -> Callable[[Path], list[str]]:
    """The lines of `git status --short`."""

    def lines(root: Path) -> list[str]:
        done = subprocess.run(
            ["git", "status", "--short", "-uall"], cwd=root, check=True, capture_output=True, text=True
        )
        return done.stdout.splitlines()

    return lines

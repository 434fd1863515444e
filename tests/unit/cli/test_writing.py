"""Whatever a command writes into a project, it writes by way of `pykb.files`: a plan and its transaction."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import pykb.files
from pykb.cli import app

CRDS = Path(__file__).parents[3] / "testdata/import/crds"
COMMANDS = (
    "init --domain sealyun.com --project-name sealvm",
    "create api --group infra --version v1 --kind Machine --resource --controller --no-make",
    "create api --group infra --version v2 --kind Machine --from v1 --resource --no-controller --no-make",
    "create webhook --group infra --version v1 --kind Machine --defaulting --conversion --spoke v2 --no-make",
    f"import crd {CRDS} --output sealvm/external",
    "generate",
    "generate docs",
    "generate --check",
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FOLDERS = {"os.rename": 3, "os.mkdir": 2, "os.remove": 1, "os.rmdir": 1, "os.chmod": 2}
"""Changes of the file system, and where among their arguments the folder is that a path is relative to."""


def watch(root: Path, seen: set[str]) -> None:
    """Note each change below a folder in this process, and whether `pykb.files` asked for it."""
    files = str(Path(pykb.files.__file__).parent)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        is_open = event == "open" and args[2] & _WRITING
        if (not is_open and event not in _FOLDERS) or isinstance(args[0], int):  # a file that was opened before
            return
        folder = -1 if is_open else args[_FOLDERS[event]]
        base = Path.cwd() if folder == -1 else Path(f"/proc/self/fd/{folder}").readlink()
        place = base / os.fsdecode(args[1] if event == "os.rename" else args[0])
        if not place.is_relative_to(root):
            return
        frame = sys._getframe()
        while frame.f_back is not None and not frame.f_code.co_filename.startswith(files):
            frame = frame.f_back
        seen.add("by pykb.files" if frame.f_back is not None else f"{event} {place}")

    sys.addaudithook(hook)


def test_every_command_writes_by_way_of_the_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands that write, one after the other, in a child whose changes of the file system are seen."""
    root = tmp_path / "sealvm"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            seen: set[str] = set()
            watch(root, seen)
            ended = [f"{words}: {code}" for words in COMMANDS if (code := app.run(words.split()))]
            os.write(writing, "\n".join([*ended, *sorted(seen)]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        assert answer.read() == "by pykb.files"
    os.waitpid(child, 0)
    assert (root / "config/crd/bases/infra.sealyun.com_machines.yaml").exists()

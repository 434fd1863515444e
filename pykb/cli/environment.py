"""Handing a command over to the pykb of the project's own environment, where its types can be imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pykb import __version__
from pykb.cli import console
from pykb.cli.errors import flush

_GUARD = "PYKB_HANDED_OVER"


def hand_over(root: Path) -> None:
    """Run this command line again with the project's pykb, unless this is it; returns only when there is none.

    The project's environment is its ``.venv``. Where that has no pykb the command goes on here, and says so.
    """
    environment = root / ".venv"
    program = environment / ("Scripts/pykb.exe" if os.name == "nt" else "bin/pykb")
    if not environment.is_dir() or _GUARD in os.environ or Path(sys.prefix).resolve() == environment.resolve():
        return
    if not program.exists():
        console.say(f"note: .venv has no pykb; using pykb {__version__} of {Path(sys.prefix).name}")
        return
    theirs = _version(environment)
    if theirs is not None and theirs != __version__:
        console.say(f"note: this is pykb {__version__}, the project's is {theirs}: using the project's")
    flush()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(program, [str(program), *console.settings.argv], {**os.environ, _GUARD: "1"})  # noqa: S606 - the project's own program


def _version(environment: Path) -> str | None:
    """The version of pykb in an environment, told by the name of its metadata directory."""
    for pattern in ("lib/python3*/site-packages", "Lib/site-packages"):
        for folder in sorted(environment.glob(f"{pattern}/pykubebuilder-*.dist-info")):
            return folder.name.removeprefix("pykubebuilder-").removesuffix(".dist-info")
    return None

"""Hands a command over to the pykb of the project's own environment, which can import its types."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pykb import __version__
from pykb.cli import console
from pykb.cli.errors import flush

_GUARD = "PYKB_HANDED_OVER"


def own_pykb(root: Path) -> tuple[str, ...] | None:
    """The command that runs the pykb in a project's ``.venv``. ``None`` if it has none.

    It runs pykb through the environment's Python, since installed scripts contain an absolute path
    that is wrong after the project was moved. It leaves the working directory off the import path,
    where a user's file could hide a module.
    """
    environment = root / ".venv"
    folder = environment / ("Scripts" if os.name == "nt" else "bin")
    python = folder / ("python.exe" if os.name == "nt" else "python")
    if _version(environment) is None or not os.access(python, os.X_OK):
        return None
    return (str(python), "-P", "-m", "pykb")


def hand_over(root: Path) -> None:
    """Run this command line with the pykb in the project's ``.venv``, in place of this process.

    Returns if this is that pykb already. If ``.venv`` has no pykb, says so and returns.
    """
    environment = root / ".venv"
    if not environment.is_dir() or _GUARD in os.environ or Path(sys.prefix).resolve() == environment.resolve():
        return
    words = own_pykb(root)
    if words is None:
        console.say(f"note: .venv has no pykb that runs; using pykb {__version__} of {Path(sys.prefix).name}")
        return
    theirs = _version(environment)
    if theirs != __version__:
        console.say(f"note: this is pykb {__version__}, the project's is {theirs}: using the project's")
    flush()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(words[0], [*words, *console.settings.argv], {**os.environ, _GUARD: "1"})  # noqa: S606 - the project's own program


def _version(environment: Path) -> str | None:
    """The version of pykb in an environment, from the name of its metadata directory."""
    for pattern in ("lib/python3*/site-packages", "Lib/site-packages"):
        for folder in sorted(environment.glob(f"{pattern}/pykubebuilder-*.dist-info")):
            return folder.name.removeprefix("pykubebuilder-").removesuffix(".dist-info")
    return None

"""Handing a command over to the pykb of the project's own environment, where its types can be imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pykb import __version__
from pykb.cli import console
from pykb.cli.errors import flush

_GUARD = "PYKB_HANDED_OVER"


def own_pykb(root: Path) -> tuple[str, ...] | None:
    """The words that run the pykb of a project's environment, ``.venv``; none where it has no pykb.

    It is run by its Python, which works where the project was moved: a script names the old place. And without the
    working directory on the path, where a file of the user's could stand for a module.
    """
    environment = root / ".venv"
    folder = environment / ("Scripts" if os.name == "nt" else "bin")
    python = folder / ("python.exe" if os.name == "nt" else "python")
    if _version(environment) is None or not os.access(python, os.X_OK):
        return None
    return (str(python), "-P", "-m", "pykb")


def hand_over(root: Path) -> None:
    """Run this command line again with the project's pykb, unless this is it; returns only when there is none.

    The project's environment is its ``.venv``. Where that has no pykb the command goes on here, and says so.
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
    """The version of pykb in an environment, told by the name of its metadata directory."""
    for pattern in ("lib/python3*/site-packages", "Lib/site-packages"):
        for folder in sorted(environment.glob(f"{pattern}/pykubebuilder-*.dist-info")):
            return folder.name.removeprefix("pykubebuilder-").removesuffix(".dist-info")
    return None

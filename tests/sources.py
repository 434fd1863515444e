"""The files of the project: those that git knows, or those of an unpacked source distribution."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def files_of(folder: Path) -> list[str]:
    """The files below a folder, relative to it."""
    if (ROOT / ".git").exists():
        done = subprocess.run(["git", "ls-files", "-z"], cwd=folder, capture_output=True, text=True, check=True)
        return [name for name in done.stdout.split("\0") if name]
    made = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".pykb"}
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return [path.as_posix() for path in found if made.isdisjoint(path.parts)]

"""Finds the folder of the project."""

from __future__ import annotations

import os
from pathlib import Path

from pykb.diagnostics.codes.project import PROJECT_OWNER
from pykb.project import FILE_NAME


def find_root() -> Path | None:
    """The folder of PROJECT: the working directory or its nearest parent that has the file.

    Raises:
        EnvironmentProblem: The parent belongs to another user. A command would run that user's
            code.
    """
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if _is_there(folder / FILE_NAME)), None)
    if root is not None and root != here and not _is_trusted(root):
        raise PROJECT_OWNER.problem(
            f"this directory is in the project `{root}`, which belongs to another user",
            f"if you trust it, run the command there: `cd {root}`",
            notes="nothing was read or written",
        )
    return root


def _is_there(path: Path) -> bool:
    """Whether a file has this path. A pipe or a device counts, too: its reader says that it cannot be read."""
    return path.exists() and not path.is_dir()


def _is_trusted(root: Path) -> bool:
    """Whether a folder and its PROJECT belong to the current user or to root."""
    return all(path.lstat().st_uid in {0, os.geteuid()} for path in (root, root / FILE_NAME))

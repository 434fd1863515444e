"""The file PROJECT, in version 3 of kubebuilder's format. It records what was scaffolded.

This module loads next to nothing, so that every command can import it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from pykb._regular_file import read_bytes

FILE_NAME = "PROJECT"
MOST_BYTES = 256 * 1024
"""The largest file that is read. A kind takes about 300 bytes."""


def content(root: Path) -> bytes:
    """The content of a project's file; empty when it does not exist."""
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return read_bytes(root / FILE_NAME, most=MOST_BYTES)
    return b""


class Certificates(StrEnum):
    """Who issues the certificates of a project's webhooks."""

    BUILT_IN = "built-in"
    CERT_MANAGER = "cert-manager"


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparisons. Empty if the text is not a version.

    >>> version_numbers("0.2.0"), version_numbers("0.2.0rc1"), version_numbers("../0.2.0")
    ((0, 2, 0), (0, 2, 0), ())
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9}){0,3})[0-9A-Za-z.+]{0,20}", version)
    return tuple(map(int, match[1].split("."))) if match else ()


def find_root() -> Path | None:
    """The folder of PROJECT: the working directory or its nearest parent that has the file.

    Raises:
        EnvironmentProblem: The parent belongs to another user. A command would run that user's
            code.
    """
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if _is_there(folder / FILE_NAME)), None)
    if root is not None and root != here and not _is_trusted(root):
        from pykb.diagnostics.codes.project import PROJECT_OWNER

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

"""The file PROJECT, in version 3 of kubebuilder's format. It records what was scaffolded."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

FILE_NAME = "PROJECT"


def content(root: Path) -> bytes:
    """The content of a project's file; empty when it does not exist."""
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return (root / FILE_NAME).read_bytes()
    return b""

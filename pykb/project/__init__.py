"""What a project remembers of itself: the file PROJECT, in kubebuilder's version 3."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

FILE_NAME = "PROJECT"


def content(root: Path) -> bytes:
    """The file of a project; empty where there is none."""
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return (root / FILE_NAME).read_bytes()
    return b""

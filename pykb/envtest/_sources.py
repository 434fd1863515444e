"""Where binaries come from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from pykb.envtest.reporter import Reporter


class SourceUnusable(Exception):  # noqa: N818 - a reason to try the next source, not an error
    """This source cannot serve; the text says why."""


class VersionUnknown(SourceUnusable):
    """There is no such version of Kubernetes.

    Attributes:
        known: The versions that there are.
    """

    def __init__(self, message: str, known: Iterable[str]) -> None:
        super().__init__(message)
        self.known = frozenset(known)


class Source(Protocol):
    """A way to get programs."""

    @property
    def title(self) -> str:
        """What it is, for people."""

    def resolve(self, version: str) -> str:
        """The exact version that a version or minor stands for here.

        Raises:
            SourceUnusable: It cannot be told.
        """

    def get(self, version: str, programs: tuple[str, ...], folder: Path, reporter: Reporter) -> None:
        """Put at least these programs of an exact version into a folder.

        Raises:
            SourceUnusable: They are not to be had here; the folder's content does not matter then.
        """

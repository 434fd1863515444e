"""The interface of sources of binaries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from pykb.envtest.reporter import Reporter


class SourceUnusable(Exception):  # noqa: N818 - a reason to try the next source, not an error
    """This source cannot provide the programs. The text says why."""


class VersionUnknown(SourceUnusable):
    """This version of Kubernetes does not exist.

    Attributes:
        known: The existing versions.
    """

    def __init__(self, message: str, known: Iterable[str]) -> None:
        super().__init__(message)
        self.known = frozenset(known)


class Source(Protocol):
    """A way to get programs."""

    @property
    def title(self) -> str:
        """The name of this source, for people."""

    def resolve(self, version: str) -> str:
        """The exact version for an exact or a minor version.

        Raises:
            SourceUnusable: The version cannot be found out.
        """

    def get(self, version: str, programs: tuple[str, ...], folder: Path, reporter: Reporter) -> None:
        """Put at least these programs of an exact version into a folder.

        Raises:
            SourceUnusable: They are not available here. The folder may then have any content.
        """

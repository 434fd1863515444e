"""The interface of sources of binaries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from pykb.envtest.reporter import Reporter
from pykb.envtest.versions import is_exact, matches, sort_key


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


def newest_of(wanted: str, known: Iterable[str], *, place: str) -> str:
    """The newest exact version that a selector selects.

    Args:
        wanted: A parsed version or selector.
        known: The versions of a source. Those that are not exact, such as release candidates, do not count.
        place: What has no such version, for the message.

    Raises:
        VersionUnknown: There is none.
    """
    exact = list(filter(is_exact, known))
    found = [version for version in exact if matches(wanted, version)]
    if not found:
        raise VersionUnknown(f"{place} {wanted}", exact)
    return max(found, key=sort_key)


class Source(Protocol):
    """A way to get programs."""

    @property
    def title(self) -> str:
        """The name of this source, for people."""

    def versions(self) -> list[str]:
        """The exact versions that it has.

        Raises:
            SourceUnusable: They cannot be found out.
        """

    def resolve(self, version: str) -> str:
        """The exact version for an exact version or a selector.

        Raises:
            SourceUnusable: The version cannot be found out.
        """

    def get(self, version: str, programs: tuple[str, ...], folder: Path, reporter: Reporter) -> None:
        """Put at least these programs of an exact version into a folder.

        Raises:
            SourceUnusable: They are not available here. The folder may then have any content.
        """

"""The cache of binaries, with one folder per version, complete or absent; and the sources that fill it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pykb.envtest.reporter import Reporter
from pykb.envtest.versions import is_exact, matches, sort_key

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


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


def platform_name() -> str:
    """This platform in Go's terms: ``linux-amd64``."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{_ARCHITECTURES.get(machine, machine)}"


def user_cache_folder() -> Path:
    """The user's cache, by the XDG base directory specification. Also on macOS, as for Go tools."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if Path(named).is_absolute() else Path.home() / ".cache"


@dataclass(frozen=True, slots=True)
class Cache:
    """Folders named ``<Kubernetes version>-<os>-<arch>``.

    Invariant: a folder of such a name is complete. Work in progress is in ``.draft-*`` and is written only under the
    lock. One rename per program makes it visible. The next process removes what a killed one left.
    """

    folder: Path

    @classmethod
    def of_user(cls) -> Cache:
        """The cache that all projects of this user share."""
        return cls(user_cache_folder() / "pykubebuilder" / "envtest")

    def place(self, version: str) -> Path:
        """The folder of an exact version, whether it exists or not."""
        return self.folder / f"{version}-{platform_name()}"

    def version_of(self, place: Path) -> str:
        """The exact version that a folder of this cache is for."""
        return place.name.removesuffix(f"-{platform_name()}")

    def versions(self) -> list[str]:
        """The cached versions for this platform, newest first."""
        suffix = f"-{platform_name()}"
        if not self.folder.is_dir():
            return []
        names = (entry.name.removesuffix(suffix) for entry in self.folder.iterdir() if entry.name.endswith(suffix))
        return sorted(filter(is_exact, names), key=sort_key, reverse=True)

    def find(self, version: str, programs: Iterable[str]) -> Path | None:
        """The folder with all these programs, for an exact version or the newest one that a selector selects."""
        wanted = tuple(programs)
        for kept in [version] if is_exact(version) else self.versions():
            place = self.place(kept)
            if matches(version, kept) and all(os.access(place / name, os.X_OK) for name in wanted):
                return place
        return None

    def remove(self, version: str, reporter: Reporter) -> None:
        """Delete an exact version. A control plane that runs from it keeps running."""
        with self.lock(version, reporter), self.draft(version) as draft:
            self.place(version).rename(draft / version)

    @contextlib.contextmanager
    def lock(self, version: str, reporter: Reporter) -> Iterator[None]:
        """Let only one process at a time get a version. The system frees the lock of a process that dies."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.folder / f".lock-{version}").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                step = reporter.step("wait for another pykb that gets the same programs")
                fcntl.flock(file, fcntl.LOCK_EX)
                step.done()
            yield

    @contextlib.contextmanager
    def draft(self, version: str) -> Iterator[Path]:
        """A temporary folder to fill, removed afterwards unless :meth:`keep` took it. Call it under the lock."""
        prefix = f".draft-{version}-"
        for left in self.folder.glob(f"{prefix}*"):  # no other process can use it: this one holds the lock
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self.folder))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, version: str, draft: Path) -> Path:
        """Move the programs of a draft into the cache."""
        place = self.place(version)
        if not place.exists():
            draft.chmod(0o755)
            draft.rename(place)
            return place
        for program in draft.iterdir():
            program.replace(place / program.name)
        return place

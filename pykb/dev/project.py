"""The project that the loop works on, and the changes of its files.

Changes are detected by polling. Polling the 60 files of a project takes 0.4 ms, three times a second. This is a
thousandth of a core. A native file watcher would be a dependency with limits of its own (inotify's watches, container
mounts, network folders).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pykb._regular_file import read_bytes
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.crds import read_crds
from pykb.envtest.webhooks import MANIFEST
from pykb.meta.gvk import GroupKind
from pykb.project import FILE_NAME
from pykb.project.file import read
from pykb.project.settings import config_path
from pykb.runtime import LogFormat

INTERVAL = timedelta(seconds=0.3)
QUIET = timedelta(seconds=0.15)
PROBES_OFF = "--health-probe-bind-address=0"
RECONCILE_LINES = f"--log-format={LogFormat.RECONCILES}"
SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})
SKIPPED_ENDINGS = (".pyc", ".pyo", "~", ".swp", ".swx", ".tmp")

Stamps = dict[str, tuple[int, int]]
"""Paths with their modification time and size."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The files to watch: all files below these folders, and these files.

    Hidden files, caches and editors' temporary files are excluded.
    """

    places: tuple[Path, ...]

    def stamps(self) -> Stamps:
        """The current state of the files."""
        found: Stamps = {}
        for place in self.places:
            if place.is_dir():
                _scan(place, found)
            else:
                _stamp(place, found)
        return found


def changed(before: Stamps, after: Stamps) -> list[str]:
    """The files that were added, removed or written, sorted."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


async def next_change(
    watched: Watched, known: Stamps, *, interval: timedelta = INTERVAL, quiet: timedelta = QUIET
) -> tuple[list[str], Stamps]:
    """Wait until files differ from ``known``, and then until they stop changing.

    Editors and version control change several files at once. The caller gets them as one change.

    Args:
        watched: Where to look.
        known: The state that the caller last acted on, so that no change is missed.
        interval: The time between two polls.
        quiet: How long the files must be unchanged.

    Returns:
        The changed paths, and the current state of the files.
    """
    now = watched.stamps()
    while now == known:
        await asyncio.sleep(interval.total_seconds())
        now = watched.stamps()
    while True:
        await asyncio.sleep(quiet.total_seconds())
        later = watched.stamps()
        if later == now:
            return changed(known, now), now
        now = later


def _scan(folder: Path | str, found: Stamps) -> None:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return  # it was removed in the meantime
    for entry in entries:
        if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS or entry.name.endswith(SKIPPED_ENDINGS):
            continue
        if entry.is_dir(follow_symlinks=False):
            _scan(entry.path, found)
        else:
            _stamp(entry.path, found)


def _stamp(path: Path | str, found: Stamps) -> None:
    try:
        status = Path(path).stat()
    except OSError:
        return
    found[os.fspath(path)] = (status.st_mtime_ns, status.st_size)


def within(paths: Iterable[str], root: Path) -> list[str]:
    """Paths relative to a folder."""
    return [os.path.relpath(path, root) for path in paths]


def shown(paths: Iterable[str], root: Path) -> str:
    """A few changed paths as one line of text."""
    names = within(paths, root)
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest


@dataclass(frozen=True, slots=True)
class DevProject:
    """A generated project.

    Attributes:
        root: Folder of PROJECT.
        package: The import package with the manager in its ``__main__``.
        python: The interpreter of its environment.
    """

    root: Path
    package: str
    python: str = sys.executable

    @property
    def crds(self) -> Path:
        """The folder of the generated CRDs."""
        return config_path(self.root, "crd/bases")

    @property
    def watched(self) -> Watched:
        """The files that affect the manager and the manifests."""
        return Watched((self.root / self.package, self.root / FILE_NAME, self.root / "pyproject.toml"))

    @property
    def generate_command(self) -> tuple[str, ...]:
        """The command that writes the manifests. It runs in a new process, which imports the edited types."""
        return (self.python, "-P", "-m", "pykb", "generate")

    def manager_command(self, arguments: tuple[str, ...], webhooks: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The command that runs the manager. Its log has a line for each reconcile.

        Probes are off by default, since two loops cannot share a port.

        Args:
            arguments: The user's flags, which win.
            webhooks: Flags about the webhook server.
        """
        logs = any(a.startswith(("--log-format", "--zap-devel", "--zap-encoder")) for a in arguments)
        lines = () if logs else (RECONCILE_LINES,)
        quiet = () if any(a.startswith("--health-probe-bind-address") for a in arguments) else (PROBES_OFF,)
        return (self.python, "-m", self.package, *quiet, *lines, *webhooks, *arguments)

    @property
    def webhook_manifest(self) -> Path:
        """The file with the generated webhook configurations."""
        return config_path(self.root, MANIFEST)

    def converted_kinds(self) -> frozenset[GroupKind]:
        """The kinds with a conversion webhook in PROJECT; empty when the file cannot be read."""
        return read(self.root)[0].converted_kinds

    def kinds(self) -> list[tuple[str, str]]:
        """The API version and the kind of each generated definition that is served; empty if they cannot be read."""
        return [kind for kind, version in self._versions() if version["storage"]]

    def schemas(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The schema of each version of these definitions; empty if they cannot be read."""
        return {kind: version.get("schema", {}).get("openAPIV3Schema", {}) for kind, version in self._versions()}

    def _versions(self) -> list[tuple[tuple[str, str], dict[str, Any]]]:
        try:
            definitions = [each["spec"] for _, each in read_crds([self.crds])] if self.crds.is_dir() else []
            return [
                ((f"{spec['group']}/{version['name']}", spec["names"]["kind"]), version)
                for spec in definitions
                for version in spec["versions"]
            ]
        except (EnvironmentProblem, OSError, ValueError, KeyError, TypeError):
            return []

    def crds_digest(self) -> str:
        """A digest of the CRDs. It changes when a definition does."""
        digest = hashlib.sha256()
        for path in sorted(self.crds.glob("*.yaml")) if self.crds.is_dir() else []:
            digest.update(path.name.encode() + b"\0" + read_bytes(path) + b"\0")
        return digest.hexdigest()

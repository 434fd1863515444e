"""The official envtest archives: binaries that the Kubernetes project publishes for every patch release."""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import yaml

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import ASSETS_CHECKSUM
from pykb.envtest.cache import (
    CONTROLLER_MANAGER,
    KUBECTL,
    SourceUnusable,
    is_exact,
    newest_of,
    pinned_archive,
    platform_name,
)
from pykb.envtest.reporter import Reporter, Step
from pykb.reading import yaml_text

INDEX = "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"
"""``releases: {v1.36.1: {<file name>: {hash: <SHA-512>, selfLink: <address>}}}``; setup-envtest reads it too."""

INDEX_VARIABLE = "PYKB_ENVTEST_INDEX"
"""The environment variable with the address of a mirror's index."""

ARCHIVE_LIMIT = 1 << 30
"""The maximum size of an archive and of each program in it, in bytes. Real ones have a tenth of that."""

CONNECT_TIMEOUT = timedelta(seconds=5)
CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Archive:
    """The source of official archives.

    Attributes:
        index: Address of the index.
        timeout: How long a connection may take to open, and how long it may be idle.
    """

    index: str = INDEX
    timeout: timedelta = CONNECT_TIMEOUT

    @property
    def title(self) -> str:
        """The name of this source, for people."""
        return "official envtest archive"

    def resolve(self, version: str) -> str:
        """Returns an exact version unchanged, and the newest one in the index for a selector."""
        return version if is_exact(version) else newest_of(version, self.versions(), place="it has no release of")

    def versions(self) -> list[str]:
        """The versions in the index."""
        return [name.removeprefix("v") for name in self._releases() if is_exact(name)]

    def get(self, version: str, programs: tuple[str, ...], folder: Path, reporter: Reporter) -> None:
        """Download, verify and unpack one archive."""
        if CONTROLLER_MANAGER in programs:
            raise SourceUnusable(f"it has no {CONTROLLER_MANAGER}")
        step = reporter.step(f"download the envtest archive of Kubernetes {version}")
        try:
            name = f"envtest-v{version}-{platform_name()}.tar.gz"
            entry = self._releases().get(f"v{version}", {}).get(name)
            if entry is None:
                raise SourceUnusable(f"it has no {name}")  # noqa: TRY301 - the step must hear of each way to fail
            with tempfile.TemporaryFile() as file:
                expected = pinned_archive(name)
                if expected is None:
                    reporter.note(f"pykb has no hash of {name}: it is checked against the index only")
                    expected = entry["hash"]
                found = self._download(entry["selfLink"], file, step)
                if found != expected:
                    raise _wrong_checksum(name, found, expected)
                file.seek(0)
                unpack(file, programs, folder)
        except (SourceUnusable, EnvironmentProblem) as reason:
            step.failed(str(reason))
            raise
        step.done()

    def _releases(self) -> dict[str, Any]:
        try:
            with self._open(self.index) as response:
                content = yaml_text.load(response.read(yaml_text.LONGEST))
            releases: dict[str, Any] = content["releases"]
        except (OSError, urllib.error.URLError) as error:
            raise SourceUnusable(f"cannot be reached: {getattr(error, 'reason', error)}") from error
        except (yaml.YAMLError, TypeError, KeyError) as error:
            raise SourceUnusable("its index cannot be read") from error
        return releases

    def _open(self, address: str) -> Any:
        if not address.startswith(("https://", "http://")):
            raise SourceUnusable(f"`{address}` is not a web address")
        return urllib.request.urlopen(address, timeout=self.timeout.total_seconds())  # noqa: S310 - just looked at

    def _download(self, address: str, file: IO[bytes], step: Step) -> str:
        digest = hashlib.sha512()
        try:
            with self._open(address) as response:
                total = int(response.headers.get("Content-Length") or 0)
                done = 0
                while chunk := response.read(CHUNK):
                    file.write(chunk)
                    digest.update(chunk)
                    done += len(chunk)
                    if done > ARCHIVE_LIMIT:
                        raise SourceUnusable(f"the archive has more than {ARCHIVE_LIMIT >> 20} MiB")
                    step.update(f"{done >> 20} of {total >> 20} MiB" if total else f"{done >> 20} MiB")
        except (OSError, urllib.error.URLError) as error:
            raise SourceUnusable(f"the download broke off: {getattr(error, 'reason', error)}") from error
        return digest.hexdigest()


def unpack(file: IO[bytes], programs: tuple[str, ...], folder: Path, *, others: tuple[str, ...] = (KUBECTL,)) -> None:
    """Extract only the programs from an archive, from any folder in it.

    The named programs are required. Others are extracted as well, so that they need not be downloaded later.

    Raises:
        SourceUnusable: A program is missing, the file is not an archive, or the folder cannot be written to.
    """
    missing = set(programs)
    try:
        with tarfile.open(fileobj=file, mode="r:gz") as archive:
            for member in archive:
                name = Path(member.name).name
                known = name in {*programs, *others} and not (folder / name).exists()
                content = archive.extractfile(member) if known and member.isfile() else None
                if content is None:
                    continue
                if member.size > ARCHIVE_LIMIT:
                    raise SourceUnusable(f"{name} in the archive has more than {ARCHIVE_LIMIT >> 20} MiB")
                target = folder / name  # only known names become paths
                with target.open("wb") as out:
                    while chunk := content.read(CHUNK):
                        out.write(chunk)
                target.chmod(0o755)
                missing.discard(name)
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # none of gzip's
            raise SourceUnusable(f"cannot write to `{folder}`: {error.strerror}") from error
        raise SourceUnusable(f"the archive cannot be read: {error}") from error
    if missing:
        raise SourceUnusable(f"the archive has no {', '.join(sorted(missing))}")


def _wrong_checksum(name: str, found: str, expected: str) -> EnvironmentProblem:
    return ASSETS_CHECKSUM.problem(
        f"`{name}` has the SHA-512 `{found[:16]}...`, expected `{expected[:16]}...`",
        "try again; if this repeats, ask your proxy administrator whether the proxy changes downloads",
        notes="the download was deleted",
    )

"""The binaries of a control plane, and the order of the places where they are looked for."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import ASSETS_ARCHIVE, ASSETS_INCOMPLETE, ASSETS_MISSING, ASSETS_VERSION
from pykb.envtest.cache import (
    APISERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KUBECTL,
    KUBERNETES,
    Cache,
    Source,
    SourceUnusable,
    VersionUnknown,
    newest,
)
from pykb.envtest.reporter import Reporter, Silent

VARIABLE = "KUBEBUILDER_ASSETS"
REQUIRED = (ETCD, APISERVER)
PROGRAMS = (*REQUIRED, KUBECTL, CONTROLLER_MANAGER)


@dataclass(frozen=True, slots=True)
class Assets:
    """A folder with the binaries of a control plane. ``etcd`` and ``kube-apiserver`` are required.

    ::

        with ControlPlane(assets=Assets(Path("/usr/local/kubebuilder/bin"))) as control_plane:
            print(control_plane.url)
    """

    folder: Path

    @property
    def etcd(self) -> Path:
        """The store."""
        return self.folder / ETCD

    @property
    def kube_apiserver(self) -> Path:
        """The API server."""
        return self.folder / APISERVER

    @property
    def kube_controller_manager(self) -> Path | None:
        """The controller manager, if it is there."""
        return self._optional(CONTROLLER_MANAGER)

    @property
    def kubectl(self) -> Path | None:
        """kubectl, if it is there."""
        return self._optional(KUBECTL)

    def _optional(self, name: str) -> Path | None:
        path = self.folder / name
        return path if is_program(path) else None


def is_program(path: Path) -> bool:
    """Whether a path is an executable file."""
    return path.is_file() and os.access(path, os.X_OK)


def named_by_environment() -> Assets | None:
    """The folder of KUBEBUILDER_ASSETS.

    Raises:
        EnvironmentProblem: A program is missing. pykb does not look elsewhere, since the variable asks for this folder.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named)
    missing = [name for name in REQUIRED if not is_program(folder / name)]
    if missing:
        lacking = " and ".join(f"`{name}`" for name in missing)
        raise ASSETS_INCOMPLETE.problem(
            f"`{VARIABLE}` is `{named}`, which has no {lacking}", f"unset {VARIABLE}, then pykb downloads the programs"
        )
    return Assets(folder)


def default_sources() -> tuple[Source, ...]:
    """The official archive, then Go modules."""
    from pykb.envtest._archive import INDEX, INDEX_VARIABLE, Archive
    from pykb.envtest._gobuild import GoModules

    return (Archive(os.environ.get(INDEX_VARIABLE) or INDEX), GoModules())


def find_assets(version: str = KUBERNETES, *, cache: Cache | None = None) -> Assets | None:
    """Find binaries on this machine, without a download: KUBEBUILDER_ASSETS, else the cache.

    ::

        if find_assets() is None:
            print("the first test downloads a control plane")

    Args:
        version: Kubernetes version, exact or a minor (the newest cached patch). Ignored for KUBEBUILDER_ASSETS.
        cache: The cache to look in. Defaults to the user's.
    """
    if named := named_by_environment():
        return named
    folder = (cache or Cache.of_user()).find(version, REQUIRED)
    return Assets(folder) if folder else None


def get_assets(
    version: str = KUBERNETES,
    *,
    kubectl: bool = False,
    controller_manager: bool = False,
    reporter: Reporter | None = None,
    cache: Cache | None = None,
    sources: tuple[Source, ...] | None = None,
) -> Assets:
    """Get the binaries of a control plane from the first source that has them.

    ::

        assets = get_assets(kubectl=True)
        with ControlPlane(assets=assets) as control_plane:
            print(assets.kubectl, control_plane.kubeconfig)

    Concurrent callers share one build, even in different processes.

    Args:
        version: Kubernetes version, exact or a minor.
        kubectl: Whether to get kubectl too. The call does not fail without it; check the result.
        controller_manager: Whether to get kube-controller-manager too. The call does not fail without it either.
        reporter: Gets the progress.
        cache: Where they are kept. Defaults to the user's cache.
        sources: The sources, in order. Defaults to the official archive, then Go modules.

    Raises:
        EnvironmentProblem: No source has them. The diagnostic has the reason of each source.
    """
    reporter = reporter or Silent()
    cache = cache or Cache.of_user()
    sources = sources if sources is not None else default_sources()
    found = find_assets(version, cache=cache)
    if found is None:
        found = _get(version, REQUIRED, reporter=reporter, cache=cache, sources=sources)
    optional = ((KUBECTL, kubectl), (CONTROLLER_MANAGER, controller_manager))
    for program in (name for name, wanted in optional if wanted and not is_program(found.folder / name)):
        if found.folder.parent == cache.folder:
            exact = cache.version_of(found.folder)
            try:
                _get(exact, (program,), reporter=reporter, cache=cache, sources=sources)
            except EnvironmentProblem as problem:
                reporter.note(f"{program} cannot be obtained: {problem}")
    return found


def available(sources: tuple[Source, ...] | None = None) -> list[str]:
    """The exact versions that can be got, of the first source that answers.

    Raises:
        EnvironmentProblem: None answers. The diagnostic has the reason of each source.
    """
    reasons: list[str] = []
    for source in sources if sources is not None else default_sources():
        try:
            return source.versions()
        except SourceUnusable as reason:
            reasons.append(f"{source.title}: {reason}")
    helps = ("`pykb envtest list` shows the versions on this machine",)
    message = "the versions of Kubernetes that there are cannot be found out"
    raise ASSETS_MISSING.problem(message, *helps, notes=tuple(reasons))


def sideload(version: str, archive: IO[bytes], reporter: Reporter, cache: Cache | None = None) -> Assets:
    """Put an archive of programs into the cache, as the named version.

    Args:
        version: An exact version.
        archive: A .tar.gz with etcd and kube-apiserver, and perhaps kubectl and kube-controller-manager.
        reporter: Gets the progress.
        cache: Defaults to the user's.

    Raises:
        EnvironmentProblem: It is not such an archive. The cache stays as it is.
    """
    from pykb.envtest._archive import unpack

    cache = cache or Cache.of_user()
    with tempfile.TemporaryFile() as file, cache.lock(version, reporter), cache.draft(version) as draft:
        shutil.copyfileobj(archive, file)  # a pipe cannot be read twice
        file.seek(0)
        try:
            unpack(file, REQUIRED, draft, others=(KUBECTL, CONTROLLER_MANAGER))
        except SourceUnusable as reason:
            raise ASSETS_ARCHIVE.problem(str(reason)) from reason
        return Assets(cache.keep(version, draft))


def _get(
    version: str,
    programs: tuple[str, ...],
    *,
    reporter: Reporter,
    cache: Cache,
    sources: tuple[Source, ...],
) -> Assets:
    reasons: list[str] = []
    known: set[str] = set()
    with cache.lock(version, reporter):
        folder = cache.find(version, (*REQUIRED, *programs))  # another caller may have got them in the meantime
        if folder is not None:
            return Assets(folder)
        for source in sources:
            exact = version
            try:
                exact = source.resolve(version)
                with cache.draft(exact) as draft:
                    source.get(exact, programs, draft, reporter)
                    return Assets(cache.keep(exact, draft))
            except SourceUnusable as reason:
                reasons.append(f"{source.title}: {reason}")
                known |= reason.known if isinstance(reason, VersionUnknown) else set()
    if known:
        raise ASSETS_VERSION.problem(
            f"there is no Kubernetes {version}",
            f"pykb envtest use {KUBERNETES}",
            notes=(*reasons, f"the newest are {', '.join(newest(known))}"),
        )
    raise ASSETS_MISSING.problem(
        f"found no {', '.join(programs)} for Kubernetes {version}", *_remedies(reasons, version), notes=tuple(reasons)
    )


def _remedies(reasons: list[str], version: str) -> tuple[str, ...]:
    if any("certificate" in reason for reason in reasons):  # in the words of OpenSSL and of Go
        return (
            "install the certificates that this system trusts (on Debian: `apt install ca-certificates`)",
            "or set SSL_CERT_FILE to a file with the certificate of your network's proxy",
        )
    remedies = (
        "check the network of this machine; behind a proxy, set HTTPS_PROXY, and GOPROXY for Go modules",
        f"or bring them from another machine: `pykb envtest sideload {version} <kubernetes.tar.gz`",
        f"or set {VARIABLE} to a folder with {', '.join(REQUIRED)}",
    )
    if shutil.which("go"):
        return remedies
    return (*remedies, "or install Go (https://go.dev/doc/install), then pykb builds them from source")

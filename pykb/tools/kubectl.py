"""Runs kubectl for what only it can do, such as logins by plugin, and renders kustomizations.

`kustomize` renders them if it is installed, else `kubectl kustomize` does.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import yaml

from pykb._regular_file import UnsuitableFileError, check_folder, read_bytes, real_path
from pykb.diagnostics.codes.environment import KUSTOMIZATION, TOOL_MISSING
from pykb.reading import mapping, yaml_text
from pykb.tools.process import Finished, find_program, run, succeeded

NAME = "kubectl"
FIELD_MANAGER = "pykb"
APPLY = ("--server-side", "--force-conflicts", f"--field-manager={FIELD_MANAGER}", "--filename=-")
"""Server-side apply, since a large CRD does not fit into the annotation of client-side apply. Conflicts are forced: the
files are the source of truth, and override changes made by hand."""

_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_FOLDERS = ("resources", "components", "bases", "generators", "transformers", "validators")
"""The fields of a kustomization that may name folders."""
_GENERATED = re.compile(r"(?:.+/)?(crd/bases/[^/]+|rbac/role\.yaml|webhook/manifests\.yaml)$")
"""What `pykb generate` writes by default."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """A kubectl with the cluster that it uses.

    Attributes:
        program: The executable.
        kubeconfig: The kubeconfig of the cluster. ``None`` means kubectl's default.
        context: The context in the kubeconfig; the current one when empty.
    """

    program: Path
    kubeconfig: Path | None = None
    context: str = ""

    @classmethod
    def find(cls, *, kubeconfig: Path | None = None, context: str = "", folders: Sequence[Path] = ()) -> Kubectl:
        """Find kubectl in ``folders`` (a control plane's binaries), else on PATH.

        Raises:
            EnvironmentProblem: kubectl was not found.
        """
        program = find_program(NAME, folders=folders)
        if program is None:
            raise TOOL_MISSING.problem(
                "`kubectl` is not installed",
                "pykb envtest use       # gets kubectl, too",
                "or see https://kubernetes.io/docs/tasks/tools/",
            )
        return cls(program, kubeconfig, context)

    def __call__(self, *arguments: str, stdin: str | None = None, timeout: timedelta | None = None) -> str:
        """Run kubectl and return its stdout.

        Raises:
            EnvironmentProblem: kubectl failed. The diagnostic quotes its output.
        """
        return self.run(*arguments, stdin=stdin, timeout=timeout).stdout

    def run(self, *arguments: str, stdin: str | None = None, timeout: timedelta | None = None) -> Finished:
        """Run kubectl, which must succeed."""
        return succeeded(run(self.command(arguments), stdin=stdin, timeout=timeout))

    def attempt(self, *arguments: str, stdin: str | None = None) -> Finished:
        """Run kubectl, which may fail."""
        return run(self.command(arguments), stdin=stdin)

    def command(self, arguments: Sequence[str]) -> tuple[str | Path, ...]:
        """The whole command line of kubectl for this cluster."""
        cluster = ("--kubeconfig", str(self.kubeconfig)) if self.kubeconfig else ()
        context = ("--context", self.context) if self.context else ()
        return (self.program, *cluster, *context, *arguments)

    def apply(self, manifests: str) -> str:
        """Apply manifests. Returns what changed."""
        return self("apply", *APPLY, stdin=manifests)


def _kustomize_command(*, folders: Sequence[Path]) -> tuple[str, ...]:
    """The command that renders a folder. The caller appends the folder.

    Args:
        folders: Folders to search before PATH (a control plane's binaries).

    Raises:
        EnvironmentProblem: Neither program was found.
    """
    if program := find_program("kustomize", folders=folders):
        return (str(program), "build")
    if program := find_program(NAME, folders=folders):
        return (str(program), "kustomize")
    raise TOOL_MISSING.problem(
        "neither `kustomize` nor `kubectl` is installed",
        "pykb envtest use       # gets kubectl, too",
        "or see https://kubectl.docs.kubernetes.io/installation/",
        notes="either can render a kustomization",
    )


def build_kustomization(folder: Path, *, root: Path | None = None, folders: Sequence[Path] = ()) -> str:
    """Render a kustomization to manifests.

    Args:
        folder: The folder of its ``kustomization.yaml``.
        root: The project. Messages name files relative to it. Defaults to the parent of the folder's parent.
        folders: Folders to search for the programs before PATH.

    Raises:
        EnvironmentProblem: No program was found, or it failed. The diagnostic names a missing file, one that is not a
            regular file, or quotes the program's output.
    """
    root = real_path(root) if root else real_path(folder).parent.parent
    for each in _read_folders(folder, root):
        check_kustomization(each, root=root)
    done = run((*_kustomize_command(folders=folders), folder))
    if not done.ok and (missing := next(_missing_files(folder, set()), None)) is not None:
        path = os.path.relpath(missing, root)
        helps = ("pykb generate     # writes CRDs, roles and webhooks",) if _GENERATED.match(path) else ()
        raise KUSTOMIZATION.problem(f"{os.path.relpath(folder, root)} needs `{path}`, which does not exist", *helps)
    return succeeded(done).stdout


def check_kustomization(folder: Path, *, root: Path) -> None:
    """Check that kustomize, which reads this folder itself, finds neither devices nor pipes in it.

    Args:
        folder: The folder, with those below it.
        root: The project, for the names of files in messages.

    Raises:
        EnvironmentProblem: There is such a file, or one that is too large.
    """
    try:
        check_folder(folder)
    except UnsuitableFileError as error:
        path = os.path.relpath(error.filename, root)
        message = f"kustomize cannot read `{path}`: {error.strerror}"
        raise KUSTOMIZATION.problem(message, f"rm {shlex.quote(path)}") from error


def _read_folders(folder: Path, root: Path) -> Iterator[Path]:
    """The folders of the project that kustomize reads: this one, and all that kustomizations name."""
    seen: set[Path] = set()
    left = [real_path(folder)]
    while left:
        place = left.pop()
        if place in seen:
            continue
        seen.add(place)
        yield place  # checked before it is read here
        for name in _KUSTOMIZATIONS:
            try:
                content = yaml_text.load(read_bytes(place / name))
            except (OSError, yaml.YAMLError):
                continue  # kustomize says what is wrong with it
            lists = [found for key in _FOLDERS if isinstance(found := mapping(content).get(key), list)]
            paths = [place / text for names in lists for text in names if isinstance(text, str)]
            left += [real_path(path) for path in paths if _is_folder(path) and real_path(path).is_relative_to(root)]


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False


def _missing_files(folder: Path, seen: set[Path]) -> Iterator[Path]:
    """The files that a kustomization and those in it name, and that do not exist."""
    folder = real_path(folder)
    if folder in seen:
        return
    seen.add(folder)
    try:
        content = yaml_text.load(read_bytes(folder / "kustomization.yaml"))
    except (OSError, yaml.YAMLError):
        return
    named = mapping(content).get("resources")
    for name in named if isinstance(named, list) else ():
        path = folder / str(name)
        if path.is_dir():
            yield from _missing_files(path, seen)
        elif "://" not in str(name) and path.suffix in (".yaml", ".yml") and not path.exists():
            yield path

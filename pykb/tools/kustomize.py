"""Renders kustomizations to manifests, with `kustomize` if it is installed, else with `kubectl kustomize`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import TOOL_MISSING
from pykb.tools import kubectl
from pykb.tools.process import check, find_program

NAME = "kustomize"


def kustomize_command(*, folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """The command that renders a folder. The caller appends the folder.

    Args:
        folders: Folders to search before PATH (a control plane's binaries).

    Raises:
        EnvironmentProblem: Neither program was found.
    """
    if program := find_program(NAME, folders=folders):
        return (str(program), "build")
    if program := find_program(kubectl.NAME, folders=folders):
        return (str(program), "kustomize")
    raise EnvironmentProblem(
        TOOL_MISSING.at(
            None,
            "neither `kustomize` nor `kubectl` is installed",
            notes=("either can render a kustomization",),
            help=(
                "pykb envtest use       # gets kubectl, too",
                "or see https://kubectl.docs.kubernetes.io/installation/",
            ),
        )
    )


def build(folder: Path, *, folders: Sequence[Path] = ()) -> str:
    """Render a kustomization to manifests.

    Args:
        folder: The folder of its ``kustomization.yaml``.
        folders: Folders to search for the programs before PATH.

    Raises:
        EnvironmentProblem: No program was found, or it failed. The diagnostic quotes its output.
    """
    return check((*kustomize_command(folders=folders), folder)).stdout

"""Finds and reads the project of a command. Repairs it first if a command was killed in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pykb import __version__
from pykb.cli.errors import EXIT_FINDINGS, EXIT_USAGE, finish, report
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import KUBECONFIG_UNUSABLE
from pykb.diagnostics.codes.project import PROJECT_CLI_VERSION, PROJECT_MISSING, PROJECT_OWNER
from pykb.project import FILE_NAME
from pykb.project.cli_version import numbers

if TYPE_CHECKING:
    from pykb.project.file import Project


def find_root() -> Path | None:
    """The folder of PROJECT: the working directory or its nearest parent that has the file.

    Raises:
        EnvironmentProblem: The parent belongs to another user. A command would run that user's
            code.
    """
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / FILE_NAME).is_file()), None)
    if root is not None and root != here and not _is_trusted(root):
        raise EnvironmentProblem(
            PROJECT_OWNER.at(
                None,
                f"this directory is in the project `{root}`, which belongs to another user",
                notes=("nothing was read or written",),
                help=(f"if you trust it, run the command there: `cd {root}`",),
            )
        )
    return root


def _is_trusted(root: Path) -> bool:
    """Whether a folder and its PROJECT belong to the current user or to root."""
    return all(path.lstat().st_uid in {0, os.geteuid()} for path in (root, root / FILE_NAME))


def settle(root: Path, *, writes: bool) -> None:
    """Complete or undo the changes of a killed command.

    Commands that write nothing only report them.

    Raises:
        EnvironmentProblem: The command writes, and the changes can be neither completed nor undone.
    """
    if not any(root.glob(".pykb/transaction*")):  # saves the imports
        return
    from pykb.files.apply import pending, recover

    note = recover(root) if writes else pending(root)
    if note is not None:
        finish([note])


def require_project(*, writes: bool, updates: bool = False) -> tuple[Path, Project]:
    """Read the project. If there is none or PROJECT is invalid, end the command with a finding.

    ``writes`` says whether the command changes files. If so, the pykb that the project pins runs
    the command, unless it ``updates`` the project to this pykb. See also :func:`settle`.
    """
    from pykb.cli.environment import hand_over
    from pykb.project.file import read
    from pykb.project.names import check

    root = find_root()
    if root is None:
        finding = PROJECT_MISSING.at(
            None,
            "no project was found: no file `PROJECT` in this directory or its parents",
            help=("to start one: `pykb init --domain example.com`",),
        )
        finish([finding], code=EXIT_USAGE)
        raise typer.Exit(EXIT_USAGE)
    if writes and not updates:
        hand_over(root)
    settle(root, writes=writes)
    project, found = read(root)
    finish(found)
    finish(check(project))
    if not updates:
        _compare_versions(project)
    return root, project


def existing_kubeconfig(given: Path | None) -> Path | None:
    """Expand the path of a kubeconfig option.

    If the file does not exist, end the command with a finding.
    """
    if given is None or given.expanduser().is_file():
        return given and given.expanduser()
    finish([KUBECONFIG_UNUSABLE.at(None, f"there is no kubeconfig `{given}`")])
    raise typer.Exit(EXIT_FINDINGS)


def _compare_versions(project: Project) -> None:
    """Report that another version of pykb made the project. The user decides what to do."""
    made, here = numbers(project.cli_version), numbers(__version__)
    if not made or made == here:
        return
    older = made < here
    helps = (
        "to bring it to this version: `pykb update`"
        if older
        else f"to get it: `pip install 'pykubebuilder[cli]=={project.cli_version}'`",
        "to use the project's own: `.venv/bin/pykb`",
    )
    message = (
        f"the project was made by pykb {project.cli_version}, this is the {'newer' if older else 'older'} {__version__}"
    )
    report([PROJECT_CLI_VERSION.at(project.place("cliVersion"), message, help=helps)])

"""Finds and reads the project of a command, and hands over to the pykb of its own environment.

Repairs the project first if a command was killed in it.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pykb import __version__
from pykb._regular_file import read_settings
from pykb.cli import console
from pykb.cli.errors import finish, flush, refuse, report
from pykb.diagnostics import NOTHING_WRITTEN
from pykb.diagnostics.codes.environment import ENVIRONMENT_OUTDATED, KUBECONFIG_UNUSABLE
from pykb.diagnostics.codes.project import PROJECT_CLI_VERSION, PROJECT_MISSING
from pykb.project import find_root, version_numbers

if TYPE_CHECKING:
    from pykb.project.file import Project


def settle(root: Path, *, writes: bool, updates: bool = False) -> None:
    """Complete or undo the changes of a killed command, and restore the wheel that the project pins.

    Commands that write nothing only report the former. An update replaces the wheel.

    Raises:
        EnvironmentProblem: The command writes, and the changes can be neither completed nor undone.
    """
    if any(root.glob(".pykb/transaction*")):  # saves the imports
        _settle(root, writes=writes)
    if writes and not updates:
        _restore_wheel(root)


def _settle(root: Path, *, writes: bool) -> None:
    from pykb.files.apply import pending, recover

    def completes(left: str) -> bool:
        question = f"the previous command was interrupted: {left}. Write them? Else its changes are undone"
        return not console.is_interactive() or console.confirm(question, default=True)

    note = recover(root, completes=completes) if writes else pending(root)
    if note is not None:
        finish([note])


def _restore_wheel(root: Path) -> None:
    """Restore the wheel that a project pins in a copy without it."""
    from pykb.scaffold.locate import WHEEL, is_from_index

    if is_from_index() or (root / WHEEL).exists():
        return
    from pykb.scaffold.distribution import restore

    restored = restore(root)
    if restored is not None:
        console.say(f"note: restored {restored}: no package index has this version of pykb")


def require_project(*, writes: bool, updates: bool = False, imports: bool = False) -> tuple[Path, Project]:
    """Read the project. If there is none or PROJECT is invalid, end the command with a finding.

    ``writes`` says whether the command changes files, and ``imports`` whether it runs the project's
    code. If so, the pykb of the project's environment runs the command, unless it ``updates`` the
    project to this pykb. See also :func:`settle`.
    """
    from pykb.project.file import check, read

    root = find_root()
    if root is None:
        message = "no project was found: no file `PROJECT` in this directory or its parents"
        refuse(message, "to start one: `pykb init --domain example.com`", kind=PROJECT_MISSING)
    if (writes and not updates) or imports:
        hand_over(root)
    settle(root, writes=writes, updates=updates)
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
    raise KUBECONFIG_UNUSABLE.problem(f"there is no kubeconfig `{given}`")


def _compare_versions(project: Project) -> None:
    """Report that another version of pykb made the project. The user decides what to do."""
    made, here = version_numbers(project.cli_version), version_numbers(__version__)
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
    report([PROJECT_CLI_VERSION.at(project.place("cliVersion"), message, *helps)])


_GUARD = "PYKB_HANDED_OVER"


def own_pykb(root: Path) -> tuple[str, ...] | None:
    """The command that runs the pykb in a project's ``.venv``. ``None`` if it has none.

    It runs pykb through the environment's Python, since installed scripts contain an absolute path
    that is wrong after the project was moved. It leaves the working directory off the import path,
    where a user's file could hide a module.
    """
    environment = root / ".venv"
    folder = environment / ("Scripts" if os.name == "nt" else "bin")
    python = folder / ("python.exe" if os.name == "nt" else "python")
    if _version(environment) is None or not os.access(python, os.X_OK):
        return None
    return (str(python), "-P", "-m", "pykb")


def hand_over(root: Path) -> None:
    """Run this command line with the pykb in the project's ``.venv``, in place of this process.

    Returns if this is that pykb already. If ``.venv`` has no pykb, says so and returns. If pyproject.toml pins another
    one than ``.venv`` has, the pinned one runs the command: this one, or none.

    Raises:
        EnvironmentProblem: Neither this pykb nor that of ``.venv`` is the pinned one.
    """
    environment = root / ".venv"
    if not environment.is_dir() or _GUARD in os.environ:
        return
    is_own = Path(sys.prefix).resolve() == environment.resolve()
    words = own_pykb(root)
    if words is None and not is_own:
        console.say(f"note: .venv has no pykb that runs; using pykb {__version__} of {sys.prefix}")
        return
    theirs = __version__ if is_own else _version(environment)
    pinned = pinned_version(root)
    if pinned not in {None, theirs}:
        message = f"pyproject.toml pins pykb {pinned}, and .venv has {theirs}"
        if pinned != __version__:
            helps = ("`make environment` installs the pinned one",)
            raise ENVIRONMENT_OUTDATED.problem(message, *helps, notes=NOTHING_WRITTEN)
        console.say(f"note: {message}: using this one, which is pinned; `make environment` brings .venv up to date")
        return
    if is_own or words is None:
        return
    if theirs != __version__:
        console.say(f"note: this is pykb {__version__}, the project's is {theirs}: using the project's")
    flush()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(words[0], [*words, *console.settings.argv], {**os.environ, _GUARD: "1"})  # noqa: S606 - the project's own program


def pinned_version(root: Path) -> str | None:
    """The version of pykb that pyproject.toml requires. ``None`` unless it is one exact version."""
    try:
        text = read_settings(root).decode()
    except (OSError, UnicodeDecodeError):
        return None
    wanted = re.findall(r"""["']pykubebuilder(?:\[[^]"'\n]*\])?(?![\w.-]) *([^"'\n;]*)""", text)
    found = {"".join(each.split()) for each in wanted}
    only = found.pop() if len(found) == 1 else ""
    return only.removeprefix("==") if only.startswith("==") and "*" not in only and "," not in only else None


def _version(environment: Path) -> str | None:
    """The version of pykb in an environment, from the name of its metadata directory."""
    for pattern in ("lib/python3*/site-packages", "Lib/site-packages"):
        for folder in sorted(environment.glob(f"{pattern}/pykubebuilder-*.dist-info")):
            return folder.name.removeprefix("pykubebuilder-").removesuffix(".dist-info")
    return None

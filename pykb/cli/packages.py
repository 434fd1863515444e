"""``pykb environment``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli.errors import finish

if TYPE_CHECKING:
    from pykb.tools.pip import Wanted

LOCK_FILE = "requirements-dev.txt"


def environment(
    group: Annotated[str, typer.Option(metavar="NAME", help="The group of `dependency-groups` to install.")] = "dev",
) -> None:
    """Install what pyproject.toml requires into the project's environment, `.venv`.

    If `make lock` wrote requirements-dev.txt, everything in it is installed instead, with its hashes checked. What is
    no longer required is uninstalled. The Makefile calls this when one of the two files has changed.

    Examples:
      pykb environment
      pykb environment --group pykb
    """
    from pykb.cli.progress import ProgressReporter
    from pykb.cli.project import require_project
    from pykb.diagnostics import EnvironmentProblem
    from pykb.diagnostics.codes.environment import ENVIRONMENT_MISSING
    from pykb.tools.pip import Environment

    root, _ = require_project(writes=False)
    wanted = _wanted(root, group)
    own = Environment(root / ".venv")
    if not own.python.exists():
        helps = ("to create it: `make environment`",)
        raise EnvironmentProblem(ENVIRONMENT_MISSING.at(None, "there is no Python in `.venv`", help=helps))
    with ProgressReporter() as reporter, own.lock():
        if own.lacks(wanted):
            step = reporter.step(f"install the packages of {LOCK_FILE if wanted.lock else f'the group `{group}`'}")
            own.update(wanted)
            step.done()


def _wanted(root: Path, group: str) -> Wanted:
    """The packages of the lock file, or else of pyproject.toml. Ends the command if it cannot be read."""
    from pykb.diagnostics import Diagnostics
    from pykb.project.requirements import read_requirements
    from pykb.tools.pip import Wanted, locked

    found = Diagnostics()
    own = read_requirements(root, group, found)
    finish(found)
    wheels = root / ".pykb/wheels"
    place = wheels if wheels.is_dir() else None
    lock = root / LOCK_FILE
    if lock.is_file():
        return Wanted(locked(lock), lock=lock, wheels=place)
    return Wanted(own, others=read_requirements(root, None, Diagnostics()), wheels=place)

"""``pykb version`` with options, and ``pykb completion``. :mod:`pykb.__main__` prints the plain version."""

from __future__ import annotations

import platform
from enum import StrEnum
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Annotated

import typer

from pykb import __version__
from pykb.cli import console


def version() -> None:
    """Print the version of pykb, and with options what it runs on.

    Examples:
      pykb version
      pykb version --verbose
      pykb version --format json
    """
    facts = {
        "pykb": __version__,
        "kopf": _installed("kopf"),
        "pydantic": _installed("pydantic"),
        "python": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    if console.data(facts):
        return
    if not console.settings.verbose:
        console.out(f"pykb {__version__}")
        return
    for name, value in facts.items():
        console.out(f"{name} {value}")


def _installed(name: str) -> str:
    try:
        return installed(name)
    except PackageNotFoundError:
        return "not installed"


class Shell(StrEnum):
    """The supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell to print it for.")],
) -> None:
    """Print the completion script of a shell. `pykb --install-completion` installs it.

    Examples:
      source <(pykb completion bash)
      pykb completion fish > ~/.config/fish/completions/pykb.fish
    """
    from typer._completion_shared import get_completion_script

    console.out(get_completion_script(prog_name="pykb", complete_var="_PYKB_COMPLETE", shell=str(shell)))

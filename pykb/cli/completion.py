"""``pykb completion``: prints a completion script, like ``--show-completion``.

As in kubebuilder.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pykb.cli import console


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

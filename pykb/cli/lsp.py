"""``pykb lsp``: the language server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pykb.cli import console
from pykb.cli.errors import finish
from pykb.cli.project import own_pykb


def lsp(
    *,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Check the whole project when a file is saved. This imports its modules.")
    ] = False,
    answer: Annotated[
        bool, typer.Option("--answer", hidden=True, help="Answer a question of the language server from stdin.")
    ] = False,
) -> None:
    """Run the language server for markers. Editors start it, and speak with it over stdin and stdout.

    It finds mistakes in markers while you type, completes their names, arguments and values, explains them, and
    offers fixes. It needs the extra `lsp`: `pip install 'pykubebuilder[cli,lsp]'`.

    Examples:
      pykb lsp
      pykb lsp --trusted
    """
    if answer:
        from pykb.lsp._kinds import answer as answered

        console.out(answered(Path.cwd(), sys.stdin.buffer.read()))
        return
    try:
        from pykb.lsp.server import Server
    except ImportError as error:
        from pykb.diagnostics.codes.environment import TOOL_MISSING

        message = f"the language server needs packages that are not installed: {error}"
        finish([TOOL_MISSING.at(None, message, "pip install 'pykubebuilder[cli,lsp]'")])
        return

    def program(root: Path) -> tuple[str, ...]:
        return own_pykb(root) or (sys.executable, "-P", "-m", "pykb")

    Server(program, is_trusted=trusted).run()

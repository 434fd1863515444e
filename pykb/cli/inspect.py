"""``pykb inspect``: the page of ``pykb dev`` for a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pykb.cli import console
from pykb.cli.dev import Port


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recording.", show_default=False)],
    port: Port = 0,
) -> None:
    """Show a recording on the page of `pykb dev`, read-only, until Ctrl-C.

    `pykb dev --record FILE` makes one. It has what the page showed: reconciles, objects, restarts. Only you can open
    the page at the printed address.

    Examples:
      pykb inspect bug.jsonl
      pykb inspect --port 8000 bug.jsonl
    """
    import asyncio

    from pykb.cli.errors import report
    from pykb.dev.inspection import show_recording
    from pykb.dev.page.recording import read_recording

    history, notes = read_recording(file)
    report(notes)
    asyncio.run(show_recording(history, port, console.out))

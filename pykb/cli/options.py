"""Options shared by several commands."""

from __future__ import annotations

from typing import Annotated

import typer

from pykb.cli import candidates

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only list what would be written.")]
Diff = Annotated[bool, typer.Option("--diff", help="Only show what would be written, as a diff.")]
Plugins = Annotated[
    str, typer.Option(metavar="KEYS", help="Plugins to use instead of the default ones, separated by commas.")
]
Group = Annotated[str, typer.Option(help="API group without the domain.", autocompletion=candidates.groups)]
Kind = Annotated[str, typer.Option(help="The kind, in PascalCase.", autocompletion=candidates.kinds)]


def listed(text: str) -> tuple[str, ...]:
    """The items of a comma-separated list."""
    return tuple(part.strip() for part in text.split(",") if part.strip())

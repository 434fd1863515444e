"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only list what would be written.")]
Diff = Annotated[bool, typer.Option("--diff", help="Only show what would be written, as a diff.")]
Plugins = Annotated[str, typer.Option(metavar="KEYS", help="Plugins in place of the default ones, joined by commas.")]


def listed(text: str) -> tuple[str, ...]:
    """The members of a list joined by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())

"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Sequence
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
HubVersion = Annotated[
    str, typer.Option(help="API version. For a conversion, the hub.", autocompletion=candidates.versions)
]
Make = Annotated[bool, typer.Option("--make/--no-make", help="Generate the manifests afterwards.")]


_OURS = {"--plugins": True, "--format": True, "--dry-run": False, "--diff": False, "--verbose": False}
"""Options that choose plugins or how pykb shows its work, and whether each takes a value."""


def plugin_args(argv: Sequence[str]) -> tuple[str, ...]:
    """The options of a command line that plugins see.

    >>> plugin_args(["create", "api", "--kind", "Disk", "--plugins", "python,notes", "--dry-run", "--force"])
    ('--kind', 'Disk', '--force')
    """
    words = iter(argv)
    out: list[str] = []
    for word in words:
        name, equals, _ = word.partition("=")
        if name in _OURS:
            if _OURS[name] and not equals:
                next(words, None)
        elif word.startswith("-") or out:
            out.append(word)
    return tuple(out)


def listed(text: str) -> tuple[str, ...]:
    """The items of a comma-separated list."""
    return tuple(part.strip() for part in text.split(",") if part.strip())

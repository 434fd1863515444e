"""Writes the pages of docs/reference that are made from the code: `python -m hack.write_reference`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hack import command_line, diagnostics, markers, metrics, semantics
from pykb.diagnostics.codes import all_codes
from pykb.markers.registry import builtin_registry

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "cli.md": command_line.commands,
    "diagnostics.md": lambda: diagnostics.render(all_codes().values()),
    "flags.md": command_line.flags,
    "markers.md": lambda: markers.render(builtin_registry()),
    "metrics.md": metrics.render,
    "semantics.md": lambda: semantics.render(semantics.read_table()),
}


def main() -> None:
    """Write the pages."""
    for name, render in PAGES.items():
        (FOLDER / name).write_text(render(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()

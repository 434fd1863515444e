"""Writes pages of docs/reference from the code: markers, diagnostics, semantics. Runs from any folder."""

from __future__ import annotations

from pathlib import Path

import semantics

from pykb.diagnostics import render as diagnostics
from pykb.diagnostics.codes import all_codes
from pykb.markers import reference as markers
from pykb.markers.registry import builtin_registry

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    pages = {
        "markers.md": markers.render_reference(builtin_registry()),
        "diagnostics.md": diagnostics.render_reference(all_codes().values()),
        "semantics.md": semantics.render(semantics.read_table()),
    }
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()

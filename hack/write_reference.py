"""Writes docs/reference/markers.md and docs/reference/diagnostics.md from the registries. Run it from anywhere."""

from __future__ import annotations

from pathlib import Path

from pykb.diagnostics import reference as diagnostics
from pykb.diagnostics.codes import all_codes
from pykb.markers import reference as markers
from pykb.markers.registry import builtin_registry

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"


def main() -> None:
    """Write both pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    pages = {
        "markers.md": markers.render_reference(builtin_registry()),
        "diagnostics.md": diagnostics.render_reference(all_codes().values()),
    }
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()

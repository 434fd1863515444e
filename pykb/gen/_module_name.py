"""Which directory and which name a file is imported by. Avoids hiding modules of the standard library."""

from __future__ import annotations

import sys
from pathlib import Path

RESERVED = sys.stdlib_module_names | {"pykb", "pydantic", "pydantic_core"}
"""Names of the standard library and of packages in use while types are imported."""


def module_name(path: Path, root: Path) -> tuple[Path, str]:
    """The directory to import from, and the dotted name.

    Packages are the directories with an ``__init__.py``. A file outside of a package is a top-level module. If its
    name, or that of a file beside it, is one of Python's own (``types.py``), the folder counts as a package. Otherwise
    Python's module would be imported in its place.

    Args:
        path: A Python file.
        root: The project. Nothing outside of it is imported.
    """
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    while folder != root and folder.name.isidentifier() and _hides_others(folder):
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _hides_others(folder: Path) -> bool:
    return any(
        entry.stem in RESERVED and (entry.suffix == ".py" or (entry / "__init__.py").exists())
        for entry in folder.iterdir()
    )

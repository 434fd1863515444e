"""Where a file is imported from, and by which name, without taking the place of a module that everybody needs."""

from __future__ import annotations

import sys
from pathlib import Path

RESERVED = sys.stdlib_module_names | {"pykb", "pydantic", "pydantic_core"}
"""Names that belong to Python's library and to what runs while types are imported."""


def module_name(path: Path, root: Path) -> tuple[Path, str]:
    """The directory to import from, and the dotted name.

    Packages are the directories with an ``__init__.py``. A file of none is a module of its own, by its plain name.
    Where that, or the name of a file beside it, is one of Python's own (``types.py``), the folder counts as a package,
    too: imported plainly, it would be taken for Python's.

    Args:
        path: A Python file.
        root: The project, which nothing is imported from outside of.
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

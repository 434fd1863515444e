"""Where the templates are: inside the package of an installed pykb, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

import pykb
from pykb.diagnostics import InternalError

PACKAGE = Path(pykb.__file__).resolve().parent


def templates() -> Path:
    """The folder with ``project`` and ``files``.

    Raises:
        InternalError: This pykb was installed without its templates.
    """
    for folder in (PACKAGE / "_templates", PACKAGE.parent / "templates"):
        if (folder / "project" / "cookiecutter.json").is_file():
            return folder
    raise InternalError(f"pykb at {PACKAGE} has no templates: it was packaged without them")


def checkout() -> Path | None:
    """The checkout that this pykb runs from, or ``None`` when it is installed."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "templates").is_dir() else None


def is_bytecode(path: Path) -> bool:
    """Whether Python made this file of another one. Installers compile templates, too, and name their own paths in it."""
    return path.parent.name == "__pycache__" or path.suffix in {".pyc", ".pyo"}

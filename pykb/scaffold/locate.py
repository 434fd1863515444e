"""Where this pykb is and comes from. Its templates are inside an installed package, and beside that of a checkout."""

from __future__ import annotations

from pathlib import Path

import pykb
from pykb.diagnostics import InternalError

NAME = "pykubebuilder"
"""The distribution."""

WHEEL = f".pykb/wheels/{NAME}-{pykb.__version__}-py3-none-any.whl"
"""Where a project has the wheel of this pykb, if no index has it."""

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


def is_from_index() -> bool:
    """Whether this pykb was installed from a package index, so that its version says everything.

    PEP 610: an installation from a folder, an archive or a repository has ``direct_url.json``. It is looked for by
    path, since every command asks and ``importlib.metadata`` takes longer to import than that.
    """
    described = list(PACKAGE.parent.glob(f"{NAME}-*.dist-info"))
    return bool(described) and checkout() is None and not any((info / "direct_url.json").exists() for info in described)


def is_bytecode(path: Path) -> bool:
    """Whether Python made this file of another. Installers compile templates, too, and name their own paths in it."""
    return path.parent.name == "__pycache__" or path.suffix in {".pyc", ".pyo"}

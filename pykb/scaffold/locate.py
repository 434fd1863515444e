"""Where this pykb is installed and where it comes from.

Templates are inside an installed package, or beside the package in a checkout.
"""

from __future__ import annotations

from pathlib import Path

import pykb
from pykb.diagnostics import InternalError

NAME = "pykubebuilder"
"""The name of the distribution."""

WHEEL = f".pykb/wheels/{NAME}-{pykb.__version__}-py3-none-any.whl"
"""The folder of a project for the wheel of a pykb that is not on an index."""

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


def reference() -> Path:
    """The folder with the pages of ``docs/reference``, which ``pykb explain`` shows."""
    folder = PACKAGE / "_reference"
    return folder if folder.is_dir() else PACKAGE.parent / "docs" / "reference"


def checkout() -> Path | None:
    """The checkout that this pykb runs from, or ``None`` when it is installed."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "templates").is_dir() else None


def is_from_index() -> bool:
    """Whether this pykb was installed from a package index, so that its version identifies it.

    PEP 610: an installation from a folder, an archive or a repository has ``direct_url.json``. This looks
    for its path, since every command calls it and ``importlib.metadata`` is slow to import.
    """
    described = list(PACKAGE.parent.glob(f"{NAME}-*.dist-info"))
    return bool(described) and checkout() is None and not any((info / "direct_url.json").exists() for info in described)

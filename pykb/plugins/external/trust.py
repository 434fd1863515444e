"""Which external plugins the user has named in a copy of a project. PROJECT alone does not make pykb run a program."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pykb.files.state import remember, remembered
from pykb.plugins.external.find import installed

_FILE = "plugins"


def trust(root: Path, named: Iterable[str]) -> None:
    """Remember the external plugins that a command line named."""
    words = list(named)
    keys = [str(key) for key in installed() if any(key.answers_to(word) for word in words)] if words else []
    if set(keys) - trusted(root):
        remember(root, _FILE, keys)


def trusted(root: Path) -> frozenset[str]:
    """The keys of the plugins that this user named in this copy."""
    return remembered(root, _FILE)

"""The values that a shell completes for options: names of the project, and pykb's own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykb.project.resource import Resource

_WORD = re.compile(r"[\w.+:-]+")
"""Characters that no shell treats specially. PROJECT may contain any others."""


def groups(incomplete: str) -> list[str]:
    """The API groups of the project."""
    return _beginning(incomplete, (resource.group for resource in _resources()))


def versions(incomplete: str) -> list[str]:
    """The API versions of the project."""
    return _beginning(incomplete, (resource.version for resource in _resources()))


def kinds(incomplete: str) -> list[str]:
    """The kinds of the project."""
    return _beginning(incomplete, (resource.kind for resource in _resources()))


def controllers(incomplete: str) -> list[str]:
    """The names of the controllers of the project."""
    return _beginning(incomplete, (name for resource in _resources() for name in resource.controllers))


def explained(incomplete: str) -> list[str]:
    """The codes of messages or, after a `+`, the names of markers."""
    if incomplete.startswith("+"):
        from pykb.markers.registry import builtin_registry

        return _beginning(incomplete, (f"+{marker.name}" for marker in builtin_registry()))
    from pykb.diagnostics.codes import all_codes

    return _beginning(incomplete, iter([*all_codes(), "markers"]))


def explorer_codes(incomplete: str) -> list[str]:
    """The codes of the explorer. Those before a comma are typed already."""
    from pykb.diagnostics.codes.explore import ADVICE

    typed, comma, last = incomplete.rpartition(",")
    return [f"{typed}{comma}{code}" for code in _beginning(last, iter(ADVICE))]


def histories(incomplete: str) -> list[str]:
    """The histories of the last findings, relative to the working directory."""
    from pykb.cli.project import find_root
    from pykb.files.state import EXPLORED, STATE

    root = find_root()
    if root is None:
        return []
    folder = root / STATE / EXPLORED
    found = [os.path.relpath(each) for each in folder.glob("*.json") if _WORD.fullmatch(each.name)]
    return sorted(path for path in found if path.startswith(incomplete))


def _beginning(incomplete: str, names: Iterator[str]) -> list[str]:
    return sorted({name for name in names if _WORD.fullmatch(name) and name.startswith(incomplete)})


def _resources() -> tuple[Resource, ...]:
    """The resources in PROJECT.

    Empty if it cannot be read, since a completion cannot show errors.
    """
    from pykb.cli.project import find_root
    from pykb.diagnostics import EnvironmentProblem
    from pykb.project.file import read

    try:
        root = find_root()
        return read(root)[0].resources if root is not None else ()
    except (OSError, EnvironmentProblem):
        return ()

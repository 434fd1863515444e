"""The packages that a project requires: the dependencies and dependency groups (PEP 735) of its pyproject.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.project import REQUIREMENTS
from pykb.diagnostics.suggest import closest
from pykb.meta.names import normalized
from pykb.reading import TomlError, read_toml

FILE = "pyproject.toml"


def read_requirements(root: Path, group: str | None, found: Diagnostics) -> tuple[str, ...]:
    """Read the dependencies of the project, then those of a group and of the groups that it includes.

    Args:
        root: The folder of the project.
        group: The name of a dependency group. ``None`` means all groups.
        found: Gets the mistakes in the file.
    """
    try:
        table = read_toml((root / FILE).read_bytes())
    except OSError as error:
        found.add(REQUIREMENTS.at(None, f"cannot read `{FILE}`: {error.strerror}"))
        return ()
    except TomlError as error:
        found.add(REQUIREMENTS.at(Span(FILE, error.line, error.column), str(error)))
        return ()
    own, groups = _table(table, "project").get("dependencies", []), _table(table, "dependency-groups")
    known = {normalized(name): entries for name, entries in groups.items()}
    entries = list(_listed("project.dependencies", own))
    for name in known if group is None else (group,):
        entries += _entries(known, name, ())
    found.extend(entry for entry in entries if isinstance(entry, Diagnostic))
    return tuple(dict.fromkeys(entry for entry in entries if isinstance(entry, str)))


def _entries(groups: Mapping[str, Any], name: str, above: tuple[str, ...]) -> Iterator[str | Diagnostic]:
    own = normalized(name)
    if own in above:
        yield _wrong(f"the dependency group `{name}` includes itself")
        return
    if own not in groups:
        near = closest(own, groups)
        yield _wrong(f"there is no dependency group `{name}`", f"did you mean `{near}`?" if near else "")
        return
    for entry in _listed(f"dependency-groups.{name}", groups[own], tables=True):
        if isinstance(entry, dict):
            yield from _entries(groups, str(entry.get("include-group", "")), (*above, own))
        else:
            yield entry


def _listed(key: str, value: object, *, tables: bool = False) -> Iterator[Any]:
    """The members of a list: requirements, tables that include a group, or what is wrong with it."""
    if not isinstance(value, list):
        yield _wrong(f"`{key}` takes a list of requirements")
        return
    for entry in value:
        fits = isinstance(entry, str) or (tables and isinstance(entry, dict))
        yield entry if fits else _wrong(f"`{key}` takes requirements, which are strings, found `{entry}`")


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = table.get(key, {})
    return found if isinstance(found, dict) else {}


def _wrong(message: str, *helps: str) -> Diagnostic:
    return REQUIREMENTS.at(None, f"`{FILE}`: {message}", help=tuple(filter(None, helps)))

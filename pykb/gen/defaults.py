"""What the project itself says about generation: a few keys of PROJECT, and ``[tool.pykb.generate]`` of pyproject.toml.

A reader of its own: the command that grows projects owns PROJECT, and this package cannot import it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.generate import OPTION
from pykb.diagnostics.codes.project import PROJECT_SYNTAX, RESTORE
from pykb.diagnostics.suggest import closest
from pykb.meta.gvk import GroupKind

KEYS: Mapping[str, tuple[type, ...]] = {
    "paths": (list,),
    "role-name": (str,),
    "header-file": (str,),
    "year": (str, int),
    "max-desc-len": (int,),
    "allow-dangerous-types": (bool,),
    "generate-embedded-object-meta": (bool,),
    "compat": (str,),
    "crd-versions": (list,),
    "ignore-unexported-fields": (bool,),
    "output-dir": (str,),
    "preserve-unknown-fields": (bool,),
    "rbac-file-name": (str,),
    "builtin-descriptions": (str,),
    "allow-breaking": (bool,),
}
_TABLES = ("generate",)
_NOUNS = {str: "text", int: "a whole number", bool: "`true` or `false`", list: "a list of texts"}


def read_project(root: Path, diagnostics: Diagnostics | None = None) -> Mapping[str, Any]:
    """PROJECT as plain data; empty when there is none, or it is no YAML.

    Args:
        root: The project.
        diagnostics: Gets that it is no YAML, where something depends on what it says.
    """
    text = _project_text(root)
    if not text:
        return {}
    import yaml

    from pykb.reading import yaml_text

    try:
        found = yaml_text.load(text)
    except yaml.MarkedYAMLError as error:
        if diagnostics is not None:
            message = f"PROJECT {yaml_text.verdict(error)}: {error.problem}"
            diagnostics.add(PROJECT_SYNTAX.at(yaml_text.place(error, "PROJECT"), message, help=(RESTORE,)))
        return {}
    return found if isinstance(found, dict) else {}


def _project_text(root: Path) -> str:
    try:
        return (root / "PROJECT").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def converted_kinds(root: Path, diagnostics: Diagnostics) -> frozenset[GroupKind]:
    """The kinds that have a conversion webhook; what cannot be read is said, since their CRDs depend on it."""
    if "conversion" not in _project_text(root):  # hardly any project; to load a YAML parser for it takes longer
        return frozenset()
    found: set[GroupKind] = set()
    for kind, resource in _resources(read_project(root, diagnostics)):
        webhooks = resource.get("webhooks")
        if isinstance(webhooks, dict) and webhooks.get("conversion") is True:
            found.add(kind)
    return frozenset(found)


def project_groups(root: Path) -> frozenset[str]:
    """The API groups that the project scaffolded, whether they still have kinds or not."""
    return frozenset(kind.group for kind in project_kinds(root))


def project_kinds(root: Path) -> frozenset[GroupKind]:
    """The kinds that the project scaffolded."""
    return frozenset(kind for kind, _ in _resources(read_project(root)))


def _resources(project: Mapping[str, Any]) -> Iterator[tuple[GroupKind, Mapping[str, Any]]]:
    """What PROJECT says of each kind; other commands say what is wrong with an entry."""
    entries = project.get("resources")
    for resource in entries if isinstance(entries, list) else ():
        if isinstance(resource, dict):
            parts = (resource.get("group") or "", resource.get("domain") or "")
            group = ".".join(str(part) for part in parts if part)
            yield GroupKind(group, str(resource.get("kind"))), resource


def read_settings(root: Path, diagnostics: Diagnostics) -> Mapping[str, Any]:
    """``[tool.pykb.generate]``, its keys checked."""
    try:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
    except OSError:
        return {}
    except UnicodeDecodeError:
        diagnostics.add(
            OPTION.at(Span("pyproject.toml", 1, 1), "expected TOML, which is UTF-8: found another encoding")
        )
        return {}
    if "tool.pykb" not in text:
        return {}
    try:
        own = tomllib.loads(text).get("tool", {}).get("pykb", {})
    except tomllib.TOMLDecodeError as error:
        stated = re.search(r" \(at line ([0-9]+), column ([0-9]+)\)", str(error))
        line, column = (int(stated[1]), int(stated[2])) if stated else (1, 1)
        problem = str(error).replace(stated[0], "") if stated else str(error)
        diagnostics.add(OPTION.at(Span("pyproject.toml", line, column), f"expected TOML: {problem}"))
        return {}
    except (ValueError, RecursionError) as error:  # a number of too many digits, or nesting
        diagnostics.add(OPTION.at(Span("pyproject.toml", 1, 1), f"expected TOML: {error}"))
        return {}
    for key in own:
        if key not in _TABLES:
            diagnostics.add(_unknown("tool.pykb", key, text))
    found: dict[str, Any] = {}
    for key, value in own.get("generate", {}).items():
        kinds = KEYS.get(key)
        if kinds is None:
            diagnostics.add(_unknown("tool.pykb.generate", key, text))
        elif not _fits(value, kinds):
            wanted = " or ".join(_NOUNS[kind] for kind in kinds)
            place = _span(text, "tool.pykb.generate", key)
            diagnostics.add(OPTION.at(place, f"`{key}` takes {wanted}, found `{_shown(value)}`"))
        else:
            found[key] = value
    return found


def _fits(value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, list):
        return list in kinds and all(isinstance(item, str) for item in value)
    return isinstance(value, kinds)


def _shown(value: object) -> str:
    return json.dumps(value, default=str)


def _unknown(table: str, key: str, text: str) -> Diagnostic:
    if table == "tool.pykb" and key in KEYS:
        return OPTION.at(
            _span(text, table, key),
            f"`[tool.pykb]` has no key `{key}`, but `[tool.pykb.generate]` has",
            help=("[tool.pykb.generate]",),
        )
    known = _TABLES if table == "tool.pykb" else KEYS
    near = closest(key, known)
    return OPTION.at(
        _span(text, table, key),
        f"`[{table}]` has no key `{key}`",
        help=(f"did you mean `{near}`?",) if near else (f"known keys: {', '.join(sorted(known))}",),
    )


def _span(text: str, table: str, key: str) -> Span:
    """The place of a key, or of the table of that name."""
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("["):
            header = line.strip().strip("[]").replace(" ", "")
            inside = header == table
            if header == f"{table}.{key}":
                column = line.index(key) + 1
                return Span("pyproject.toml", number, column, number, column + len(key))
        elif inside and line.split("=")[0].strip().strip("\"'") == key:
            column = line.index(key) + 1
            return Span("pyproject.toml", number, column, number, column + len(key))
    return Span("pyproject.toml", 1, 1)

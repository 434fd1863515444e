"""The project's settings for generation: ``[tool.pykb.generate]`` of pyproject.toml."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.generate import OPTION
from pykb.diagnostics.suggest import closest

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
_NOUNS = {str: "a string", int: "a whole number", bool: "`true` or `false`", list: "a list of strings"}


def read_settings(root: Path, diagnostics: Diagnostics) -> Mapping[str, Any]:
    """Read ``[tool.pykb.generate]`` and check its keys."""
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
    except (ValueError, RecursionError) as error:  # a number with too many digits, or too deep nesting
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

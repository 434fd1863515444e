"""The project's settings for generation: ``[tool.pykb.generate]`` of pyproject.toml."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.generate import OPTION
from pykb.diagnostics.suggest import closest
from pykb.reading import toml_text

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
        content = (root / "pyproject.toml").read_bytes()
    except OSError:
        return {}
    if b"tool.pykb" not in content:
        return {}
    try:
        own = toml_text.loads(content).get("tool", {}).get("pykb", {})
    except toml_text.TomlError as error:
        diagnostics.add(OPTION.at(Span("pyproject.toml", error.line, error.column), str(error)))
        return {}
    text = content.decode()
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

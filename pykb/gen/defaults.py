"""What the project itself says about generation: a few keys of PROJECT, and ``[tool.pykb.generate]`` of pyproject.toml.

A reader of its own: the command that grows projects owns PROJECT, and this package cannot import it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.generate import OPTION
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
}


def read_project(root: Path) -> Mapping[str, Any]:
    """PROJECT as plain data; empty when there is none, or it is no YAML (other commands say so)."""
    try:
        text = (root / "PROJECT").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    import yaml

    try:
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def converted_kinds(root: Path) -> frozenset[GroupKind]:
    """The kinds that have a conversion webhook."""
    project = read_project(root)
    found: set[GroupKind] = set()
    for resource in project.get("resources") or ():
        webhooks = resource.get("webhooks") if isinstance(resource, dict) else None
        if isinstance(webhooks, dict) and webhooks.get("conversion") is True:
            group, domain = resource.get("group") or "", resource.get("domain") or ""
            found.add(GroupKind(".".join(part for part in (group, domain) if part), str(resource.get("kind"))))
    return frozenset(found)


def project_groups(root: Path) -> frozenset[str]:
    """The API groups that the project scaffolded, whether they still have kinds or not."""
    project = read_project(root)
    found: set[str] = set()
    for resource in project.get("resources") or ():
        if isinstance(resource, dict):
            parts = (resource.get("group") or "", resource.get("domain") or "")
            found.add(".".join(str(part) for part in parts if part))
    return frozenset(found)


def read_settings(root: Path, diagnostics: Diagnostics) -> Mapping[str, Any]:
    """``[tool.pykb.generate]``, its keys checked."""
    try:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    if "tool.pykb" not in text:
        return {}
    try:
        table = tomllib.loads(text).get("tool", {}).get("pykb", {}).get("generate", {})
    except tomllib.TOMLDecodeError as error:
        diagnostics.add(OPTION.at(Span("pyproject.toml", 1, 1), f"expected TOML: {error}"))
        return {}
    found: dict[str, Any] = {}
    for key, value in table.items():
        kinds = KEYS.get(key)
        if kinds is None:
            near = closest(key, KEYS)
            diagnostics.add(
                OPTION.at(
                    _span(text, key),
                    f"`[tool.pykb.generate]` has no key `{key}`",
                    help=(f"did you mean `{near}`?",) if near else (f"known keys: {', '.join(sorted(KEYS))}",),
                ),
            )
        elif not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            diagnostics.add(
                OPTION.at(
                    _span(text, key),
                    f"`{key}` takes a {kinds[0].__name__}, found `{value!r}`",
                ),
            )
        else:
            found[key] = value
    return found


def _span(text: str, key: str) -> Span:
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("["):
            inside = line.strip() == "[tool.pykb.generate]"
        elif inside and line.split("=")[0].strip().strip('"') == key:
            column = line.index(key) + 1
            return Span("pyproject.toml", number, column, number, column + len(key))
    return Span("pyproject.toml", 1, 1)

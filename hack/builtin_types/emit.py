"""Writes modules as Python text."""

from __future__ import annotations

import subprocess
import sys
from itertools import groupby
from pathlib import Path

from hack.builtin_types.model import Class, Module

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

_HEADER = '''"""{title}

Written by `python -m hack.builtin_types` from the API of Kubernetes {version}; do not edit.
"""

'''
_NO_DOCSTRINGS = "# ruff: noqa: D101\n\n"


def write(modules: list[Module], version: str, root: Path) -> None:
    """Write the formatted package below a directory. Files of other groups stay."""
    written: list[Path] = []
    for module in modules:
        folder = root / module.package
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text(
            f'"""Built-in types of the group {module.package}, one module per version."""\n'
        )
        path = folder / f"{module.version}.py"
        path.write_text(render(module, version))
        written.append(path)
    table = root / "builtin_table.py"
    table.write_text(_table(modules, version))
    written.append(table)
    for command in (["check", "--fix", "--quiet", "--select", "I"], ["format", "--quiet"]):
        settings = ["--config", str(PROJECT)]
        subprocess.run([sys.executable, "-m", "ruff", *command, *settings, *map(str, written)], check=True)


def render(module: Module, version: str) -> str:
    """The text of one module."""
    what = (
        f"{module.group or 'core'}/{module.version}"
        if module.group is not None
        else f"{module.package}/{module.version}"
    )
    lines = [_HEADER.format(title=f"Built-in types of {what}.", version=version), _NO_DOCSTRINGS]
    imports = set(module.imports)
    if not all(c.is_object for c in module.classes):
        imports.add(("pykb.api.struct", "Struct"))
    if any(c.is_object for c in module.classes):
        imports |= {("pykb.api.object", "Object"), ("pykb.meta.gvk", "GroupVersion")}
    if any(c.resource for c in module.classes):
        imports.add(("pykb.meta.gvk", "ResourceInfo"))
    if any(c.annotations for c in module.classes):
        imports.add(("pykb.api.annotations", "annotate"))
    for place, names in groupby(sorted(imports), key=lambda pair: pair[0]):
        lines.append(f"from {place} import {', '.join(name for _, name in names)}\n")
    if module.group is not None:
        lines.append(f"\nGROUP_VERSION = GroupVersion({module.group!r}, {module.version!r})\n")
    lines += [_class(made) for made in module.classes]
    return "".join(lines)


def _class(made: Class) -> str:
    head = "Struct"
    if made.is_object:
        head = "Object, group_version=GROUP_VERSION"
    if made.resource is not None:
        r = made.resource
        subresources = f", subresources={r.subresources!r}" if r.subresources else ""
        head += f", resource=ResourceInfo({r.plural!r}, namespaced={r.namespaced}{subresources})"
    decorator = f"@annotate({', '.join(made.annotations)})\n" if made.annotations else ""
    body = "".join(
        f"    {f.name}: {f.annotation}{'' if f.default is None else f' = {f.default}'}\n" for f in made.fields
    )
    body = body or "    pass\n"
    return f"\n\n{decorator}class {made.name}({head}):\n{body}"


def _table(modules: list[Module], version: str) -> str:
    lines = [_HEADER.format(title="Which module has which built-in kinds.", version=version)]
    lines.append(f"RELEASE = {version.rpartition('.')[0]!r}\n\n")
    lines.append("# (group, version): (module, kinds)\nTABLE: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {\n")
    for module in modules:
        if module.group is not None:
            kinds = tuple(sorted(c.name for c in module.classes if c.is_object))
            lines.append(f"    ({module.group!r}, {module.version!r}): ({module.path!r}, {kinds!r}),\n")
    others = [m.path for m in modules if m.group is None]
    lines.append(f"}}\n\n# Modules that have types but no kinds.\nOTHER_MODULES: tuple[str, ...] = {tuple(others)!r}\n")
    return "".join(lines)

"""Writes modules as Python text."""

from __future__ import annotations

import subprocess
import sys
from itertools import groupby
from pathlib import Path

from hack.builtin_types.model import Class, Field, Module
from hack.builtin_types.source import Resource

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

_HEADER = '''"""{title}

Written by `python -m hack.builtin_types` from the API of Kubernetes {version}; do not edit.
"""

'''
_LONG = 60
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
    imports |= {("pykb.meta.gvk", _scope(c.resource)) for c in module.classes if c.resource is not None}
    if any(c.annotations for c in module.classes):
        imports.add(("pykb.api.annotations", "annotate"))
    for place, names in groupby(sorted(imports), key=lambda pair: pair[0]):
        lines.append(f"from {place} import {', '.join(name for _, name in names)}\n")
    if module.group is not None:
        lines.append(f"\nGROUP_VERSION = GroupVersion({module.group!r}, {module.version!r})\n")
    constants = _constants(module.classes)
    lines += [f"\n{name} = {extra}\n" for extra, name in constants.items()]
    lines += [_class(made, constants) for made in module.classes]
    return "".join(lines)


def _class(made: Class, constants: dict[str, str]) -> str:
    head = "Struct"
    if made.is_object:
        head = "Object, group_version=GROUP_VERSION"
    if made.resource is not None:
        names = (made.resource.plural, *made.resource.subresources)
        head += f", resource={_scope(made.resource)}({', '.join(map(repr, names))})"
    decorator = f"@annotate({', '.join(made.annotations)})\n" if made.annotations else ""
    body = "".join(f"    {_field(each, constants)}\n" for each in made.fields) or "    pass\n"
    return f"\n\n{decorator}class {made.name}({head}):\n{body}"


def _scope(resource: Resource) -> str:
    return "namespaced" if resource.namespaced else "cluster_scoped"


def _field(each: Field, constants: dict[str, str]) -> str:
    extras = "".join(f", {constants.get(extra, extra)}" for extra in each.extras)
    annotation = f"Annotated[{each.type}{extras}]" if extras else each.type
    return f"{each.name}: {annotation}" + ("" if each.default is None else f" = {each.default}")


def _constants(classes: list[Class]) -> dict[str, str]:
    """Names for long annotations that several fields of one name have."""
    uses: dict[str, list[str]] = {}
    for field in (field for made in classes for field in made.fields):
        for extra in field.extras:
            if len(extra) > _LONG:
                uses.setdefault(extra, []).append(field.name)
    return {extra: f"_{names[0].upper()}" for extra, names in uses.items() if len(names) > 1 == len(set(names))}


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

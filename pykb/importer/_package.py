"""The files of an import: one module per version of an API group, with a mark that pykb wrote them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.commands import FOLDER_CLASH
from pykb.gen.run import IMPORTED
from pykb.importer._builtin import builtin_types
from pykb.importer._module import module_text
from pykb.importer.definition import Definition, Version
from pykb.importer.naming import group_folder, version_module

_CHECKSUM = re.compile(rf"^{IMPORTED}checksum: (?P<sum>[0-9a-f]{{16}})\n", re.MULTILINE)
_GROUP = re.compile(r'^GROUP_VERSION = GroupVersion\("(?P<group>[^"]*)"', re.MULTILINE)
_KIND = re.compile(
    r'^class (?P<name>\w+)\(CustomResource, group_version=GROUP_VERSION(?:, kind="(?P<kind>\w+)")?\):$', re.MULTILINE
)
# Imported texts stay as their authors wrote them.
_LENIENT = "# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003\n"


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A module to write.

    Attributes:
        path: Relative to the output folder.
        text: Its source.
        group: The API group of its kinds.
        kinds: Their names.
    """

    path: str
    text: str
    group: str
    kinds: frozenset[str]


def package_files(definitions: Iterable[Definition], diagnostics: Diagnostics) -> list[ModuleFile]:
    """The modules for some CRDs, by path."""
    by_version: dict[tuple[str, str], list[tuple[Definition, Version]]] = {}
    groups: dict[str, str] = {}
    for definition in definitions:
        folder = group_folder(definition.group)
        other = groups.setdefault(folder, definition.group)
        if other != definition.group:
            diagnostics.add(
                FOLDER_CLASH.at(
                    None,
                    f"the groups `{other}` and `{definition.group}` are both the folder `{folder}`",
                    notes=("nothing was written",),
                    help=(f"import them separately: `--output DIR1` for `{other}`, `--output DIR2` for the other",),
                ),
            )
            continue
        for version in definition.versions:
            by_version.setdefault((definition.group, version.name), []).append((definition, version))
    if diagnostics.has_errors():
        return []
    builtin = builtin_types()
    return [
        ModuleFile(
            f"{group_folder(group)}/{version_module(version)}.py",
            sealed(module_text(group, version, kinds, builtin)),
            group,
            frozenset(definition.kind for definition, _ in kinds),
        )
        for (group, version), kinds in sorted(by_version.items())
    ]


def sealed(text: str) -> str:
    """The text with a checksum line that later shows whether somebody edited it."""
    return f"{_header(_sum(text))}{text}"


def is_untouched(text: str) -> bool:
    """Whether a module is unchanged since an import wrote it."""
    found = _CHECKSUM.match(text)
    return found is not None and text.startswith(_header(found["sum"])) and found["sum"] == _sum(_body(text))


def group_of(text: str) -> str | None:
    """The API group of an imported module; ``None`` for any other file."""
    found = _GROUP.search(text)
    return found["group"] if found else None


def kinds_in(text: str) -> frozenset[str]:
    """The kinds of an imported module."""
    return frozenset(found["kind"] or found["name"] for found in _KIND.finditer(text))


def package_init(path: str) -> str:
    """The ``__init__.py`` of the output folder or of a group's folder."""
    return (
        '"""Types imported from CustomResourceDefinitions."""\n'
        if "/" not in path
        else '"""Types of one API group."""\n'
    )


def _header(checksum: str) -> str:
    return f"{IMPORTED}checksum: {checksum}\n{_LENIENT}"


def _body(text: str) -> str:
    return text[len(_header("0" * 16)) :]


def _sum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def needed_inits(output: str, files: Iterable[ModuleFile]) -> Mapping[str, str]:
    """The ``__init__.py`` files of the packages, by path."""
    # The working directory itself is not a package.
    own = [] if output == "." else [output]
    folders = dict.fromkeys([*own, *(f"{output}/{file.path.rpartition('/')[0]}" for file in files)])
    return {f"{folder}/__init__.py": package_init(folder.removeprefix(output)) for folder in folders}

"""Plans an import: the files to write, and what prevents it."""

from __future__ import annotations

import keyword
import re
from pathlib import Path, PurePosixPath

from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.importer import FOLDER_CLASH, KINDS_LOST, OUTPUT_NAME
from pykb.files.plan import Plan
from pykb.importer._package import ModuleFile, group_of, is_untouched, kinds_in, needed_inits, package_files
from pykb.importer._verify import verify
from pykb.importer.definition import Definition
from pykb.scaffold.naming import module_hidden
from pykb.scaffold.plan import OnExists, PlanBuilder


def plan_import(
    definitions: list[Definition],
    root: Path,
    output: str,
    *,
    force: bool,
    diagnostics: Diagnostics,
) -> Plan | None:
    """Plan an import. Returns ``None`` and reports it when something is wrong.

    Replaces a module of an earlier import. If somebody has edited it, this needs ``force``.

    Args:
        definitions: The CRDs.
        root: The project, or the working directory outside of a project.
        output: The folder of the package, relative to it.
        force: Whether to overwrite edited files. A copy is kept.
        diagnostics: Gets the findings.
    """
    misnamed = _misnamed(root, PurePosixPath(output))
    if misnamed is not None:
        diagnostics.add(misnamed)
        return None
    files = package_files(definitions, diagnostics)
    if files:
        verify(definitions, files, diagnostics)
    builder = PlanBuilder(root)
    folder = str(PurePosixPath(output))
    for path, text in needed_inits(folder, files).items():
        builder.create(path, text.encode(), on_exists=OnExists.KEEP)
    for file in files:
        path = f"{folder}/{file.path}"
        old = (builder.current(path) or b"").decode("utf-8", "replace")
        if old and not force and not _check_replaced(path, old, file, diagnostics):
            continue
        if old and is_untouched(old):
            builder.update(path, file.text.encode())
        else:
            builder.create(path, file.text.encode(), on_exists=OnExists.OVERWRITE if force else OnExists.REFUSE)
    diagnostics.extend(builder.diagnostics)
    return None if diagnostics.has_errors() else builder.build()


def _misnamed(root: Path, folder: PurePosixPath) -> Diagnostic | None:
    """Why a folder cannot be a package, with a name to use in its place."""
    name = folder.name
    if name in ("", ".."):
        return None
    taken = "" if (root / folder.parent / "__init__.py").exists() else module_hidden(name)
    if taken:
        why, better = f"`{folder}` would be the package `{name}`, {taken}", _package(root) / name
    elif not name.isidentifier() or keyword.iskeyword(name):
        why, better = f"`{name}` is not a valid package name", folder.with_name(_identifier(name))
    else:
        return None
    return OUTPUT_NAME.at(None, why, notes=("nothing was written",), help=(f"--output {better}",))


def _identifier(name: str) -> str:
    better = re.sub(r"\W", "_", name).strip("_") or "external"
    if better[0].isdigit():
        return f"_{better}"
    return f"{better}_" if keyword.iskeyword(better) else better


def _package(root: Path) -> PurePosixPath:
    """The package of the project, or a default name outside of a project."""
    package = next((path.parent.name for path in sorted(root.glob("*/__init__.py")) if path.parent.name != "tests"), "")
    return PurePosixPath(package or "vendor")


def _check_replaced(path: str, old: str, file: ModuleFile, diagnostics: Diagnostics) -> bool:
    """Whether the kinds of a module allow an import to replace it."""
    group = group_of(old)
    if group is not None and group != file.group:
        diagnostics.add(
            FOLDER_CLASH.at(
                Span(path, 1, 1),
                f"`{path}` has the group `{group}`, and `{file.group}` would be the same folder",
                notes=("nothing was written",),
                help=("name another folder with `--output`",),
            ),
        )
        return False
    lost = sorted(kinds_in(old) - file.kinds) if group is not None else []
    if lost:
        shown = ", ".join(f"`{kind}`" for kind in lost)
        diagnostics.add(
            KINDS_LOST.at(
                Span(path, 1, 1),
                f"`{path}` also has {shown}, of which this import has no CRD",
                notes=("nothing was written",),
                help=("import all CRDs of the group in one command, or drop those kinds with `--force`",),
            ),
        )
        return False
    return True

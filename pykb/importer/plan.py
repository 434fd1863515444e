"""Plans an import: the files to write, what prevents it, and what the new types do not reproduce."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from pykb.diagnostics import Diagnostic, Diagnostics, Severity, Span
from pykb.diagnostics.codes.commands import CRD_NOT_KEPT, FOLDER_CLASH, KINDS_LOST, OUTPUT_NAME
from pykb.files.plan import Plan
from pykb.files.temporary import temporary
from pykb.importer._builtin import builtin_types
from pykb.importer._package import ModuleFile, group_of, is_untouched, kinds_in, needed_inits, package_files
from pykb.importer.definition import OF_EVERY_KIND, Definition, cleaned
from pykb.importer.shape import Schema
from pykb.meta.json_diff import sorted_changes
from pykb.scaffold.naming import module_hidden
from pykb.scaffold.plan import OnExists, PlanBuilder

_PACKAGE = "imported_types"
_SHOWN = 5
IsKnown = Callable[[Schema], bool]
_UNLESS_SAID: Mapping[str, object] = {"deprecated": False, "subresources": {}, "additionalPrinterColumns": []}


def verify(definitions: Iterable[Definition], files: Iterable[ModuleFile], diagnostics: Diagnostics) -> None:
    """Report the details of each CRD that the types do not reproduce.

    Args:
        definitions: The imported CRDs.
        files: The modules made from them.
        diagnostics: Gets one warning for each detail.
    """
    generated = regenerate(files, diagnostics)
    builtin = builtin_types()
    for definition in definitions:
        found = generated.get(definition.name)
        if found is None:
            continue
        lost = list(differences(definition.manifest, found, builtin.is_known))
        if lost:
            more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
            diagnostics.report(
                CRD_NOT_KEPT,
                None,
                f"`{definition.name}`, generated from these types, differs from what was imported",
                notes=(*lost[: _SHOWN - 1], lost[_SHOWN - 1] + more) if more else tuple(lost),
            )


def regenerate(files: Iterable[ModuleFile], diagnostics: Diagnostics) -> dict[str, dict[str, Any]]:
    """The CRDs that the modules of an import generate, by name."""
    from pykb.gen.options import GenerateOptions, SchemaOptions
    from pykb.gen.run import generate

    written = list(files)
    with temporary("import") as root:
        texts = {f"{_PACKAGE}/{file.path}": file.text for file in written} | dict(needed_inits(_PACKAGE, written))
        for path, text in texts.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8", newline="\n")
        options = GenerateOptions(root, ("crd",), (_PACKAGE,), schemas=SchemaOptions(allow_dangerous_types=True))
        result = generate(options)
    # The CRD's API server may be more lenient than pykb's generator. The types are still useful.
    refused = [found for found in result.diagnostics if found.severity is Severity.ERROR]
    diagnostics.extend(replace(found, severity=Severity.WARNING, span=None, labels=()) for found in refused)
    documents = [document for artifact in result.artifacts.get("crd", ()) for document in artifact.documents]
    return {str(document["metadata"]["name"]): dict(document) for document in documents}  # type: ignore[index]


def differences(imported: Mapping[str, Any], generated: Mapping[str, Any], is_known: IsKnown) -> Iterator[str]:
    """The differences, as ``path: expected ..., found ...``. Yields nothing when the two are equivalent.

    Ignores what the API server fills in (``listKind``, ``singular``, ``subresources: {}``), the order of ``required``,
    the three fields that every kind has, and the descriptions of built-in types.

    Args:
        imported: The imported CRD.
        generated: The CRD generated from its types.
        is_known: Whether a schema is that of a built-in type, apart from descriptions.
    """
    before, after = _usual(imported["spec"]), _usual(generated["spec"])
    for name, version in before["versions"].items():
        found = after["versions"].get(name)
        if found is not None:
            yield from _schemas(version.pop("schema"), found.pop("schema"), f"versions/{name}/schema", is_known)
    for path, one, other in sorted_changes(before, after):
        yield _difference("/".join(("spec", *map(str, path))), one, other)


def _usual(spec: Mapping[str, Any]) -> dict[str, Any]:
    names = {name: value for name, value in spec["names"].items() if value}
    names = {"listKind": f"{names['kind']}List", "singular": names["kind"].lower()} | names
    conversion = spec.get("conversion") or {}
    return {
        "group": spec["group"],
        "names": names,
        "scope": spec.get("scope", "Namespaced"),
        "versions": {entry["name"]: _usual_version(entry) for entry in spec["versions"]},
        "conversion": conversion if conversion.get("strategy", "None") != "None" else None,
    }


def _usual_version(entry: Mapping[str, Any]) -> dict[str, Any]:
    version = {k: v for k, v in entry.items() if v is not None and v != _UNLESS_SAID.get(k, entry)}
    if version.get("additionalPrinterColumns"):
        columns = version["additionalPrinterColumns"]
        version["additionalPrinterColumns"] = [{k: v for k, v in column.items() if v} for column in columns]
    schema = cleaned(version["schema"]["openAPIV3Schema"])
    schema["properties"] = {**OF_EVERY_KIND, **schema.get("properties", {})}
    for name in OF_EVERY_KIND:
        schema["properties"][name] = {k: v for k, v in schema["properties"][name].items() if k != "description"}
    return version | {"schema": schema}


def _schemas(before: Schema, after: Schema, path: str, is_known: IsKnown, *, plain: bool = False) -> Iterator[str]:
    """Differences between schemas. With ``plain``, descriptions may be missing."""
    inner_plain = plain or (bool(before.get("properties")) and is_known(before))
    for name in _keys(before, after):
        one, other = before.get(name), after.get(name)
        if name == "description" and other is None and inner_plain:
            continue
        if name in {"items", "additionalProperties", "properties"}:
            for where, left, right in _sub_schemas(name, one, other):
                yield from _parts(left, right, f"{path}/{where}", is_known, plain=inner_plain)
            continue
        if name == "required" and isinstance(one, list) and isinstance(other, list):
            one, other = sorted(one), sorted(other)
        if one != other or (name in before) != (name in after):
            yield _difference(f"{path}/{name}", one, other)


def _sub_schemas(name: str, one: object, other: object) -> Iterator[tuple[str, object, object]]:
    if name == "properties" and isinstance(one, Mapping) and isinstance(other, Mapping):
        yield from ((f"{name}/{key}", one.get(key), other.get(key)) for key in _keys(one, other))
    else:
        yield name, one, other


def _keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterable[str]:
    return dict.fromkeys([*one, *other])


def _parts(one: object, other: object, path: str, is_known: IsKnown, *, plain: bool) -> Iterator[str]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        yield from _schemas(one, other, path, is_known, plain=plain)
    elif one != other:
        yield _difference(path, one, other)


def _difference(path: str, one: object, other: object) -> str:
    return f"`{path}`: expected {_shown(one)}, found {_shown(other)}"


def _shown(value: object) -> str:
    text = "nothing" if value is None else f"`{value}`"
    return text if len(text) < 80 else f"{text[:76]}...`"


def plan_import(
    definitions: list[Definition],
    root: Path,
    output: str,
    *,
    force: bool,
    compare: bool = True,
    diagnostics: Diagnostics,
) -> Plan | None:
    """Plan an import. Returns ``None`` and reports it when something is wrong.

    Replaces a module of an earlier import. If somebody has edited it, this needs ``force``.

    Args:
        definitions: The CRDs.
        root: The project, or the working directory outside of a project.
        output: The folder of the package, relative to it.
        force: Whether to overwrite edited files. A copy is kept.
        compare: Whether to import the new modules, generate the CRDs again and report what differs.
        diagnostics: Gets the findings.
    """
    misnamed = _misnamed(root, PurePosixPath(output))
    if misnamed is not None:
        diagnostics.add(misnamed)
        return None
    files = package_files(definitions, diagnostics)
    if files and compare:
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
        diagnostics.report(
            FOLDER_CLASH,
            Span(path, 1, 1),
            f"`{path}` has the group `{group}`, and `{file.group}` would be the same folder",
            "name another folder with `--output`",
            notes=("nothing was written",),
        )
        return False
    lost = sorted(kinds_in(old) - file.kinds) if group is not None else []
    if lost:
        shown = ", ".join(f"`{kind}`" for kind in lost)
        diagnostics.report(
            KINDS_LOST,
            Span(path, 1, 1),
            f"`{path}` also has {shown}, of which this import has no CRD",
            "import all CRDs of the group in one command, or drop those kinds with `--force`",
            notes=("nothing was written",),
        )
        return False
    return True

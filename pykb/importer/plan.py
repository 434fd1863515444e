"""Plans an import: the files to write, what prevents it, and what the new types do not reproduce.

There is a module per version of an API group, with its kinds and a mark that pykb wrote it.
"""

from __future__ import annotations

import ast
import hashlib
import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, Diagnostics, Severity, Span
from pykb.diagnostics.codes.commands import CRD_NOT_KEPT, FOLDER_CLASH, KINDS_LOST, OUTPUT_NAME
from pykb.files.durable import temporary
from pykb.files.plan import Plan
from pykb.gen.run import IMPORTED
from pykb.importer._expression import Expression, Name, call, laid, literal, names, survives
from pykb.importer._spelling import Member, Speller, api, spell_member
from pykb.importer.definition import OF_EVERY_KIND, Definition, Version, cleaned
from pykb.importer.shape import (
    BuiltinTypes,
    Schema,
    Shapes,
    attribute_name,
    builtin_types,
    children,
    group_folder,
    kind_class,
    version_module,
)
from pykb.meta.json_diff import sorted_changes
from pykb.meta.names import pluralize
from pykb.python_source import quoting
from pykb.python_source.layout import Import, import_block
from pykb.reading import read_python
from pykb.scaffold.naming import module_hidden
from pykb.scaffold.plan import OnExists, PlanBuilder

# Proves that a module only declares types, before anything imports it.
#
# All texts of a CRD pass through `quoting`. This is the second lock behind it: a module that an
# import makes is compared with the few forms that it can have. A mistake in the importer then ends the command, and
# nothing is written or run.


_MODULES = re.compile(r"typing|datetime|pykb\.api(\.\w+)*")
_NO_VALUES = frozenset({"bool", "bytes", "dict", "float", "int", "list", "str"})


class NotDeclarativeError(Exception):
    """A module has code other than declarations. This is a mistake in pykb."""


def check_declarative(text: str) -> None:
    """Check that a module has only imports of pykb's types, its group, and classes whose values are constants.

    Raises:
        NotDeclarativeError: It has anything else, or cannot be parsed.
    """
    try:
        _Check().module(read_python(text))
    except SyntaxError as error:
        raise NotDeclarativeError(f"the module does not parse: {error}") from error


class _Check:
    """The forms of statements and expressions. ``names`` are those that a module has bound so far."""

    def __init__(self) -> None:
        self.names = set(_NO_VALUES)

    def module(self, tree: ast.Module) -> None:
        for number, node in enumerate(tree.body):
            match node:
                case ast.Expr(ast.Constant(str())) if number == 0:
                    pass
                case ast.ImportFrom(module=str(module), level=0) if _MODULES.fullmatch(module):
                    self.names |= {alias.asname or alias.name for alias in node.names}
                    self._need(all(alias.asname is None and alias.name != "*" for alias in node.names), node)
                case ast.Assign(targets=[ast.Name("GROUP_VERSION")], value=value):
                    self._data(value)
                    self.names.add("GROUP_VERSION")
                case ast.ClassDef():
                    self._class(node)
                    self.names.add(node.name)
                case _:
                    self._need(False, node)

    def _class(self, node: ast.ClassDef) -> None:
        bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
        self._need(bases in (["Struct"], ["CustomResource"]) and len(bases) == len(node.bases), node)
        self._need(not getattr(node, "type_params", ()), node)
        for value in (*node.decorator_list, *(each.value for each in node.keywords)):
            self._data(value)
        for each in node.body:
            match each:
                case ast.Expr(ast.Constant(str())) | ast.Pass():
                    pass
                case ast.AnnAssign(target=ast.Name(), annotation=annotation, simple=1):
                    self._type(annotation)
                    if each.value is not None:
                        self._data(each.value)
                case _:
                    self._need(False, each)

    def _type(self, node: ast.expr) -> None:
        """A type. It has no strings outside of ``Literal`` and metadata: Pydantic would evaluate them as code."""
        match node:
            case ast.Name(name):
                self._need(name in self.names, node)
            case ast.Constant(None):
                pass
            case ast.BinOp(left, ast.BitOr(), right):
                self._type(left)
                self._type(right)
            case ast.Subscript(ast.Name("Literal"), values):
                for value in values.elts if isinstance(values, ast.Tuple) else [values]:
                    self._need(isinstance(value, ast.Constant | ast.UnaryOp), node)
                    self._data(value)
            case ast.Subscript(ast.Name("Annotated"), ast.Tuple([base, *metadata])):
                self._type(base)
                for value in metadata:
                    self._data(value)
            case ast.Subscript(ast.Name("list" | "dict"), parts):
                for part in parts.elts if isinstance(parts, ast.Tuple) else [parts]:
                    self._type(part)
            case _:
                self._need(False, node)

    def _data(self, node: ast.expr) -> None:
        """A constant, a list or a mapping of such, or the call of an imported name with such."""
        match node:
            case ast.Constant():
                pass
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float())):
                pass
            case ast.Name(name):
                self._need(name in self.names, node)
            case ast.List(parts):
                for part in parts:
                    self._data(part)
            case ast.Dict(keys, values):
                known = [key for key in keys if key is not None]
                self._need(len(known) == len(values), node)
                for part in (*known, *values):
                    self._data(part)
            case ast.Call(ast.Name(name), arguments, keywords):
                self._need(name in self.names and all(each.arg for each in keywords), node)
                for part in (*arguments, *(each.value for each in keywords)):
                    self._data(part)
            case _:
                self._need(False, node)

    @staticmethod
    def _need(holds: bool, node: ast.AST) -> None:
        if not holds:
            raise NotDeclarativeError(f"line {getattr(node, 'lineno', 1)}: {ast.unparse(node)[:200]}")


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
        remade = generated.get(definition.name)
        if remade is None:
            continue
        lost = list(differences(definition.manifest, remade, builtin.is_known))
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
        counterpart = after["versions"].get(name)
        if counterpart is not None:
            yield from _schemas(version.pop("schema"), counterpart.pop("schema"), f"versions/{name}/schema", is_known)
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
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name), after.get(name)
        if name == "description" and other is None and inner_plain:
            continue
        if name == "properties" and isinstance(one, Mapping) and isinstance(other, Mapping):
            for key in dict.fromkeys([*one, *other]):
                parts = one.get(key), other.get(key)
                yield from _parts(*parts, f"{path}/{name}/{key}", is_known, plain=inner_plain)
        elif name in {"items", "additionalProperties", "properties"}:
            yield from _parts(one, other, f"{path}/{name}", is_known, plain=inner_plain)
        else:
            if name == "required" and isinstance(one, list) and isinstance(other, list):
                one, other = sorted(one), sorted(other)
            if one != other or (name in before) != (name in after):
                yield _difference(f"{path}/{name}", one, other)


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
    return OUTPUT_NAME.at(None, why, f"--output {better}", notes=NOTHING_WRITTEN)


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
            notes=NOTHING_WRITTEN,
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
            notes=NOTHING_WRITTEN,
        )
        return False
    return True


GROUP_VERSION = "GROUP_VERSION"
_REQUIRED = ("required",)


@dataclass(frozen=True, slots=True)
class Class:
    """The source of a class, in parts."""

    name: str
    bases: str
    annotations: tuple[Expression, ...]
    doc: str | None
    members: tuple[Member, ...]
    markers: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Its source."""
        out = [quoting.comment(f"+{marker}") for marker in self.markers]
        if self.annotations:
            out += laid(call(Name("@annotate"), *self.annotations), indent=0, column=0).split("\n")
        out.append(f"class {quoting.identifier(self.name)}({self.bases}):")
        if self.doc:
            out += [*quoting.docstring(self.doc, 4).split("\n"), ""]
        for number, member in enumerate(self.members):
            spaced = bool(member.doc or member.markers or (number and self.members[number - 1].doc))
            if number and spaced:
                out.append("")
            out += member.lines()
        if not self.doc and not self.members:
            out.append("    pass")
        while not out[-1]:
            out.pop()
        return out

    def names(self) -> list[Name]:
        """The names to import for it."""
        annotations = [name for expression in self.annotations for name in names(expression)]
        members = [name for member in self.members for name in member.names()]
        return [*annotations, *members, *([api("annotate")] if self.annotations else [])]


def module_text(group: str, version: str, kinds: Sequence[tuple[Definition, Version]], builtin: BuiltinTypes) -> str:
    """The source of a module.

    Args:
        group: The API group.
        version: The API version.
        kinds: The CRDs with this group and version, and that version of each.
        builtin: Recognises Kubernetes' own types.
    """
    shapes = Shapes(((definition.kind, entry.schema) for definition, entry in kinds), builtin.find)
    speller = Speller(shapes)
    classes = [_class(shape.name, shape.schema, shape.doc, speller) for shape in shapes.ordered]
    classes += [_kind(definition, entry, speller) for definition, entry in kinds]
    needed = [name for one in classes for name in one.names()]
    needed += [api("CustomResource"), api("GroupVersion"), *([api("Struct")] if shapes.ordered else [])]
    head = quoting.docstring(f"Types of {group}/{version}: {', '.join(d.kind for d, _ in kinds)}.", 0).split("\n")
    constant = f"{GROUP_VERSION} = GroupVersion({laid(literal(group), indent=0, column=0)}, "
    imports = import_block((Import(name.module, (name.name,)) for name in needed if name.module), width=_SHORTEST)
    lines = [*head, "", imports, f"{constant}{laid(literal(version), indent=0, column=0)})"]
    for one in classes:
        lines += ["", "", *one.lines()]
    return "\n".join(lines) + "\n"


def _class(name: str, schema: Any, doc: str | None, speller: Speller) -> Class:
    return Class(name, "Struct", speller.class_annotations(schema), doc, _members(schema, speller))


def _members(schema: Any, speller: Speller, *, without: Iterable[str] = ()) -> tuple[Member, ...]:
    required = {each for each in schema.get("required") or () if isinstance(each, str)}
    members: dict[str, Member] = {}
    for name, prop in children(schema).items():
        if name not in without:
            attribute = attribute_name(name, members)
            members[attribute] = spell_member(speller, attribute, name, prop, required=name in required)
    return tuple(members.values())


def _kind(definition: Definition, version: Version, speller: Speller) -> Class:
    schema = version.schema
    is_first = version is definition.versions[0]
    annotations = list(speller.class_annotations(schema, _patch(schema)))
    if definition.conversion is not None and is_first:
        annotations.append(call(api("Conversion"), literal(definition.conversion)))
    text = schema.get("description")
    doc = text if isinstance(text, str) and survives(text) else None
    if text and doc is None:
        annotations.append(call(api("SchemaPatch"), literal({"description": text})))
    name = kind_class(definition.kind)
    kind = "" if name == definition.kind else f", kind={laid(literal(definition.kind), indent=0, column=0)}"
    bases = f"CustomResource, group_version={GROUP_VERSION}{kind}"
    markers = _kind_markers(definition, version, is_first=is_first)
    return Class(name, bases, tuple(annotations), doc, _kind_members(schema, speller), tuple(markers))


def _kind_members(schema: Mapping[str, Any], speller: Speller) -> tuple[Member, ...]:
    """The fields of a kind, without those that every kind has. ``metadata`` is included if it is required."""
    members = tuple(_status(each, speller, schema) for each in _members(schema, speller, without=OF_EVERY_KIND))
    if "metadata" not in (schema.get("required") or ()):
        return members
    metadata = Name("ObjectMeta", "pykb.api.meta.v1")
    return (Member("metadata", metadata, call(api("Field"), default_factory=metadata), None, _REQUIRED), *members)


def _patch(schema: Mapping[str, Any]) -> dict[str, object]:
    """What a kind's schema says about the properties of every kind, beyond a required ``metadata``."""
    patch: dict[str, object] = {}
    required = schema.get("required") or ()
    if any(name in OF_EVERY_KIND and name != "metadata" for name in required):
        patch["required"] = list(required)
    odd: dict[str, object] = {}
    for name, usual in OF_EVERY_KIND.items():
        own = {k: v for k, v in children(schema).get(name, usual).items() if k != "description"}
        if own != usual:
            odd[name] = {k: v for k, v in own.items() if usual.get(k) != v}
    return {**patch, "properties": odd} if odd else patch


def _status(member: Member, speller: Speller, schema: Mapping[str, Any]) -> Member:
    """Give a status without required fields a default, so that ``obj.status.phase = ...`` type-checks."""
    status = schema.get("properties", {}).get("status")
    if member.attribute != "status" or status is None or not member.is_left_out:
        return member
    shape = speller.shapes.of(status)
    fields = children(status)
    without_default = [n for n in status.get("required") or () if n in fields and "default" not in fields[n]]
    if shape is None or speller.shapes.builtin(status) or without_default:
        return member
    return member.made_by(call(api("Field"), default_factory=Name(shape.name)))


_SHORTEST = 79
"""The length up to which imports stay on one line in any project. Longer ones are
written so that no sorter joins them.
"""


def _kind_markers(definition: Definition, version: Version, *, is_first: bool) -> list[str]:
    """The markers of a kind, in the usual order.

    Args:
        definition: The CRD.
        version: The version that the class is for.
        is_first: Whether this version has the CRD's annotations and labels.
    """
    spec = version.spec
    markers = [*_version_markers(spec, is_single=len(definition.versions) == 1), *_subresource_markers(spec)]
    if resource := _resource(definition):
        markers.append("resource:" + _arguments(resource))
    markers += ["printcolumn:" + _arguments(_column(column)) for column in spec.get("additionalPrinterColumns") or []]
    markers += [f"selectablefield:JSONPath={_quoted(f['jsonPath'])}" for f in spec.get("selectableFields") or []]
    if is_first:
        markers += [f"metadata:annotations={_quoted(f'{k}={v}')}" for k, v in sorted(definition.annotations.items())]
        markers += [f"metadata:labels={_quoted(f'{k}={v}')}" for k, v in sorted(definition.labels.items())]
    return [f"kubebuilder:{marker}" for marker in markers]


def _version_markers(spec: Mapping[str, Any], *, is_single: bool) -> Iterator[str]:
    if spec.get("storage") and not is_single:
        yield "storageversion"
    if spec.get("served") is False:
        yield "unservedversion"
    if spec.get("deprecated"):
        warning = spec.get("deprecationWarning")
        yield "deprecatedversion" + (f":warning={_quoted(warning)}" if warning is not None else "")


def _subresource_markers(spec: Mapping[str, Any]) -> Iterator[str]:
    subresources = spec.get("subresources") or {}
    if "status" in subresources:
        yield "subresource:status"
    scale = subresources.get("scale")
    if isinstance(scale, Mapping):
        paths = {argument: scale[key] for key, argument in _SCALE.items() if scale.get(key) is not None}
        yield "subresource:scale:" + _arguments({argument: _quoted(path) for argument, path in paths.items()})


_SCALE = {"specReplicasPath": "specpath", "statusReplicasPath": "statuspath", "labelSelectorPath": "selectorpath"}
"""The arguments of the marker for the keys of the subresource."""


def _quoted(value: object) -> str:
    """A text quoted by Go's rules, as in markers."""
    text = str(value)
    if "`" not in text and text.isprintable() and ('"' in text or "\\" in text):
        return f"`{text}`"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else _escape(char) for char in escaped) + '"'


def _escape(char: str) -> str:
    simple = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    return simple or (f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")


def _arguments(arguments: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in arguments.items())


def _column(column: Mapping[str, object]) -> dict[str, str]:
    arguments = {
        "name": _quoted(column.get("name")),
        "type": str(column.get("type")),
        "JSONPath": _quoted(column.get("jsonPath")),
    }
    arguments |= {name: _quoted(column[name]) for name in ("description", "format") if column.get(name)}
    return arguments | ({"priority": str(column["priority"])} if column.get("priority") else {})


def _resource(definition: Definition) -> dict[str, str]:
    """The names and the scope that differ from those of a kind without the marker."""
    names = definition.names
    arguments: dict[str, str] = {}
    if names.get("plural") != pluralize(definition.kind).lower():
        arguments["path"] = str(names["plural"])
    if names.get("singular") not in (None, "", definition.kind.lower()):
        arguments["singular"] = str(names["singular"])
    if definition.scope != "Namespaced":
        arguments["scope"] = definition.scope
    for key, argument in (("shortNames", "shortName"), ("categories", "categories")):
        if names.get(key):
            arguments[argument] = ";".join(map(str, names[key]))
    return arguments


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
    """The modules for some CRDs, by path.

    Raises:
        NotDeclarativeError: A module would have other code than declarations. This is a mistake in pykb.
    """
    by_version: dict[tuple[str, str], list[tuple[Definition, Version]]] = {}
    groups: dict[str, str] = {}
    for definition in definitions:
        folder = group_folder(definition.group)
        other = groups.setdefault(folder, definition.group)
        if other != definition.group:
            diagnostics.report(
                FOLDER_CLASH,
                None,
                f"the groups `{other}` and `{definition.group}` are both the folder `{folder}`",
                f"import them separately: `--output DIR1` for `{other}`, `--output DIR2` for the other",
                notes=NOTHING_WRITTEN,
            )
            continue
        for version in definition.versions:
            by_version.setdefault((definition.group, version.name), []).append((definition, version))
    if diagnostics.has_errors():
        return []
    builtin = builtin_types()
    files: list[ModuleFile] = []
    for (group, name), kinds in sorted(by_version.items()):
        text = sealed(module_text(group, name, kinds, builtin))
        check_declarative(text)
        path = f"{group_folder(group)}/{version_module(name)}.py"
        files.append(ModuleFile(path, text, group, frozenset(definition.kind for definition, _ in kinds)))
    return files


def sealed(text: str) -> str:
    """The text with a checksum line that later shows whether somebody edited it."""
    return f"{_header(_sum(text))}{text}"


def is_untouched(text: str) -> bool:
    """Whether a module is unchanged since an import wrote it."""
    match = _CHECKSUM.match(text)
    return match is not None and text.startswith(_header(match["sum"])) and match["sum"] == _sum(_body(text))


def group_of(text: str) -> str | None:
    """The API group of an imported module; ``None`` for any other file."""
    match = _GROUP.search(text)
    return match["group"] if match else None


def kinds_in(text: str) -> frozenset[str]:
    """The kinds of an imported module."""
    return frozenset(match["kind"] or match["name"] for match in _KIND.finditer(text))


def _header(checksum: str) -> str:
    return f"{IMPORTED}checksum: {checksum}\n{_LENIENT}"


def _body(text: str) -> str:
    return text[len(_header("0" * 16)) :]


def _sum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def needed_inits(output: str, files: Iterable[ModuleFile]) -> Mapping[str, str]:
    """The ``__init__.py`` files of the packages, by path."""
    inits = {
        f"{output}/{file.path.rpartition('/')[0]}/__init__.py": '"""Types of one API group."""\n' for file in files
    }
    # The working directory itself is not a package.
    own = {} if output == "." else {f"{output}/__init__.py": '"""Types imported from CustomResourceDefinitions."""\n'}
    return {**own, **inits}

"""Requests of a reconciler that no RBAC marker allows, as its text shows them.

Only what is certain is reported: the class of the object is in the text, and nothing in the project grants any of the
verbs that would do. The explorer finds the rest: it sees the requests.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pykb._regular_file import read_text
from pykb.api.builtin_table import TABLE
from pykb.client.errors import allows, rule_marker
from pykb.diagnostics import Diagnostic, Diagnostics, Edit, EnvironmentProblem, Label, Severity, Span
from pykb.diagnostics.codes.explore import RBAC
from pykb.gen._load import find_files
from pykb.gen._rbac import MARKER, rule_of
from pykb.markers.collect import Columns, scan
from pykb.markers.comments import split_lines
from pykb.markers.registry import builtin_registry
from pykb.meta.names import pluralize
from pykb.project.file import read
from pykb.project.settings import config_path
from pykb.reading import read_python, yaml_text

_Rule = Mapping[str, Any]
_Resource = tuple[str, str]
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FOR_USERS = re.compile(r"_(admin|editor|viewer)_role\.yaml$")
"""Roles that people get, and not the manager."""
_FOR_ALL = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups in which every account may create reviews of itself."""
_READS = ("get", "list", "watch")
_VERBS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "get": (_READS,),
    "find": (_READS,),
    "list": (("list",),),
    "create": (("create",),),
    "update": (("update",),),
    "patch": (("patch",),),
    "apply": (("patch",),),
    "delete": (("delete",),),
    "delete_all_of": (("deletecollection",),),
}
"""By method of the client: what must be granted. One verb of each tuple is enough: a cache reads in other ways."""
_HELPERS = {
    "ensure_applied": "create",
    "create_or_update": "create",
    "create_or_patch": "create",
    "list_controlled": "list",
    "patch_status": "patch",
}
"""Functions that take the client and an object or a kind, and what they send in every case."""
_WATCHES = frozenset({"for_", "owns", "watches"})


@dataclass(frozen=True, slots=True)
class Request:
    """Requests that a reconciler sends for a resource: one verb of each tuple must be granted."""

    resource: _Resource
    verbs: tuple[tuple[str, ...], ...]
    span: Span
    line: int
    """The line to put a marker above."""


@dataclass(slots=True)
class Access:
    """Knows the rules of projects, and reads again only files that have changed."""

    _files: dict[Path, tuple[object, list[_Rule]]] = field(default_factory=dict)

    def findings(self, root: Path, path: Path, text: str) -> list[Diagnostic]:
        """The requests in a file of a project that nothing allows, one finding for each resource.

        Args:
            root: The project.
            path: The file.
            text: Its text, as the editor has it.
        """
        if "Reconciler" not in text:
            return []
        try:
            own, manifests = _own_kinds(root), _manifests(root)
        except (EnvironmentProblem, OSError):  # PROJECT or the settings are wrong: `pykb generate` says so
            return []
        found: dict[_Resource, list[Request]] = {}
        for each in requests(text, str(path), own):
            found.setdefault(each.resource, []).append(each)
        if not found:
            return []
        rules = [*_in_markers(text), *(rule for file in _sources(root) if file != path for rule in self._rules(file))]
        if not rules:  # it grants access in another way
            return []
        rules += [rule for file in manifests for rule in self._rules(file)]
        return [each for (group, name), calls in found.items() for each in _missing(rules, group, name, calls, text)]

    def _rules(self, file: Path) -> list[_Rule]:
        """The rules in a module or in a manifest. None if it cannot be read: other findings say so."""
        try:
            status = file.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            known = self._files.get(file)
            if known is None or known[0] != stamp:
                read_rules = _in_markers if file.suffix == ".py" else _in_manifest
                known = self._files[file] = (stamp, read_rules(read_text(file)))
        except (OSError, UnicodeDecodeError, yaml.MarkedYAMLError):
            return []
        return known[1]


def _sources(root: Path) -> list[Path]:
    return find_files(root.resolve(), ["."], Diagnostics())


def _manifests(root: Path) -> list[Path]:
    return [file for file in sorted(config_path(root, "rbac").glob("*.yaml")) if not _FOR_USERS.search(file.name)]


def _in_markers(text: str) -> list[_Rule]:
    source = scan(text, "", registry=builtin_registry(), diagnostics=Diagnostics())
    markers = source.package_markers if source is not None else ()
    return [rule_of(marker).to_object() for marker in markers if marker.name == MARKER]


def _in_manifest(text: str) -> list[_Rule]:
    objects = [each for each in yaml_text.load_all(text) if isinstance(each, dict)]
    rules = [rules for each in objects if isinstance(rules := each.get("rules"), list)]
    return [rule for each in rules for rule in each if isinstance(rule, dict)]


def _missing(
    rules: Sequence[_Rule], group: str, name: str, calls: Iterable[Request], text: str
) -> Iterator[Diagnostic]:
    """The finding for a resource, if a request for it is not allowed."""
    refused = {
        (call, verbs[0]): None
        for call in calls
        for verbs in call.verbs
        if not any(allows(rule, verb, group, name) for rule in rules for verb in verbs)
    }
    if not refused:
        return
    first, *others = dict.fromkeys(call for call, _ in refused)
    verbs = list(dict.fromkeys(verb for _, verb in refused))
    marker = rule_marker(verbs, group, name)
    following = split_lines(text)[first.line - 1]
    indent = following[: len(following) - len(following.lstrip())]
    place = Span(first.span.path, first.line, 1, first.line, 1)
    yield RBAC.at(
        first.span,
        f"no marker allows to {' or '.join(verbs)} {name}: add `{marker}`",
        labels=tuple(Label(call.span, "here, too") for call in others),
        fix=(Edit(place, "", f"{indent}{marker}\n"),),
        severity=Severity.NOTE,
    )


def _own_kinds(root: Path) -> dict[tuple[str, str], _Resource]:
    """The kinds in PROJECT by version and name. Those of a name that several groups have are left out."""
    listed = [each for each in read(root)[0].resources if each.kind and not each.core]
    count = Counter((each.version, each.kind) for each in listed)
    return {key: (e.api_group, e.plural) for e in listed if count[key := (e.version, e.kind)] == 1}


# -- Requests in a text


def requests(text: str, path: str, own: Mapping[tuple[str, str], _Resource]) -> Iterator[Request]:
    """The requests of the reconcilers in a module, as far as their resources are certain.

    Args:
        text: The module.
        path: Its path, for the places.
        own: The kinds of the project by version and name.
    """
    try:
        tree = read_python(text, path)
    except SyntaxError:
        return
    module = _Module(tree, own)
    columns = Columns(text, path)
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and module.is_reconciler(statement):
            methods = [each for each in statement.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            for method in methods:
                for call, resource, verbs in _Method(method, module).requests():
                    line = _place_for_marker(statement, methods, text)
                    yield Request(resource, verbs, columns.span(call.func), line)


def _place_for_marker(reconciler: ast.ClassDef, methods: Sequence[_Function], text: str) -> int:
    """The line above which a marker belongs: below the last one of the class, else above its `reconcile`."""
    lines = split_lines(text)[: reconciler.end_lineno]
    markers = [n for n in range(reconciler.lineno, len(lines)) if lines[n].lstrip().startswith(f"# +{MARKER}:")]
    if markers:
        return markers[-1] + 2
    target = next((each for each in methods if each.name == "reconcile"), methods[0])
    return min([target.lineno, *(each.lineno for each in target.decorator_list)])


class _Module:
    """The names of a module that are certain: imported from pykb or from the project's API, and never bound again."""

    def __init__(self, tree: ast.Module, own: Mapping[tuple[str, str], _Resource]) -> None:
        self.kinds: dict[str, _Resource] = {}
        self.runtime: dict[str, str] = {}
        self.results: dict[str, ast.expr] = {}
        builtin = {(module, kind): group for (group, _), (module, names) in TABLE.items() for kind in names}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                module = node.module or ""
                for alias in node.names:
                    name = alias.asname or alias.name
                    if module == "pykb.runtime":
                        self.runtime[name] = alias.name
                    elif (group := builtin.get((module, alias.name))) is not None and group not in _FOR_ALL:
                        self.kinds[name] = (group, pluralize(alias.name))
                    elif (kind := own.get((_version_of(module), alias.name))) is not None and "api" in module.split(
                        "."
                    ):
                        self.kinds[name] = kind
            elif isinstance(node, ast.FunctionDef) and node.returns is not None:
                self.results[node.name] = node.returns
        bound = Counter(_bound(tree))
        for names in (self.kinds, self.runtime, self.results):
            for name in [name for name in names if bound[name] > 1]:
                del names[name]

    def is_reconciler(self, node: ast.ClassDef) -> bool:
        """Whether a class is a reconciler with the client of its manager."""
        bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
        if not any(isinstance(base, ast.Name) and self.runtime.get(base.id) == "Reconciler" for base in bases):
            return False
        stored = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and _is_stored(each)}
        for each in node.body:
            stored |= {each.name} if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) else set(_bound(each))
        return "client" not in stored


def _version_of(module: str) -> str:
    return next((part for part in reversed(module.split(".")) if re.fullmatch(r"v\d\w*", part)), "")


def _bound(tree: ast.AST) -> Iterator[str]:
    """The names that are bound in a tree, each time."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and _is_stored(node):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def _is_stored(node: ast.Name | ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


class _Method:
    """A method of a reconciler. A variable counts if it is bound once."""

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef, module: _Module) -> None:
        self._node = node
        self._module = module
        self._self = node.args.args[0].arg if node.args.args else ""
        self._values: dict[str, ast.expr] = {}
        self._annotations: dict[str, ast.expr] = {}
        for each in ast.walk(node):
            if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
                self._values[each.targets[0].id] = each.value
            elif isinstance(each, ast.NamedExpr):
                self._values[each.target.id] = each.value
            elif isinstance(each, ast.arg) and each.annotation is not None:
                self._annotations[each.arg] = each.annotation
        bound = Counter(_bound(node))
        for names in (self._values, self._annotations):
            for name in [name for name in names if bound[name] > 1]:
                del names[name]

    def requests(self) -> Iterator[tuple[ast.Call, _Resource, tuple[tuple[str, ...], ...]]]:
        """The calls that send requests, with the resource and the verbs."""
        for call in ast.walk(self._node):
            if isinstance(call, ast.Call) and call.args:
                resource, verbs = self._sent(call)
                if resource is not None:
                    yield call, resource, verbs

    def _sent(self, call: ast.Call) -> tuple[_Resource | None, tuple[tuple[str, ...], ...]]:
        function = call.func
        if isinstance(function, ast.Name) and len(call.args) > 1 and self._is_client(call.args[0]):
            helper = self._module.runtime.get(function.id, "")
            if helper in _HELPERS:
                part = "status" if helper == "patch_status" else ""
                return _part(self._resource(call.args[1]), part), _VERBS[_HELPERS[helper]]
        if isinstance(function, ast.Attribute):
            target, method = function.value, function.attr
            if method in _WATCHES and self._is_builder(target):
                return self._kind(call.args[0]), (("list",), ("watch",))
            if method in _VERBS:
                if self._is_client(target):
                    return self._resource(call.args[0]), _VERBS[method]
                if isinstance(target, ast.Attribute) and target.attr == "status" and self._is_client(target.value):
                    return _part(self._object(call.args[0]), "status"), _VERBS[method]
        return None, ()

    def _is_client(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute) and node.attr == "live":
            node = node.value
        is_own = isinstance(node, ast.Attribute) and node.attr == "client" and isinstance(node.value, ast.Name)
        return is_own and ast.unparse(node) == f"{self._self}.client"

    def _is_builder(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        if isinstance(node, ast.Name):
            node = self._values.get(node.id, node)
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        is_name = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        return is_name and self._module.runtime.get(ast.unparse(node).partition("(")[0]) == "ControllerBuilder"

    def _resource(self, node: ast.expr) -> _Resource | None:
        return self._kind(node) or self._object(node)

    def _kind(self, node: ast.expr) -> _Resource | None:
        """The resource of a class, or of an annotation. ``X | None`` is an ``X``."""
        if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value is None:
            node = node.left
        return self._module.kinds.get(node.id) if isinstance(node, ast.Name) else None

    def _object(self, node: ast.expr) -> _Resource | None:
        """The resource of an object."""
        if isinstance(node, ast.Await):
            node = node.value
        if isinstance(node, ast.Name):
            if node.id in self._annotations:
                return self._kind(self._annotations[node.id])
            node = self._values.get(node.id, node)
            node = node.value if isinstance(node, ast.Await) else node
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Name):
            result = self._module.results.get(node.func.id)
            return self._kind(node.func) or (self._kind(result) if result is not None else None)
        is_read = isinstance(node.func, ast.Attribute) and node.func.attr in {"get", "find"}
        if is_read and isinstance(node.func, ast.Attribute) and self._is_client(node.func.value) and node.args:
            return self._kind(node.args[0])
        return None


def _part(resource: _Resource | None, part: str) -> _Resource | None:
    return (resource[0], f"{resource[1]}/{part}") if resource is not None and part else resource

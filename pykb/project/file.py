"""PROJECT: what was scaffolded, in kubebuilder's version 3 of the file.

``repo`` is the import package of the project, ``path`` of a resource the module of its class. Comments, unknown keys
and quotes survive a change; a key that pykb adds goes where the alphabet puts it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import pairwise
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.project import PROJECT_FIELD, PROJECT_SYNTAX, PROJECT_VERSION, RESTORE
from pykb.meta.plural import pluralize
from pykb.project import FILE_NAME
from pykb.project.resource import Resource
from pykb.project.webhooks import Webhooks
from pykb.reading import yaml_text

VERSION = "3"

_HEADER = """\
# What `pykb` scaffolded, so that it can go on from here. Commands write this file; it can be read by other tools.
# The keys are those of kubebuilder's PROJECT, version 3.
"""


@dataclass(frozen=True, slots=True)
class Project:
    """The PROJECT file as it was read or made. A change gives a new value; ``document`` is copied before it."""

    domain: str
    project_name: str
    package: str
    layout: tuple[str, ...]
    multigroup: bool
    namespaced: bool
    cli_version: str
    resources: tuple[Resource, ...]
    document: CommentedMap
    indented_lists: bool = False
    newline: str = "\n"

    def find(self, resource: Resource) -> Resource | None:
        """The entry with the same identity."""
        return next((r for r in self.resources if r.identity == resource.identity), None)

    def span(self, resource: Resource, key: str = "kind") -> Span:
        """Where an entry says ``key``; its first line where it does not."""
        entries: CommentedSeq = self.document["resources"]
        index = next(i for i, r in enumerate(self.resources) if r.identity == resource.identity)
        return value_span(entries[index], key) if key in entries[index] else _item_span(entries, index)

    def with_resource(self, resource: Resource) -> Project:
        """The file with one entry added, or replaced where its identity is known."""
        document = copy.deepcopy(self.document)
        entries = document.get("resources")
        if not isinstance(entries, CommentedSeq):
            entries = CommentedSeq()
            _put(document, "resources", entries)
        position = next((i for i, r in enumerate(self.resources) if r.identity == resource.identity), None)
        resources = list(self.resources)
        if position is None:
            entries.append(_entry(resource))
            resources.append(resource)
        else:
            _update(entries[position], _entry(resource))
            resources[position] = resource
        return replace(self, document=document, resources=tuple(resources))

    def render(self) -> str:
        """The text of the file."""
        return _dump(self.document, indented_lists=self.indented_lists).replace("\n", self.newline)


def create(
    *,
    domain: str,
    project_name: str,
    package: str,
    layout: Sequence[str],
    multigroup: bool,
    namespaced: bool,
    cli_version: str,
) -> Project:
    """The file of a new project."""
    values: dict[str, Any] = {
        "cliVersion": cli_version,
        "domain": domain,
        "layout": list(layout),
        "multigroup": multigroup or None,
        "namespaced": namespaced or None,
        "projectName": project_name,
        "repo": package,
        "version": DoubleQuotedScalarString(VERSION),
    }
    document = CommentedMap({key: value for key, value in values.items() if value is not None})
    project, found = load(_HEADER + _dump(document, indented_lists=False))
    if project is None:  # names are validated before; what remains is a bug
        raise AssertionError(list(found))
    return project


def load(text: str) -> tuple[Project | None, Diagnostics]:
    """Read the file; ``None`` with findings when it cannot be used."""
    found = Diagnostics()
    newline = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n")
    try:
        document = _parse(text)
    except (MarkedYAMLError, yaml.MarkedYAMLError) as error:
        mark = error.problem_mark or error.context_mark
        if mark is not None and error.context_mark is not None and mark.line >= len(text.splitlines()):
            mark = error.context_mark  # what was left open says more than the end of the file
        span = Span(FILE_NAME, mark.line + 1, mark.column + 1) if mark else Span(FILE_NAME, 1, 1)
        message = f"PROJECT {yaml_text.verdict(error)}: {_problem(error)}"
        found.add(PROJECT_SYNTAX.at(span, message, help=(RESTORE,)))
        return None, found
    if not isinstance(document, CommentedMap):
        message = "PROJECT must be a mapping of keys to values"
        found.add(PROJECT_SYNTAX.at(Span(FILE_NAME, 1, 1), message, help=(RESTORE,)))
        return None, found
    reader = _Reader(found)
    version = document.get("version")
    if str(version) != VERSION:
        span = value_span(document, "version") if "version" in document else Span(FILE_NAME, 1, 1)
        shown = "no version" if version is None else f"version `{version}`"
        found.add(PROJECT_VERSION.at(span, f'PROJECT has {shown}, expected `"{VERSION}"`'))
    layout = document.get("layout", [])
    entries = document.get("resources") or CommentedSeq()
    if not isinstance(entries, CommentedSeq):
        found.add(reader.wrong(document, "resources", "a list"))
        entries = CommentedSeq()
    project = Project(
        domain=reader.text(document, "domain"),
        project_name=reader.text(document, "projectName", required=True),
        package=reader.text(document, "repo"),
        layout=(layout,) if isinstance(layout, str) else tuple(reader.texts(document, "layout")),
        multigroup=reader.flag(document, "multigroup"),
        namespaced=reader.flag(document, "namespaced"),
        cli_version=reader.text(document, "cliVersion"),
        resources=tuple(reader.resource(entries, index) for index in range(len(entries))),
        document=document,
        indented_lists=_has_indented_lists(text),
        newline=newline,
    )
    return (None if found.has_errors else project), found


def _parse(text: str) -> object:
    """The document with its comments. What ruamel cannot read in other ways than by syntax, PyYAML says where.

    Raises:
        ruamel.yaml.error.MarkedYAMLError: It is no YAML.
        yaml.MarkedYAMLError: It is no YAML, or exceeds a limit.
    """
    try:
        document: object = _yaml().load(text)
    except MarkedYAMLError:
        raise
    except Exception as error:
        yaml_text.load(text)
        problem = str(error).partition("\n")[0]
        raise MarkedYAMLError(problem=problem) from error
    return document


def _problem(error: MarkedYAMLError | yaml.MarkedYAMLError) -> str:
    return (
        str(error.problem or "it cannot be parsed").replace("'", "`").replace("`<stream end>`", "the end of the file")
    )


class _Reader:
    """Takes values out of the document; what does not fit is a finding at its place."""

    def __init__(self, found: Diagnostics) -> None:
        self.found = found

    def text(self, node: CommentedMap, key: str, *, required: bool = False) -> str:
        value = node.get(key)
        if value is None:
            if required:
                self.found.add(PROJECT_FIELD.at(_map_span(node), f"PROJECT needs the key `{key}`"))
            return ""
        if not isinstance(value, str):
            self.found.add(self.wrong(node, key, "text"))
            return ""
        return value

    def texts(self, node: CommentedMap, key: str) -> list[str]:
        value = node.get(key, [])
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return list(value)
        self.found.add(self.wrong(node, key, "a list of texts"))
        return []

    def flag(self, node: CommentedMap, key: str) -> bool:
        value = node.get(key, False)
        if isinstance(value, bool):
            return value
        self.found.add(self.wrong(node, key, "`true` or `false`"))
        return False

    def resource(self, entries: CommentedSeq, index: int) -> Resource:
        node = entries[index]
        if not isinstance(node, CommentedMap):
            self.found.add(PROJECT_FIELD.at(_item_span(entries, index), "a resource must be a mapping"))
            return Resource("", "", "", "", "")
        api = node.get("api")
        if api is not None and not isinstance(api, CommentedMap):
            self.found.add(self.wrong(node, "api", "a mapping"))
            api = None
        kind = self.text(node, "kind", required=True)
        named = node.get("controllers") or []
        if not isinstance(named, list) or not all(
            isinstance(c, Mapping) and isinstance(c.get("name"), str) for c in named
        ):
            self.found.add(self.wrong(node, "controllers", "a list of mappings with a `name`"))
            named = []
        return Resource(
            group=self.text(node, "group"),
            domain=self.text(node, "domain"),
            version=self.text(node, "version", required=True),
            kind=kind,
            plural=self.text(node, "plural") or pluralize(kind),
            path=self.text(node, "path"),
            namespaced=self.flag(api, "namespaced") if api is not None else True,
            api=api is not None,
            core=self.flag(node, "core"),
            external=self.flag(node, "external"),
            controller=self.flag(node, "controller"),
            controllers=tuple(c["name"] for c in named),
            webhooks=self.webhooks(node),
        )

    def webhooks(self, entry: CommentedMap) -> Webhooks | None:
        node = entry.get("webhooks")
        if node is None:
            return None
        if not isinstance(node, CommentedMap):
            self.found.add(self.wrong(entry, "webhooks", "a mapping"))
            return None
        return Webhooks(
            defaulting=self.flag(node, "defaulting"),
            validation=self.flag(node, "validation"),
            conversion=self.flag(node, "conversion"),
            spoke=tuple(self.texts(node, "spoke")),
            defaulting_path=self.text(node, "defaultingPath"),
            validation_path=self.text(node, "validationPath"),
        )

    def wrong(self, node: CommentedMap, key: str, expected: str) -> Diagnostic:
        return PROJECT_FIELD.at(value_span(node, key), f"`{key}` must be {expected}")


def _entry(resource: Resource) -> CommentedMap:
    values: dict[str, Any] = {
        "api": CommentedMap({"crdVersion": "v1", **({"namespaced": True} if resource.namespaced else {})})
        if resource.api
        else None,
        "controller": resource.controller or None,
        "controllers": [{"name": name} for name in resource.controllers] or None,
        "core": resource.core or None,
        "domain": resource.domain or None,
        "external": resource.external or None,
        "group": resource.group or None,
        "kind": resource.kind,
        "path": resource.path or None,
        "plural": resource.plural if resource.irregular_plural else None,
        "version": resource.version,
        "webhooks": _webhooks(resource.webhooks) if resource.webhooks else None,
    }
    return CommentedMap({key: value for key, value in values.items() if value is not None})


def _webhooks(webhooks: Webhooks) -> CommentedMap:
    values: dict[str, Any] = {
        "conversion": webhooks.conversion or None,
        "defaulting": webhooks.defaulting or None,
        "defaultingPath": webhooks.defaulting_path or None,
        "spoke": list(webhooks.spoke) or None,
        "validation": webhooks.validation or None,
        "validationPath": webhooks.validation_path or None,
        "webhookVersion": "v1",
    }
    return CommentedMap({key: value for key, value in values.items() if value is not None})


_OURS = frozenset({"api", "controller", "controllers", "core", "domain", "external", "group", "kind", "path", "plural"})
_INNER = {"api": ("namespaced",), "webhooks": ("defaultingPath", "validationPath")}
"""The keys of mappings that go where a change leaves them out; other unknown ones stay."""


def _update(node: CommentedMap, wanted: CommentedMap) -> None:
    """Make an entry say what is wanted, and touch nothing that says so already."""
    for key in _OURS - set(wanted):
        node.pop(key, None)
    for key, value in wanted.items():
        if isinstance(value, CommentedMap) and isinstance(node.get(key), CommentedMap):
            for inner, text in value.items():
                if node[key].get(inner) != text:
                    _put(node[key], inner, text)
            for inner in _INNER[key]:
                if inner not in value:
                    node[key].pop(inner, None)
        elif node.get(key) != value:
            _put(node, key, value)


def _put(node: CommentedMap, key: str, value: Any) -> None:
    if key in node:
        node[key] = value
        return
    position = max((i + 1 for i, other in enumerate(node) if str(other) < key), default=0)
    node.insert(position, key, value)


def _yaml() -> YAML:
    reader = YAML()
    reader.width = 4096
    reader.preserve_quotes = True
    return reader


def _dump(document: CommentedMap, *, indented_lists: bool) -> str:
    writer = _yaml()
    if indented_lists:
        writer.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    writer.dump(document, stream)
    return stream.getvalue()


def _has_indented_lists(text: str) -> bool:
    lines = text.splitlines()
    return any(
        line.rstrip() in {"layout:", "resources:"} and following.startswith("  - ")
        for line, following in pairwise(lines)
    )


def value_span(node: CommentedMap, key: str) -> Span:
    """Where the value of a key stands."""
    line, column = node.lc.value(key)
    return Span(FILE_NAME, line + 1, column + 1, end_column=column + 1 + max(1, len(str(node[key]))))


def _item_span(node: CommentedSeq, index: int) -> Span:
    line, column = node.lc.item(index)
    return Span(FILE_NAME, line + 1, column + 1)


def _map_span(node: CommentedMap) -> Span:
    return Span(FILE_NAME, node.lc.line + 1, node.lc.col + 1)

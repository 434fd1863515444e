"""Changes PROJECT. Keeps comments, unknown keys and quotes. New keys are added in alphabetical order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from pykb.diagnostics import EnvironmentProblem
from pykb.project import Certificates
from pykb.project.file import CERTIFICATES, OPERANDS, RECORDS, SETTINGS, VERSION, Project, load, syntax_problem
from pykb.project.options import NONE, ProjectOptions, given, options_of
from pykb.project.resource import NO_OPERAND, Resource, Webhooks

_HEADER = """\
# What `pykb` has scaffolded. Its commands read and write this file. Other tools may read it.
# The keys are those of kubebuilder's PROJECT, version 3.
"""


def new_project(
    *,
    domain: str,
    project_name: str,
    package: str,
    layout: Sequence[str],
    multigroup: bool,
    namespaced: bool,
    cli_version: str,
) -> Project:
    """The content of a new project's file."""
    document = CommentedMap()
    _update(
        document,
        {
            "cliVersion": cli_version,
            "domain": domain,
            "layout": list(layout),
            "multigroup": multigroup,
            "namespaced": namespaced,
            "projectName": project_name,
            "repo": package,
            "version": DoubleQuotedScalarString(VERSION),
        },
    )
    project, _ = load(_HEADER + _dump(document, indented_lists=False))
    return project


def with_resource(project: Project, resource: Resource) -> Project:
    """The file with an entry added, or replaced if its identity exists.

    Raises:
        EnvironmentProblem: The file has something that can be read but not written back unchanged.
    """
    index = project.index(resource)

    def change(document: CommentedMap) -> None:
        entries = document.get("resources")
        if not isinstance(entries, CommentedSeq):
            entries = CommentedSeq()
            _put(document, "resources", entries)
        if index is None:
            entries.append(CommentedMap())
        _update(entries[-1 if index is None else index], _entry(resource))
        _put_records(document, resource)

    return _changed(project, change)


def with_value(project: Project, value: object, *path: str) -> Project:
    """The file with another value of the project. An empty one goes, with the mappings that it was alone in.

    Raises:
        EnvironmentProblem: The file has something that can be read but not written back unchanged.
    """
    return _changed(project, lambda document: _put_setting(document, path, value))


def with_certificates(project: Project, certificates: Certificates | None) -> Project:
    """The file with the issuer of the certificates, where kubebuilder keeps the settings of plugins.

    Raises:
        EnvironmentProblem: The file has something that can be read but not written back unchanged.
    """
    return with_value(project, certificates and str(certificates), *CERTIFICATES)


def with_options(project: Project, options: Mapping[str, int]) -> Project:
    """The file with other options of the project, by the names of their fields. 0 is left out.

    Raises:
        EnvironmentProblem: The file has something that can be read but not written back unchanged.
    """
    for name, value in options.items():
        project = with_value(project, value, *SETTINGS, options_of(ProjectOptions)[name].key)
    return project


def without_resource(project: Project, resource: Resource) -> Project:
    """The file without an entry.

    Raises:
        EnvironmentProblem: The file has something that can be read but not written back unchanged.
    """
    index = project.index(resource)

    def change(document: CommentedMap) -> None:
        del document["resources"][index]
        if not document["resources"]:
            del document["resources"]
        _put_records(document, replace(resource, operand=None, handlers=(), api=False))

    return _changed(project, change)


def with_layout(project: Project, layout: Sequence[str]) -> Project:
    """The file with other plugins.

    Raises:
        EnvironmentProblem: The file has something that can be read but not written back unchanged.
    """

    def change(document: CommentedMap) -> None:
        known = document.get("layout")
        if isinstance(known, CommentedSeq) and list(layout[: len(known)]) == list(known):
            known.extend(layout[len(known) :])
        else:
            _put(document, "layout", CommentedSeq(layout))

    return _changed(project, change)


def _changed(project: Project, change: Callable[[CommentedMap], None]) -> Project:
    newline = "\r\n" if "\r\n" in project.text else "\n"
    text = project.text.replace("\r\n", "\n")
    document = _parse(text)
    change(document)
    changed, _ = load(_dump(document, indented_lists=_has_indented_lists(text)).replace("\n", newline))
    return changed


def _parse(text: str) -> CommentedMap:
    text = text.replace("\r\n", "\n")
    try:
        document: CommentedMap = _yaml().load(text)
    except Exception as error:
        marked = error if isinstance(error, MarkedYAMLError) else MarkedYAMLError(problem=f"{error}".partition("\n")[0])
        raise EnvironmentProblem(syntax_problem(marked, text)) from error
    return document


def _entry(resource: Resource) -> dict[str, Any]:
    """The keys of an entry. Those that are empty are left out of the file."""
    return {
        "api": resource.api and {"crdVersion": "v1", "namespaced": resource.namespaced},
        "controller": resource.controller,
        "controllers": [{"name": name} for name in resource.controllers],
        "core": resource.core,
        "domain": resource.domain,
        "external": resource.external,
        "group": resource.group,
        "kind": resource.kind,
        "path": resource.path,
        "plural": resource.irregular_plural and resource.plural,
        "version": resource.version,
        "webhooks": resource.webhooks and _webhooks(resource.webhooks),
    }


def _webhooks(webhooks: Webhooks) -> dict[str, Any]:
    return {
        "conversion": webhooks.conversion,
        "defaulting": webhooks.defaulting,
        "defaultingPath": webhooks.defaulting_path,
        "spoke": list(webhooks.spoke),
        "validation": webhooks.validation,
        "validationPath": webhooks.validation_path,
        "webhookVersion": "v1",
    }


def _put_setting(document: CommentedMap, path: Sequence[str], value: object) -> None:
    """Set a setting of a plugin. Without a value it goes, with the mappings that it was alone in."""
    *around, last = path
    nodes = [document]
    for key in around:
        if not isinstance(nodes[-1].get(key), CommentedMap):
            _put(nodes[-1], key, CommentedMap())
        nodes.append(nodes[-1][key])
    if value:
        _put(nodes[-1], last, value)
        return
    nodes[-1].pop(last, None)
    for node, key in reversed(list(zip(nodes, around, strict=False))):
        if not node[key]:
            del node[key]


def _put_records(document: CommentedMap, resource: Resource) -> None:
    """Set what plugins keep about a kind."""
    _put_record(document, OPERANDS, resource, options=_texts(resource.operand or NO_OPERAND))
    options = resource.options if resource.api else NONE
    handlers = [name for name in resource.handlers if name in resource.controller_names]
    _put_record(document, RECORDS, resource, handlers=handlers, options=_texts(options))


def _put_record(document: CommentedMap, path: Sequence[str], resource: Resource, **record: object) -> None:
    """Set what a plugin keeps about a kind. Empty values go, and so does a record without values."""
    found: Any = document
    for key in path:
        found = found.get(key) if isinstance(found, CommentedMap) else None
    entries = found if isinstance(found, CommentedSeq) else CommentedSeq()
    names = {key: getattr(resource, key) for key in ("domain", "group", "kind", "version")}
    entry = next((each for each in entries if all(each.get(key, "") == name for key, name in names.items())), None)
    if entry is None and not any(record.values()):
        return
    if entry is None:
        entry = CommentedMap()
        entries.append(entry)
    _update(entry, names)
    for key, value in record.items():
        if not value:
            entry.pop(key, None)
        elif entry.get(key) != value:
            _put(entry, key, value)
    if set(entry) <= set(names):
        entries.remove(entry)
    _put_setting(document, path, entries)


def _texts(options: object) -> CommentedMap:
    """The options of a kind by their keys, with quotes where YAML would read a number."""
    texts = {option.key: text for option, text in given(options)}
    return CommentedMap(
        {key: DoubleQuotedScalarString(texts[key]) if texts[key].isdigit() else texts[key] for key in sorted(texts)}
    )


def _update(node: CommentedMap, wanted: Mapping[str, Any]) -> None:
    """Change a mapping to the wanted values. Removes empty ones, and leaves equal values and unknown keys untouched."""
    for key, value in wanted.items():
        if not value:
            node.pop(key, None)
        elif isinstance(value, dict):
            if not isinstance(node.get(key), CommentedMap):
                _put(node, key, CommentedMap())
            _update(node[key], value)
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

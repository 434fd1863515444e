"""Reads PROJECT, in version 3 of kubebuilder's format, and checks it before a command extends the project.

``repo`` is the import package of the project, ``path`` of a resource the module of its class. Users may have edited
the file in any way. The reader returns what it can read and reports the rest. Commands that extend a project stop at
such a finding; other commands use what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics, Severity, Span
from pykb.diagnostics.codes.cli import NOT_ENCODED
from pykb.diagnostics.codes.project import PROJECT_FIELD, PROJECT_LAYOUT, PROJECT_SYNTAX, PROJECT_VERSION, RESTORE
from pykb.diagnostics.model import Diagnostic
from pykb.diagnostics.render import visible
from pykb.diagnostics.suggest import closest
from pykb.meta import names
from pykb.meta.gvk import GroupKind, is_served_path
from pykb.meta.names import as_module_name, pluralize
from pykb.project import FILE_NAME, Certificates, content
from pykb.project.options import ApiOptions, ProjectOptions, given, options_of
from pykb.project.resource import DEPLOY_IMAGE, Operand, Resource, Webhooks
from pykb.reading import CONFLICT, yaml_text

VERSION = "3"
KUSTOMIZE = "kustomize.common.pykb.dev/v1"
PYTHON = "base.python.pykb.dev/v1"
"""The plugins whose settings are read here."""
SETTINGS = ("plugins", KUSTOMIZE)
CERTIFICATES = (*SETTINGS, "certificates")
OPERANDS = ("plugins", DEPLOY_IMAGE, "resources")
RECORDS = ("plugins", PYTHON, "resources")


@dataclass(frozen=True, slots=True)
class Project(ProjectOptions):
    """The content of PROJECT. Missing and invalid values are empty."""

    text: str = ""
    node: yaml.Node | None = None
    domain: str = ""
    project_name: str = ""
    package: str = ""
    layout: tuple[str, ...] = ()
    multigroup: bool = False
    namespaced: bool = False
    cli_version: str = ""
    certificates: Certificates | None = None
    resources: tuple[Resource, ...] = ()

    @property
    def kinds(self) -> frozenset[GroupKind]:
        """The kinds in the file."""
        return frozenset(resource.gvk.group_kind for resource in self.resources if resource.kind)

    @property
    def groups(self) -> frozenset[str]:
        """The API groups of these kinds."""
        return frozenset(kind.group for kind in self.kinds)

    @property
    def converted_kinds(self) -> frozenset[GroupKind]:
        """The kinds that have a conversion webhook."""
        converted = (each for each in self.resources if each.webhooks and each.webhooks.conversion)
        return frozenset(each.gvk.group_kind for each in converted if each.kind)

    @property
    def issuer(self) -> Certificates:
        """Who issues the certificates of webhooks. Older projects have them from cert-manager and do not say so."""
        if self.certificates is not None:
            return self.certificates
        return Certificates.CERT_MANAGER if self.has_webhooks else Certificates.BUILT_IN

    @property
    def managers(self) -> int:
        """How many managers a new scaffold deploys. With shards, each has four ranges."""
        return max(2, self.shards // 4) if self.shards else self.replicas or 1

    @property
    def has_webhooks(self) -> bool:
        """Whether any kind has webhooks."""
        return any(each.webhooks for each in self.resources)

    def index(self, resource: Resource) -> int | None:
        """The index of the entry with the same identity."""
        return next((index for index, each in enumerate(self.resources) if each.identity == resource.identity), None)

    def find(self, resource: Resource) -> Resource | None:
        """The entry with the same identity."""
        index = self.index(resource)
        return None if index is None else self.resources[index]

    def versions(self, resource: Resource) -> list[Resource]:
        """The entries of a kind with types in the project, in the order of creation."""
        return [each for each in self.resources if each.api and each.is_same_kind(resource)]

    def other_versions(self, resource: Resource) -> list[Resource]:
        """The others of these entries."""
        return [each for each in self.versions(resource) if each.version != resource.version]

    def hub(self, resource: Resource) -> Resource | None:
        """The version of a kind that the others are converted to and from."""
        alike = (each for each in self.resources if each.is_same_kind(resource))
        return next((each for each in alike if each.webhooks and each.webhooks.conversion), None)

    def span(self, resource: Resource, key: str = "kind") -> Span:
        """The place of ``key`` in an entry, or the entry's first line when the key is missing."""
        return self.place("resources", self.index(resource), key)

    def place(self, *path: object) -> Span:
        """The place of a value, or of the nearest value around it."""
        return _place(self.node, path)


def read(root: Path) -> tuple[Project, Diagnostics]:
    """Read the file of a project. Returns its content and findings. A missing file gives an empty content."""
    try:
        text = content(root).decode("utf-8")
    except UnicodeDecodeError:
        message = "PROJECT is not UTF-8 text"
        return Project(), Diagnostics([NOT_ENCODED.at(_START, message, notes=NOTHING_WRITTEN)])
    return load(text) if text or (root / FILE_NAME).is_file() else (Project(), Diagnostics())


def load(text: str) -> tuple[Project, Diagnostics]:
    """Read the text of the file. Returns its content and findings."""
    try:
        yaml_text.check_size(text, most=_MOST_VALUES, longest=_LONGEST_VALUE)
        document = yaml_text.document(text, _Loader)
    except yaml.MarkedYAMLError as error:
        return Project(text), Diagnostics([syntax_problem(error, text)])
    if document is None or not isinstance(document.content, dict):
        message = "PROJECT must be a mapping of keys to values"
        return Project(text), Diagnostics([PROJECT_SYNTAX.at(_START, message, RESTORE)])
    reader = _Reader(document)
    return reader.project(text), reader.found


def syntax_problem(error: Any, text: str) -> Diagnostic:
    """The finding for a YAML error of PyYAML or ruamel, at its place."""
    mark = error.problem_mark or error.context_mark
    if mark is not None and error.context_mark is not None and mark.line >= len(text.splitlines()):
        mark = error.context_mark  # the start of an open structure helps more than the end of the file
    span = Span(FILE_NAME, mark.line + 1, mark.column + 1) if mark else _START
    problem = str(error.problem or "it cannot be parsed").replace("'", "`")
    remedy = "keep the entries that you want, each with all its keys" if problem == CONFLICT else RESTORE
    return PROJECT_SYNTAX.at(span, f"PROJECT {yaml_text.verdict(error)}: {problem}", remedy)


_KEYS = {"version", "domain", "projectName", "repo", "layout", "multigroup", "namespaced", "cliVersion", "resources"}
_KEYS |= {"plugins"}
_RESOURCE_KEYS = {"group", "domain", "version", "kind", "plural", "path", "module", "api", "core", "external"}
_RESOURCE_KEYS |= {"controller", "controllers", "webhooks"}
"""The keys of kubebuilder's format and of pykb."""

_START = Span(FILE_NAME, 1, 1)
# A kind has at most 40 values. ruamel.yaml, which keeps the comments when a command changes the file, takes more than
# linear time: seconds for 100,000 values, and for one of 100,000 characters.
_MOST_VALUES = 10_000
_LONGEST_VALUE = 4096


class _Loader(yaml_text.Loader):
    """A loader with the booleans of YAML 1.2, the file's format: `no` and `on` are texts."""

    def construct_word(self, node: yaml.ScalarNode) -> bool | str:
        """A boolean, or a text that was a boolean in YAML 1.1."""
        word = str(node.value)
        return word.lower() == "true" if word.lower() in {"true", "false"} else word


_Loader.add_constructor("tag:yaml.org,2002:bool", _Loader.construct_word)


class _Reader:
    """Takes values from the document by path. Reports those that do not fit, at their place."""

    def __init__(self, document: yaml_text.Document) -> None:
        self._document = document
        self.found = Diagnostics()

    def project(self, text: str) -> Project:
        version = self._value("version")
        if str(version) != VERSION:
            span = self._place("version") if version is not None else _START
            shown = "no version" if version is None else f"version `{version}`"
            self.found.report(PROJECT_VERSION, span, f'PROJECT has {shown}, expected `"{VERSION}"`')
        self._unknown_keys(_KEYS)
        layout = self._value("layout")
        entries = self._value("resources") or []
        if not isinstance(entries, list):
            self._wrong("a list", "resources")
            entries = []
        name = self._text("projectName", required=True)
        resources = [self._resource("resources", index) for index in range(len(entries))]
        of_kinds = dict(self._of_kinds(*OPERANDS))
        operands = {identity: Operand(**self._options(Operand, *at)) for identity, at in of_kinds.items()}
        records = dict(self._of_kinds(*RECORDS))
        return Project(
            text,
            self._document.node,
            domain=self._text("domain"),
            project_name=name,
            package=self._text("repo") or (as_module_name(name) if name else ""),
            layout=(layout,) if isinstance(layout, str) else self._texts("layout"),
            multigroup=self._flag("multigroup"),
            namespaced=self._flag("namespaced"),
            cli_version=self._text("cliVersion"),
            certificates=self._certificates(),
            **self._numbers(),
            resources=tuple(
                replace(self._recorded(each, records), operand=operands.get(each.identity)) for each in resources
            ),
        )

    def _unknown_keys(self, known: AbstractSet[str], *at: object) -> None:
        """Warn of keys that nothing reads, since one may be misspelt. Keys that begin with `x-` are the user's own."""
        value = self._value(*at) if at else self._document.content
        for key in value:
            if key not in known and not str(key).startswith("x-"):
                near = closest(str(key), known)
                helps = (f"a similar key exists: `{near}`",) if near else ()
                span = self._place(*at, key)
                message = f"`{visible(str(key))}` is not a key of PROJECT, so it has no effect"
                self.found.report(PROJECT_FIELD, span, message, *helps, severity=Severity.WARNING)

    def _certificates(self) -> Certificates | None:
        text = self._text(*CERTIFICATES) if self._has_settings(KUSTOMIZE) else ""
        if text and text not in set(Certificates):
            self._wrong(" or ".join(f"`{each}`" for each in Certificates), *CERTIFICATES)
            return None
        return Certificates(text) if text else None

    def _numbers(self) -> dict[str, int]:
        """The options of the project."""
        found = {}
        for name, option in options_of(ProjectOptions).items():
            value = self._value(*SETTINGS, option.key) if self._has_settings(KUSTOMIZE) else None
            found[name] = value if type(value) is int and value >= 0 else 0
            if found[name] != (value or 0):
                self._wrong("a whole number that is not negative", *SETTINGS, option.key)
        return found

    def _of_kinds(self, *path: str) -> Iterator[tuple[tuple[str, ...], tuple[object, ...]]]:
        """What a plugin keeps about kinds: the identity of each kind, with the place."""
        entries = self._value(*path) if self._has_settings(path[1]) else None
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            at = (*path, index)
            if isinstance(entry, dict) and (path == RECORDS or self._mapping(*at, "options")):
                yield tuple(self._text(*at, key) for key in ("group", "domain", "version", "kind")), at
            else:
                self._wrong("a list of kinds with `options`", *path)

    def _recorded(self, resource: Resource, records: dict[tuple[str, ...], tuple[object, ...]]) -> Resource:
        """The entry of a kind with the options that kubebuilder's keys do not have."""
        at = records.get(resource.identity)
        if at is None:
            return resource
        options = self._options(ApiOptions, *at) if self._mapping(*at, "options") else {}
        return replace(resource, handlers=self._texts(*at, "handlers"), options=ApiOptions(**options))

    def _options(self, cls: type, *at: object) -> dict[str, Any]:
        """The values of the options of a kind."""
        found = {}
        for name, option in options_of(cls).items():
            path = (*at, "options", option.key)
            text = self._text(*path, required=option.required)
            try:
                found[name] = option.read(text)
            except ValueError:
                self._wrong(option.expected, *path)
        return found

    def _has_settings(self, plugin: str) -> bool:
        return self._mapping("plugins") and self._mapping("plugins", plugin)

    def _resource(self, *at: object) -> Resource:
        if not isinstance(self._value(*at), dict):
            self.found.report(PROJECT_FIELD, self._place(*at), "a resource must be a mapping")
            return Resource("", "", "", "", "")
        self._unknown_keys(_RESOURCE_KEYS, *at)
        api = self._mapping(*at, "api")
        kind = self._text(*at, "kind", required=True)
        return Resource(
            group=self._text(*at, "group"),
            domain=self._text(*at, "domain"),
            version=self._text(*at, "version", required=True),
            kind=kind,
            plural=self._text(*at, "plural") or pluralize(kind),
            path=self._text(*at, "path"),
            namespaced=self._flag(*at, "api", "namespaced") if api else True,
            api=api,
            core=self._flag(*at, "core"),
            external=self._flag(*at, "external"),
            controller=self._flag(*at, "controller"),
            controllers=self._controllers(*at, "controllers"),
            webhooks=self._webhooks(*at, "webhooks"),
        )

    def _controllers(self, *at: object) -> tuple[str, ...]:
        found = self._value(*at) or []
        if isinstance(found, list) and all(isinstance(c, dict) and isinstance(c.get("name"), str) for c in found):
            return tuple(c["name"] for c in found)
        self._wrong("a list of mappings with a `name`", *at)
        return ()

    def _webhooks(self, *at: object) -> Webhooks | None:
        if not self._mapping(*at):
            return None
        return Webhooks(
            defaulting=self._flag(*at, "defaulting"),
            validation=self._flag(*at, "validation"),
            conversion=self._flag(*at, "conversion"),
            spoke=self._texts(*at, "spoke"),
            defaulting_path=self._text(*at, "defaultingPath"),
            validation_path=self._text(*at, "validationPath"),
        )

    def _text(self, *path: object, required: bool = False) -> str:
        value = self._value(*path)
        if value is None:
            if required:
                message = f"PROJECT needs the key `{path[-1]}`"
                self.found.report(PROJECT_FIELD, self._place(*path[:-1]), message)
            return ""
        if not isinstance(value, str):
            self._wrong("text", *path)
            return "" if isinstance(value, dict | list) else str(value)
        return value

    def _texts(self, *path: object) -> tuple[str, ...]:
        value = self._value(*path)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self._wrong("a list of strings", *path)
        return ()

    def _flag(self, *path: object) -> bool:
        value = self._value(*path)
        if value is None or isinstance(value, bool):
            return bool(value)
        self._wrong("`true` or `false`", *path)
        return False

    def _mapping(self, *path: object) -> bool:
        value = self._value(*path)
        if value is not None and not isinstance(value, dict):
            self._wrong("a mapping", *path)
        return isinstance(value, dict)

    def _value(self, *path: object) -> Any:
        value = self._document.content
        for part in path:
            value = value[part] if isinstance(value, list) and isinstance(part, int) else value.get(part)
        return value

    def _wrong(self, expected: str, *path: object) -> None:
        self.found.report(PROJECT_FIELD, self._place(*path), f"`{path[-1]}` must be {expected}")

    def _place(self, *path: object) -> Span:
        return _place(self._document.node, path)


def _place(node: yaml.Node | None, path: Sequence[object]) -> Span:
    if node is None:
        return _START
    node = [node, *(value for _, value in yaml_text.follow(node, path))][-1]
    start, end = node.start_mark, node.end_mark
    is_word = isinstance(node, yaml.ScalarNode) and end.line == start.line
    return Span(FILE_NAME, start.line + 1, start.column + 1, end_column=end.column + 1 if is_word else 0)


def _is_import_path(text: str) -> bool:
    return all(names.is_module_name(part) for part in text.split("."))


_Rule = tuple[Callable[[str], bool], str]
_DNS_NAME: _Rule = (names.is_subdomain, names.A_DNS_NAME)
_DNS_LABEL: _Rule = (names.is_rfc_1035_label, names.A_DNS_LABEL)
_PATH: _Rule = (is_served_path, "a path: `/`, then lower case letters, digits, hyphens and dots")
_RULES: dict[str, _Rule] = {
    "domain": _DNS_NAME,
    "projectName": _DNS_LABEL,
    "repo": (names.is_module_name, "the name of the project's Python package"),
    "group": _DNS_NAME,
    "version": (names.is_version, names.A_VERSION),
    "kind": (names.is_kind, names.A_KIND),
    "plural": _DNS_LABEL,
    "name": _DNS_LABEL,
    "path": (_is_import_path, "the Python module of the kind"),
    "defaultingPath": _PATH,
    "validationPath": _PATH,
    "image": (names.is_image, "the name of a container image"),
    "spoke": (names.is_version, "a list of API versions: the form is `v1`, `v1beta1` or `v2alpha3`"),
}


def is_of_kubebuilder(key: str) -> bool:
    """Whether the key of a plugin is that of one of kubebuilder's, which write Go."""
    return ".kubebuilder.io/" in key or key.partition("/")[0] == "go"


def check(project: Project) -> Diagnostics:
    """Find values that no command of pykb writes."""
    diagnostics = Diagnostics()
    foreign = [key for key in project.layout if is_of_kubebuilder(key)]
    if foreign or not project.layout:
        shown = f"`{foreign[0]}`" if foreign else "no plugin at all"
        message = f"the layout of this project is {shown}, expected `python.pykb.dev/v1`"
        helps = (
            "use the tool that created this project, or start another project in a new directory: `pykb init`",
            "types in Python from the CRDs of a Go project: `pykb import crd config/crd/bases --output DIR`",
        )
        diagnostics.report(PROJECT_LAYOUT, None, message, *helps, notes=NOTHING_WRITTEN)
        return diagnostics
    for value, key, *around in _names(project):
        holds, expected = _RULES[key]
        if value and not holds(value):
            diagnostics.report(PROJECT_FIELD, project.place(*around, key), f"`{key}` must be {expected}")
    for index, resource in enumerate(project.resources):
        if resource.api and not resource.path:
            example = f"`path: {project.package}.api.{resource.version}`"
            message = "an entry with `api` needs the key `path`: the module of its types"
            diagnostics.report(PROJECT_FIELD, project.place("resources", index), message, example)
    for option, value in (each for resource in project.resources for each in given(resource.options)):
        if not option.holds(value):
            diagnostics.report(PROJECT_FIELD, project.place(*RECORDS), f"`{option.key}` must be {option.expected}")
    return diagnostics


def _names(project: Project) -> Iterator[tuple[str, str, *tuple[object, ...]]]:
    """Each name with its key and the path of its mapping."""
    yield project.domain, "domain"
    yield project.project_name, "projectName"
    yield project.package, "repo"
    for index, resource in enumerate(project.resources):
        at = ("resources", index)
        yield resource.domain, "domain", *at
        yield resource.group, "group", *at
        yield resource.version, "version", *at
        yield resource.kind, "kind", *at
        yield resource.plural if resource.irregular_plural else "", "plural", *at
        yield resource.path, "path", *at
        for number, controller in enumerate(resource.controllers):
            yield controller, "name", *at, "controllers", number
        if resource.operand:
            yield resource.operand.image, "image"
        if resource.webhooks:
            yield resource.webhooks.defaulting_path, "defaultingPath", *at, "webhooks"
            yield resource.webhooks.validation_path, "validationPath", *at, "webhooks"
            for version in resource.webhooks.spoke:
                yield version, "spoke", *at, "webhooks"

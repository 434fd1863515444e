"""Checks PROJECT before a command extends the project: pykb made the project, and all names are valid.

The names become paths, code and manifests, and users may have edited the file. A PROJECT of another tool has different
names, so the check for the tool comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.project import PROJECT_FIELD, PROJECT_LAYOUT
from pykb.meta import names
from pykb.meta.gvk import is_served_path
from pykb.project.file import RECORDS, Project
from pykb.project.options import given


def _is_import_path(text: str) -> bool:
    return all(names.is_module_name(part) for part in text.split("."))


_Rule = tuple[Callable[[str], bool], str]
_DNS_NAME: _Rule = (names.is_subdomain, "a DNS name: lower case letters, digits, hyphens and dots only")
_DNS_LABEL: _Rule = (names.is_rfc_1035_label, "a DNS label: lower case letters, digits and hyphens, a letter first")
_PATH: _Rule = (is_served_path, "a path: `/`, then lower case letters, digits, hyphens and dots")
_RULES: dict[str, _Rule] = {
    "domain": _DNS_NAME,
    "projectName": _DNS_LABEL,
    "repo": (names.is_module_name, "the name of the project's Python package"),
    "group": _DNS_NAME,
    "version": (names.is_version, "an API version: `v1`, `v1beta1` or `v2alpha3`"),
    "kind": (names.is_kind, "in PascalCase: letters and digits, an upper case letter first"),
    "plural": _DNS_LABEL,
    "name": _DNS_LABEL,
    "path": (_is_import_path, "the Python module of the kind"),
    "defaultingPath": _PATH,
    "validationPath": _PATH,
    "image": (names.is_image, "the name of a container image"),
    "spoke": (names.is_version, "a list of API versions: `v1`, `v1beta1` or `v2alpha3`"),
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
        diagnostics.add(PROJECT_LAYOUT.at(None, message, *helps, notes="nothing was written"))
        return diagnostics
    for value, key, *around in _names(project):
        holds, expected = _RULES[key]
        if value and not holds(value):
            diagnostics.add(PROJECT_FIELD.at(project.place(*around, key), f"`{key}` must be {expected}"))
    for option, value in (each for resource in project.resources for each in given(resource.options)):
        if not option.holds(value):
            diagnostics.add(PROJECT_FIELD.at(project.place(*RECORDS), f"`{option.key}` must be {option.expected}"))
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

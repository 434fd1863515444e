"""The names in PROJECT, held to the rules of the command line: the file may have been edited by hand.

They become paths, code and manifests. A PROJECT of another tool has names of another kind, so it is asked first
whose it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ruamel.yaml.comments import CommentedMap

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.project import PROJECT_FIELD
from pykb.meta import names
from pykb.meta.webhook_paths import is_served_path
from pykb.project.file import Project, value_span


class _Rule(NamedTuple):
    """What the value of a key must be."""

    key: str
    holds: Callable[[str], bool]
    expected: str


def _is_import_path(text: str) -> bool:
    return all(names.is_module_name(part) for part in text.split("."))


_DNS_NAME = "a DNS name: lower case letters, digits, hyphens and dots only"
_DNS_LABEL = "a DNS label: lower case letters, digits and hyphens, a letter first"
_PROJECT = (
    _Rule("domain", names.is_subdomain, _DNS_NAME),
    _Rule("projectName", names.is_rfc_1035_label, _DNS_LABEL),
    _Rule("repo", names.is_module_name, "the name of the project's Python package"),
)
_RESOURCE = (
    _Rule("domain", names.is_subdomain, _DNS_NAME),
    _Rule("group", names.is_subdomain, _DNS_NAME),
    _Rule("version", names.is_version, "an API version: `v1`, `v1beta1` or `v2alpha3`"),
    _Rule("kind", names.is_kind, "in PascalCase: letters and digits, an upper case letter first"),
    _Rule("plural", names.is_rfc_1035_label, _DNS_LABEL),
    _Rule("path", _is_import_path, "the Python module of the kind"),
)
_WEBHOOKS = (
    _Rule("defaultingPath", is_served_path, "a path: `/`, then lower case letters, digits, hyphens and dots"),
    _Rule("validationPath", is_served_path, "a path: `/`, then lower case letters, digits, hyphens and dots"),
)


def check_names(project: Project) -> Diagnostics:
    """What no command would have written."""
    found = Diagnostics()
    _check(project.document, _PROJECT, found)
    for entry in project.document.get("resources") or ():
        _check(entry, _RESOURCE, found)
        webhooks = entry.get("webhooks") or CommentedMap()
        _check(webhooks, _WEBHOOKS, found)
        if not all(names.is_version(version) for version in webhooks.get("spoke") or ()):
            message = "`spoke` must be a list of API versions: `v1`, `v1beta1` or `v2alpha3`"
            found.add(PROJECT_FIELD.at(value_span(webhooks, "spoke"), message))
    return found


def _check(node: CommentedMap, rules: tuple[_Rule, ...], found: Diagnostics) -> None:
    for rule in rules:
        value = node.get(rule.key)
        if value and not rule.holds(value):
            found.add(PROJECT_FIELD.at(value_span(node, rule.key), f"`{rule.key}` must be {rule.expected}"))

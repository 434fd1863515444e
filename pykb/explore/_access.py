"""Whether the rules of a role allow a request. Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pykb.explore._gate import Sent

Grant = tuple[str, str, str]
"""A verb, an API group and a resource."""


def allows(rules: Sequence[Mapping[str, Any]], sent: Sent) -> bool:
    """Whether one of the rules allows a request."""
    return any(
        _has(rule.get("verbs"), sent.verb)
        and _has(rule.get("apiGroups"), sent.group)
        and _has(rule.get("resources"), sent.resource)
        and (not rule.get("resourceNames") or sent.name in rule["resourceNames"])
        for rule in rules
    )


def unused(rules: Sequence[Mapping[str, Any]], used: Iterable[Grant]) -> list[Grant]:
    """The grants that no request needed, in order. Wildcards count as needed."""
    return sorted(set(_grants(rules)) - set(used))


def _grants(rules: Sequence[Mapping[str, Any]]) -> Iterator[Grant]:
    for rule in rules:
        for verb in rule.get("verbs") or ():
            for group in rule.get("apiGroups") or ():
                for name in rule.get("resources") or ():
                    # OpenShift asks for `finalizers` when an owner reference blocks a deletion.
                    if "*" not in (verb, name) and not name.endswith("/finalizers"):
                        yield verb, group, name


def _has(values: Sequence[str] | None, value: str) -> bool:
    return values is not None and ("*" in values or value in values)

"""Whether the rules of access control allow what the operator does, and which of them it needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pykb.client.errors import allows, rule_marker
from pykb.diagnostics.codes import explore as codes
from pykb.explore._gate import Sent
from pykb.explore._history import History
from pykb.explore._outcome import Outcome
from pykb.explore._report import Finding, Grant, story

_OPTIONAL = {("apiextensions.k8s.io", "customresourcedefinitions"), ("", "namespaces")}
"""What kopf watches if it may, and does without otherwise. Source: https://docs.kopf.dev/en/stable/deployment/#rbac"""


class Access:
    """Checks the requests of all histories.

    Args:
        rules: Those of the operator. ``None`` allows everything.
    """

    def __init__(self, rules: Sequence[Mapping[str, Any]] | None) -> None:
        self._rules = rules
        self._used: set[Grant] = set()
        self._forbidden: dict[tuple[str, str], list[tuple[str, Finding]]] = {}

    def check(self, history: History, outcome: Outcome) -> None:
        """Note the requests of a history that are new."""
        for sent in outcome.sent if self._rules is not None else ():
            grant = (sent.verb, sent.group, sent.resource)
            if not sent.resource or grant in self._used:
                continue
            self._used.add(grant)
            if not self._allows(sent) and not (sent.is_of_kopf and grant[1:] in _OPTIONAL):
                found = Finding(codes.RBAC, "", tuple(story(history, outcome)), (), sent.place, history)
                self._forbidden.setdefault((sent.group, sent.resource), []).append((sent.verb, found))

    def _allows(self, sent: Sent) -> bool:
        """Whether one of the rules allows a request."""
        return any(
            allows(rule, sent.verb, sent.group, sent.resource)
            and (not rule.get("resourceNames") or sent.name in rule["resourceNames"])
            for rule in self._rules or ()
        )

    def findings(self) -> Iterator[Finding]:
        """What no rule allows. All verbs of a resource are one finding: one marker allows them."""
        for (group, name), found in self._forbidden.items():
            verbs = [verb for verb, _ in found]
            message = f"no rule allows to {' or '.join(verbs)} {name}: add `{rule_marker(verbs, group, name)}`"
            yield replace(found[0][1], message=message)

    def unused(self) -> list[Grant]:
        """The grants that no request has needed."""
        return sorted(set(_grants(self._rules or ())) - self._used)


def _grants(rules: Sequence[Mapping[str, Any]]) -> Iterator[Grant]:
    """Yield the grants that must be needed by some request. Wildcards and what only OpenShift asks for are not."""
    for rule in rules:
        for verb in rule.get("verbs") or ():
            for group in rule.get("apiGroups") or ():
                for name in rule.get("resources") or ():
                    # OpenShift asks for `finalizers` when an owner reference blocks a deletion.
                    if "*" not in (verb, name) and not name.endswith("/finalizers"):
                        yield verb, group, name

"""What the API server wrote about the requests of a service account, and which of its permissions they needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.node.operator import Operator


class Grant(NamedTuple):
    """A permission: a verb on a resource, such as `pods/status`."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' if self.group else ''}{self.group}"


@dataclass(frozen=True)
class AuditLog:
    """The audit log of the API server. Each line is an event of `audit.k8s.io/v1`."""

    path: Path

    def size(self) -> int:
        """Where the next event will be."""
        return self.path.stat().st_size

    def events(self, account: str, since: int) -> Iterator[dict[str, Any]]:
        """The requests of an account for resources."""
        with self.path.open("rb") as file:
            file.seek(since)
            for line in file:
                event = json.loads(line)
                if event["user"]["username"] == account and "resource" in event.get("objectRef", {}):
                    yield event

    def forbidden(self, account: str, since: int) -> list[str]:
        """The requests that were not allowed."""
        return [
            f"{event['verb']} {event['requestURI']}"
            for event in self.events(account, since)
            if event["annotations"].get("authorization.k8s.io/decision") != "allow"
        ]

    def used(self, account: str, since: int) -> set[Grant]:
        """The permissions that the requests needed."""
        return {_grant(event["objectRef"], event["verb"]) for event in self.events(account, since)}


def _grant(target: dict[str, str], verb: str) -> Grant:
    resource = "/".join(filter(None, (target["resource"], target.get("subresource", ""))))
    return Grant(target.get("apiGroup", ""), resource, verb)


def granted(operator: Operator) -> set[Grant]:
    """The permissions that the manager's bindings give it."""
    found = set()
    for kind in ("clusterrolebinding", "rolebinding"):
        for binding in operator.json("get", kind)["items"]:
            subjects = {(each.get("namespace"), each["name"]) for each in binding.get("subjects", ())}
            if (operator.namespace, operator.manager) in subjects:
                role = operator.json("get", binding["roleRef"]["kind"], binding["roleRef"]["name"])
                found |= {grant for rule in role["rules"] for grant in _grants(rule)}
    return found


def _grants(rule: dict[str, list[str]]) -> Iterator[Grant]:
    for group in rule.get("apiGroups", ()):
        for resource in rule.get("resources", ()):
            for verb in rule["verbs"]:
                yield Grant(group, resource, verb)

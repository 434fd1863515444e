"""What the API server wrote about the requests of a service account, and which of its permissions they needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import CREATED
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
            f"{event['verb']} {event['requestURI']}" for event in self.events(account, since) if not _is_allowed(event)
        ]

    def named(self, account: str, resource: str) -> set[str]:
        """The names of the objects of a resource that an account was allowed something on. Empty for a list."""
        events = self.events(account, since=0)
        return {
            event["objectRef"].get("name", "")
            for event in events
            if event["objectRef"]["resource"] == resource and _is_allowed(event)
        }

    def used(self, account: str, since: int) -> set[Grant]:
        """The permissions that the requests needed."""
        return {grant for event in self.events(account, since) for grant in _needed(event)}


def _is_allowed(event: dict[str, Any]) -> bool:
    return event["annotations"].get("authorization.k8s.io/decision") == "allow"


def _needed(event: dict[str, Any]) -> Iterator[Grant]:
    """What a request needed. A server-side apply that creates an object needs `create` as well."""
    target, verb = event["objectRef"], event["verb"]
    resource = "/".join(filter(None, (target["resource"], target.get("subresource", ""))))
    yield Grant(target.get("apiGroup", ""), resource, verb)
    if verb == "patch" and event["responseStatus"]["code"] == CREATED:
        yield Grant(target.get("apiGroup", ""), resource, "create")


def rules_of(operator: Operator) -> Iterator[dict[str, Any]]:
    """The rules of the roles that the manager is bound to."""
    for kind in ("clusterrolebinding", "rolebinding"):
        for binding in operator.json("get", kind)["items"]:
            subjects = {(each.get("namespace"), each["name"]) for each in binding.get("subjects", ())}
            if (operator.namespace, operator.manager) in subjects:
                role = operator.json("get", binding["roleRef"]["kind"], binding["roleRef"]["name"])
                yield from role["rules"]


def granted(operator: Operator) -> set[Grant]:
    """The permissions that the manager's bindings give it."""
    return {grant for rule in rules_of(operator) for grant in _grants(rule)}


def _grants(rule: dict[str, list[str]]) -> Iterator[Grant]:
    for group in rule.get("apiGroups", ()):
        for resource in rule.get("resources", ()):
            for verb in rule["verbs"]:
                yield Grant(group, resource, verb)

"""The CEL rules of the CRDs, and the project's webhooks and converters: where they are, and what conversions lose."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykb.client.codec import gvk_of
from pykb.diagnostics import PykbError, Span
from pykb.explore._gate import place_in
from pykb.explore._history import Identity, Manifest
from pykb.explore._objects import group_kind_of
from pykb.explore._variants import leaves, shorten, spell
from pykb.fake import FakeApiServer
from pykb.gen.cel.evaluate import NO_VALUE, OPAQUE, Failed, Unknown, holds
from pykb.gen.checks.value import broken_rules, is_match
from pykb.gen.draft import patched
from pykb.gen.ir import RULES, SchemaNode
from pykb.meta.gvk import GroupVersionKind, rule_concerns
from pykb.webhook.conversion import Conversions
from pykb.webhook.server import WebhookServer

_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


class Rules:
    """The rules of these kinds. A rule that cannot be evaluated here holds.

    Args:
        crds: The definitions.
    """

    def __init__(self, crds: Iterable[Manifest]) -> None:
        self._schemas: dict[GroupVersionKind, SchemaNode] = {}
        for crd in crds:
            group, kind = group_kind_of(crd)
            for version in crd["spec"]["versions"]:
                schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
                if _has_rules(schema):
                    gvk = GroupVersionKind(group, version["name"], kind)
                    self._schemas[gvk] = patched(SchemaNode(), schema)

    def broken(
        self, gvk: GroupVersionKind, new: Mapping[str, Any], old: Mapping[str, Any] | None
    ) -> Iterator[tuple[str, str]]:
        """The path and the message of each rule that an object certainly breaks."""
        schema = self._schemas.get(gvk)
        if schema is not None:
            for found in broken_rules(new, schema, old=NO_VALUE if old is None else old):
                message = found.rule.message or f"failed rule: {found.rule.rule}"
                yield found.path, f'"{_TYPES[type(found.value)]}": {message}'


class Conditions:
    """The conditions of webhooks. One that cannot be evaluated here is met, and noted in :attr:`unknown`."""

    def __init__(self) -> None:
        self.unknown: dict[str, None] = {}
        """The conditions that were not evaluated."""

    def check(self, expression: str, names: Mapping[str, Any]) -> bool:
        """Whether a condition is met.

        Raises:
            ValueError: The evaluation fails.
        """
        # In a cluster, the operator has another account than people.
        request = {**names["request"], "userInfo": OPAQUE, "options": OPAQUE}
        try:
            return holds(expression, {**names, "request": request}, matches=is_match)
        except Failed as error:
            raise ValueError(str(error)) from error
        except Unknown:
            self.unknown[expression] = None
            return True


def _has_rules(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return RULES in schema or any(map(_has_rules, schema.values()))
    return isinstance(schema, list) and any(map(_has_rules, schema))


_CONTENT = ("spec", "status", "data")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")


@dataclass(frozen=True, slots=True)
class Loss:
    """A value that a conversion to another version and back does not keep.

    Attributes:
        identity: The object.
        path: The field.
        value: Its value.
        back: The value that comes back; ``None`` for none.
        version: The other version.
        place: The function of the converter.
    """

    identity: Identity
    path: str
    value: Any
    back: Any
    version: str
    place: Span | None

    def __str__(self) -> str:
        """What happens to it."""
        how = f"{self.path}` is lost"
        if self.back is not None:
            how = f"{self.path} = {shorten(self.value)}` becomes {shorten(self.back)}"
        return f"{self.identity}: `{how} by the conversion to {self.version} and back"


def _noting_losses(
    cluster: FakeApiServer, conversions: Conversions, root: Path | None, lost: list[Loss]
) -> Callable[[Manifest, str], Manifest]:
    """Convert, and note what is not the same on the way back, when the API server has filled in the defaults.

    Args:
        cluster: The API server.
        conversions: The project's converters.
        root: The folder of the user's code.
        lost: Where to note what is lost.
    """

    def with_defaults(obj: Manifest) -> Manifest:
        resource = cluster.resources.of_kind(gvk_of(obj))
        return obj if resource is None else cluster.versions.filled(resource, obj)

    def convert(obj: Manifest, desired: str) -> Manifest:
        made = conversions.convert(obj, desired)
        try:
            back = with_defaults(conversions.convert(with_defaults(made), obj["apiVersion"]))
        except PykbError:
            return made  # it is noticed by whoever reads the object
        kept = dict(leaves({name: back[name] for name in _CONTENT if name in back}))
        for path, value in leaves({name: obj[name] for name in _CONTENT if name in obj}):
            is_time = isinstance(value, str) and _TIME.match(value)  # it may be written in another way
            if kept.get(path) != value and not (is_time and path in kept):
                place = place_of(conversions.author(obj["apiVersion"], desired, obj["kind"]), root)
                version = desired.rpartition("/")[2]
                lost.append(Loss(Identity.of(obj), spell(path), value, kept.get(path), version, place))
        return made

    return convert


def use_webhooks(
    cluster: FakeApiServer,
    servers: Sequence[WebhookServer],
    configurations: Sequence[Mapping[str, Any]],
    root: Path | None,
    lost: list[Loss],
    conditions: Conditions,
) -> dict[str, Span]:
    """Let an API server call webhooks and converters. Gives the paths of mutating ones with their places.

    Args:
        cluster: The API server.
        servers: The webhook servers of the replicas, which answer in turn.
        configurations: The webhook configurations.
        root: The folder of the user's code.
        lost: Where to note what conversions lose.
        conditions: Evaluates those of the webhooks.
    """
    cluster.use_webhooks(servers, configurations, check=conditions.check)
    server = servers[-1]
    if server.converted:
        cluster.versions.convert = _noting_losses(cluster, server.conversions, root, lost)
    return dict(_defaulters(server, configurations, root))


def _defaulters(
    server: WebhookServer, configurations: Iterable[Mapping[str, Any]], root: Path | None
) -> Iterator[tuple[str, Span]]:
    """The paths of mutating webhooks, each with the place of its function."""
    for configuration in configurations:
        if configuration["kind"] != "MutatingWebhookConfiguration":
            continue
        for hook in configuration.get("webhooks") or ():
            path = ((hook.get("clientConfig") or {}).get("service") or {}).get("path") or ""
            author = server.author(path)
            if author is not None and (place := place_of(author, root)):
                yield path, place


def place_of(function: Callable[..., object], root: Path | None) -> Span | None:
    """Where a function is defined."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return place_in(root, [(code.co_filename, code.co_firstlineno)]) if code is not None else None


def defaulting(configurations: Iterable[Mapping[str, Any]], group: str, plural: str) -> Iterator[str]:
    """The paths of mutating webhooks that a change of a resource calls."""
    for configuration in configurations:
        for hook in configuration.get("webhooks") or ():
            for rule in hook.get("rules") or ():
                if rule_concerns(rule, group, plural):
                    yield (hook["clientConfig"].get("service") or {}).get("path") or ""

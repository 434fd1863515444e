"""The CEL rules of CustomResourceDefinitions and the conditions of webhooks, as far as pykb can evaluate them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pykb.explore._history import Manifest
from pykb.gen.cel.evaluate import NO_VALUE, OPAQUE, Failed, Unknown, holds
from pykb.gen.checks.value import broken_rules, is_match
from pykb.gen.draft import patched
from pykb.gen.ir import RULES, SchemaNode
from pykb.meta.gvk import GroupVersionKind

_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


class Rules:
    """The rules of these kinds. A rule that cannot be evaluated here holds.

    Args:
        crds: The definitions.
    """

    def __init__(self, crds: Iterable[Manifest]) -> None:
        self._schemas: dict[GroupVersionKind, SchemaNode] = {}
        for crd in crds:
            group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
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

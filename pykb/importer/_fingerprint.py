"""Compares schemas for equality: one number for each whole tree."""

from __future__ import annotations

import json
from collections.abc import Mapping

Schema = Mapping[str, object]

# Keywords of any type that describe a field's value. They belong to the field and not to a class.
OF_THE_USE = frozenset({"default", "description", "example", "externalDocs", "nullable", "title"})
_PARTS = ("items", "additionalProperties")


class Fingerprints:
    """Gives equal schemas equal numbers.

    Args:
        described: Whether descriptions count. They do not when built-in types are compared.
    """

    def __init__(self, *, described: bool) -> None:
        self._described = described
        self._numbers: dict[object, int] = {}
        self._own: dict[int, tuple[Schema, int]] = {}

    def of_class(self, schema: Schema) -> int:
        """The number of a schema without the keywords that belong to its field."""
        found = self._own.get(id(schema))
        if found is None:
            found = self._own[id(schema)] = (schema, self._number(schema, OF_THE_USE))
        return found[1]

    def _number(self, schema: Schema, without: frozenset[str]) -> int:
        parts: list[tuple[str, object]] = []
        for name, value in schema.items():
            if name in without or (name == "description" and not self._described):
                continue
            if name == "properties" and isinstance(value, Mapping):
                if value:
                    inner = tuple(sorted((key, self._child(item)) for key, item in value.items()))
                    parts.append((name, inner))
            elif name in _PARTS and isinstance(value, Mapping):
                parts.append((name, self._child(value)))
            elif name == "required" and isinstance(value, list):
                parts.append((name, json.dumps(sorted(map(str, value)))))
            else:
                parts.append((name, json.dumps(value, sort_keys=True, default=str)))
        return self._numbers.setdefault(tuple(sorted(parts, key=lambda part: part[0])), len(self._numbers))

    def _child(self, schema: object) -> object:
        if not isinstance(schema, Mapping):
            return json.dumps(schema)
        use = {name: value for name, value in schema.items() if name in OF_THE_USE}
        if not self._described:
            use.pop("description", None)
        return (self.of_class(schema), json.dumps(use, sort_keys=True, default=str))

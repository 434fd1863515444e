"""Field selectors, parsed and matched on the client's side (caches, the in-memory API server).

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One field and the value that it must or must not have."""

    path: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A list of requirements that must all be met. An empty selector matches everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        r"""Parse the query form: ``metadata.name=web,status.phase!=Running``. In a value, ``\`` escapes ``,=\``.

        Raises:
            ValueError: The text is not a field selector.
        """
        parts = [part for part in re.findall(r"(?:\\.|[^,\\])+", text) if part.strip()]
        return cls(tuple(_requirement(part) for part in parts))

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object in wire form is selected. A missing field counts as the empty string."""
        return all((field_text(obj, r.path) == r.value) != r.negated for r in self.requirements)

    @property
    def equalities(self) -> dict[str, str] | None:
        """The requirements as a mapping, or ``None`` if one is negated or repeated."""
        found = {r.path: r.value for r in self.requirements if not r.negated}
        return found if len(found) == len(self.requirements) else None


def field_text(obj: Mapping[str, Any], path: str) -> str:
    """The value at a dotted path, as a selector compares it. Empty if there is none."""
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _requirement(part: str) -> FieldRequirement:
    found = re.fullmatch(r"\s*([^=!\\\s]+)\s*(==|!=|=)((?:\\.|[^\\=])*)", part)
    if found is None:
        raise ValueError(
            f"`{part}` is not a valid requirement of a field selector, expected `path=value` or `path!=value`"
        )
    path, sign, value = found.groups()
    return FieldRequirement(path, re.sub(r"\\(.)", r"\1", value), negated=sign == "!=")

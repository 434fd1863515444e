"""Turns tags into CEL expressions, for places without a keyword: map keys and conditional fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pykb.gen.ir import LIMITS
from pykb.markers.effect import Holds, Sets
from pykb.markers.model import Marker
from pykb.meta.cel import text_literal

_COMPARISONS = {
    keyword: f"{'{0}' if keyword in LIMITS['integer'] else 'size({0})'} {'>=' if keyword == least else '<='} {{1}}"
    for least, most in LIMITS.values()
    for keyword in (least, most)
}


def expression(marker: Marker, it: str) -> str | None:
    """The CEL expression that a tag puts on a value; ``None`` for tags that are not about a single value.

    Args:
        marker: The tag.
        it: The CEL expression of the value.
    """
    effect = marker.definition.effect
    value = _Value(it, marker.arguments)
    if isinstance(effect, Holds):
        effect.say(value)
    elif isinstance(effect, Sets) and effect.keyword in _COMPARISONS:
        value.put(effect.keyword, marker.value)
    return " && ".join(value.parts) or None


@dataclass(slots=True)
class _Value:
    """A value without a schema. Collects its constraints as expressions."""

    it: str
    arguments: Mapping[str, object]
    parts: list[str] = field(default_factory=list)

    def argument(self, name: str = "") -> object:
        return self.arguments.get(name)

    def get(self, keyword: str, *, here: bool = False) -> object:
        del keyword, here
        return None

    def put(self, keyword: str, value: object) -> None:
        if keyword == "pattern":
            self.parts.append(f"{self.it}.matches({text_literal(str(value))})")
        else:
            self.parts.append(_COMPARISONS[keyword].format(self.it, value))

    def fill(self, keyword: str, value: object, *, implied: bool = False) -> None:
        if not implied:
            self.put(keyword, value)

    def rule(self, rule: str, message: object = None, **parts: object) -> None:
        del message, parts
        self.parts.append(rule)

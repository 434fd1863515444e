"""CEL for what has no keyword: tags of map keys and conditional fields, and groups of fields of which one is set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pykb.api import annotations as api
from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.crd import ONE_OF_MEMBER
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import LIMITS, Rule, SchemaNode
from pykb.markers.effect import Holds, Sets
from pykb.markers.model import Marker
from pykb.meta.names import cel_selector, cel_text

_COMPARISONS = {
    keyword: f"{'{0}' if keyword in LIMITS['integer'] else 'size({0})'} {'>=' if keyword == least else '<='} {{1}}"
    for least, most in LIMITS.values()
    for keyword in (least, most)
}
_RELATIONS = {"at most": ("may", " <= 1"), "exactly": ("must", " == 1"), "at least": ("must", "")}
ANNOTATIONS: dict[type, str] = {
    api.AtMostOneOf: "at most",
    api.ExactlyOneOf: "exactly",
    api.AtLeastOneOf: "at least",
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
            self.parts.append(f"{self.it}.matches({cel_text(str(value))})")
        else:
            self.parts.append(_COMPARISONS[keyword].format(self.it, value))

    def fill(self, keyword: str, value: object, *, implied: bool = False) -> None:
        if not implied:
            self.put(keyword, value)

    def rule(self, rule: str, message: object = None, **parts: object) -> None:
        del message, parts
        self.parts.append(rule)


def one_of_rule(
    relation: str,
    members: list[str],
    schema: SchemaNode,
    span: Span | None,
    what: str,
    diagnostics: Diagnostics,
) -> list[Rule]:
    """The rule of a group; empty when one of its members cannot take part.

    Args:
        relation: How many are set: ``at most``, ``exactly`` or ``at least`` one.
        members: Wire names of fields.
        schema: The object with these fields.
        span: Where the group is declared.
        what: How messages call the object.
        diagnostics: Gets members that cannot take part.
    """
    properties = schema.properties or {}
    wrong = False
    for member in members:
        found = properties.get(member)
        wrong = wrong or found is None or found.required
        if found is None:
            near = closest(member, properties)
            diagnostics.add(
                ONE_OF_MEMBER.at(
                    span,
                    f"`{member}` is not a field of {what}"
                    + ("; nested fields cannot take part in a group" if "." in member else ""),
                    help=(f"did you mean `{near}`?",) if near else (),
                ),
            )
        elif found.required:
            diagnostics.add(
                ONE_OF_MEMBER.at(
                    span,
                    f"the field `{member}` is required, so it cannot be a member of a one-of group",
                    help=(f"{found.attribute}: ... | None = None",),
                ),
            )
    verb, comparison = _RELATIONS[relation]
    if comparison:
        rule = "+".join(f"(has(self.{cel_selector(m)})?1:0)" for m in members) + comparison
    else:
        rule = "||".join(f"has(self.{cel_selector(m)})" for m in members)
    return (
        [] if wrong else [Rule(rule, f"{relation} one of the fields in [{' '.join(members)}] {verb} be set", span=span)]
    )

"""CEL rules for groups of fields of which at most, exactly or at least one is set."""

from __future__ import annotations

from pykb.api import annotations as api
from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.crd import ONE_OF_MEMBER
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import Rule, SchemaNode
from pykb.meta.cel import selector

_RELATIONS = {"at most": ("may", " <= 1"), "exactly": ("must", " == 1"), "at least": ("must", "")}
ANNOTATIONS: dict[type, str] = {
    api.AtMostOneOf: "at most",
    api.ExactlyOneOf: "exactly",
    api.AtLeastOneOf: "at least",
}


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
                    f"`{member}` is no field of {what}"
                    + ("; nested fields cannot take part in a group" if "." in member else ""),
                    help=(f"did you mean `{near}`?",) if near else (),
                ),
            )
        elif found.required:
            diagnostics.add(
                ONE_OF_MEMBER.at(
                    span,
                    f"the field `{member}` is required, so it cannot be one of a group of alternatives",
                    help=(f"{found.attribute}: ... | None = None",),
                ),
            )
    verb, comparison = _RELATIONS[relation]
    if comparison:
        rule = "+".join(f"(has(self.{selector(m)})?1:0)" for m in members) + comparison
    else:
        rule = "||".join(f"has(self.{selector(m)})" for m in members)
    return (
        [] if wrong else [Rule(rule, f"{relation} one of the fields in [{' '.join(members)}] {verb} be set", span=span)]
    )

"""Groups of fields of which at most, exactly or at least one is set, as CEL rules."""

from __future__ import annotations

from pykb.api import annotations as api
from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.crd import ONE_OF_MEMBER
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import Rule, SchemaNode
from pykb.gen.passes.expressions import selector

_PREFIX = "kubebuilder:validation:"
ONE_OF = {
    _PREFIX + "AtMostOneOf": ("at most one of the fields in [{}] may be set", " <= 1"),
    _PREFIX + "ExactlyOneOf": ("exactly one of the fields in [{}] must be set", " == 1"),
    _PREFIX + "AtLeastOneOf": ("at least one of the fields in [{}] must be set", ""),
}
ANNOTATIONS: dict[type, str] = {
    api.AtMostOneOf: _PREFIX + "AtMostOneOf",
    api.ExactlyOneOf: _PREFIX + "ExactlyOneOf",
    api.AtLeastOneOf: _PREFIX + "AtLeastOneOf",
}


def one_of_rule(
    name: str,
    members: list[str],
    schema: SchemaNode,
    span: Span | None,
    what: str,
    diagnostics: Diagnostics,
) -> list[Rule]:
    """The rule of a group; none when one of its members cannot take part.

    Args:
        name: The marker's name.
        members: Wire names of fields.
        schema: The object that has them.
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
    message, comparison = ONE_OF[name]
    if comparison:
        rule = "+".join(f"(has(self.{selector(m)})?1:0)" for m in members) + comparison
    else:
        rule = "||".join(f"has(self.{selector(m)})" for m in members)
    return [] if wrong else [Rule(rule, message.format(" ".join(members)), span=span)]

"""The ``+k8s:`` tags of a field about the object around it: unions, dependencies, presence, updates."""

from __future__ import annotations

from pykb.markers.builtin.k8s import FIELD, NESTED, positional, tag
from pykb.markers.definition import STRING, ArgumentDefinition, MarkerDefinition
from pykb.markers.effect import Does, Holder, Subject

_UNION = ArgumentDefinition("union", STRING, "The name of the union, if there are several.", optional=True)
_MEMBER_NAME = ArgumentDefinition("memberName", STRING, "The discriminator's value for it.", optional=True)
_OTHER = positional("field", "The JSON name of the other field.")


def _forbidden(holder: Holder) -> None:
    holder.rule(f"!has({holder.at})", f"field {holder.name} is forbidden")


def _depends(holder: Holder, sign: str, word: str) -> None:
    other = holder.argument("field")
    at = holder.beside(str(other))
    if at is not None:
        holder.rule(f"!has({holder.at}) || {sign}has({at})", f"field {other} is {word} when {holder.name} is set")


_CHANGES = {
    "NoModify": ("self == oldSelf", "field cannot be modified"),
    "NoAddItem": ("self.all(x, x in oldSelf)", "elements cannot be added"),
    "NoRemoveItem": ("oldSelf.all(x, x in self)", "elements cannot be removed"),
}


def _update(schema: Subject) -> None:
    rule = _CHANGES.get(str(schema.argument()))
    if rule is not None:  # the others become rules of the object around the field
        schema.rule(*rule)


def _update_member(holder: Holder) -> None:
    match holder.argument():
        case "NoSet":
            holder.rule(f"has({holder.before}) || !has({holder.at})", f"field {holder.name} cannot be set later")
        case "NoUnset":
            holder.rule(f"!has({holder.before}) || has({holder.at})", f"field {holder.name} cannot be removed")


def _decision(name: str, group: str) -> MarkerDefinition:
    """Define a tag for a field whose value decides about other fields."""
    return tag(
        name,
        "The field decides which other fields may be set.",
        ArgumentDefinition(group, STRING, "The name of the discriminator.", optional=True),
        member=lambda holder: holder.decide(group),
        targets=FIELD,
    )


def _while(name: str, by: str, group: str, value: str) -> MarkerDefinition:
    """Define a tag that applies while the deciding field has a certain value."""
    summary = "The value of the discriminator."
    return tag(
        name,
        f"A tag for the field while the {'mode ' if by.startswith('mode') else ''}discriminator has this value.",
        ArgumentDefinition("value", STRING, summary, positional=True, optional=True),
        ArgumentDefinition(group, STRING, "The name of the discriminator.", optional=True),
        ArgumentDefinition(value, STRING, summary, optional=True),
        NESTED,
        member=lambda holder: holder.while_decided(group, value, f"k8s:{by}", forbids=holder.inner == "k8s:forbidden"),
        targets=FIELD,
        example='("Static")=+k8s:required',
        repeatable=True,
    )


DEFINITIONS = (
    tag("forbidden", "The field must not be set.", member=_forbidden, targets=FIELD),
    tag(
        "unionDiscriminator",
        "The field says which member of the union is set.",
        _UNION,
        member=lambda holder: holder.discriminate(),
        targets=FIELD,
    ),
    tag(
        "unionMember",
        "Exactly one of the members is set.",
        _UNION,
        _MEMBER_NAME,
        member=lambda holder: holder.join(may_be_none=False),
        targets=FIELD,
    ),
    tag(
        "zeroOrOneOfMember",
        "At most one of the members is set.",
        _UNION,
        _MEMBER_NAME,
        member=lambda holder: holder.join(may_be_none=True),
        targets=FIELD,
    ),
    _decision("discriminator", "name"),
    _while("member", "discriminator", "discriminator", "memberName"),
    _decision("modeDiscriminator", "modality"),
    _while("ifMode", "modeDiscriminator", "modality", "mode"),
    tag(
        "dependentRequired",
        "When the field is set, another one must be set.",
        _OTHER,
        member=lambda holder: _depends(holder, "", "required"),
        targets=FIELD,
        example="(otherField)",
        repeatable=True,
    ),
    tag(
        "dependentForbidden",
        "When the field is set, another one must not be set.",
        _OTHER,
        member=lambda holder: _depends(holder, "!", "forbidden"),
        targets=FIELD,
        example="(otherField)",
        repeatable=True,
    ),
    tag(
        "update",
        "Which changes of the value are refused.",
        ArgumentDefinition("", STRING, "What must not happen.", choices=("NoSet", "NoUnset", *_CHANGES)),
        effect=Does(_update),
        member=_update_member,
        targets=FIELD,
        example="=NoModify",
        repeatable=True,
    ),
)

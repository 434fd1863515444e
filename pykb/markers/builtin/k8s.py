"""The ``+k8s:`` tags of Kubernetes' declarative validation (KEP-5073, code-generator v0.37).

controller-gen supports ten of the tags and ignores the others silently. pykb supports all. Tags that only steer Go
code generation are accepted with a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pykb.markers.builtin.schema import DEFINITIONS as OF_SCHEMAS
from pykb.markers.builtin.schema import LIST_MAP_KEYS, LIST_TYPES
from pykb.markers.definition import (
    IMMUTABLE,
    INTEGER,
    LISTS,
    MARKER,
    NUMBER,
    NUMBERS,
    RAW,
    STRING,
    TEXTS,
    Argument,
    Does,
    Effect,
    Grammar,
    Holder,
    Holds,
    MarkerDefinition,
    MarkerTarget,
    Subject,
    Value,
    Whole,
)
from pykb.meta.names import cel_selector, cel_text
from pykb.reading import read_json

_FIELD = frozenset({MarkerTarget.FIELD})
_TYPE = frozenset({MarkerTarget.TYPE})
_BOTH = _TYPE | _FIELD
_COUNT = Argument("", INTEGER, "A number from 0 up.", minimum=0)
_NESTED = Argument("", MARKER, "The tag that holds there, for example `+k8s:minLength=1`.")
_ORIGINALS = {definition.name: definition for definition in OF_SCHEMAS}
_VALIDATION = "kubebuilder:validation:"


def _tag(
    name: str,
    summary: str,
    *arguments: Argument,
    effect: Effect | None = None,
    member: Callable[[Holder], None] | None = None,
    targets: frozenset[MarkerTarget] | None = None,
    example: str = "",
    repeatable: bool = False,
    go_only: bool = False,
    priority: int = 20,
    open_arguments: bool = False,
) -> MarkerDefinition:
    """Define a tag. By default, one with an effect on the object around its field is for fields only.

    Tags that set more than a keyword run after kubebuilder's markers and see their keywords.
    """
    return MarkerDefinition(
        f"k8s:{name}",
        targets or (_FIELD if member else _BOTH),
        arguments,
        summary=summary,
        example=f"+k8s:{name}{example}",
        category="Declarative validation",
        priority=priority,
        go_only=go_only,
        repeatable=repeatable,
        grammar=Grammar.DECLARATIVE,
        open_arguments=open_arguments,
        generators=frozenset() if go_only else frozenset({"crd"}),
        effect=effect,
        member=member,
    )


def _spelling(name: str, of: str, *arguments: Argument, example: str = "") -> MarkerDefinition:
    """Define a tag that is another name for a marker."""
    original = _ORIGINALS[of]
    return replace(
        original,
        name=f"k8s:{name}",
        base_name=f"k8s:{name}",
        arguments=arguments,
        example=f"+k8s:{name}{example}",
        category="Declarative validation",
        grammar=Grammar.DECLARATIVE,
        alias_of=of,
        synonyms=(),
    )


def _positional(name: str, summary: str) -> Argument:
    """An argument in the parentheses without a name."""
    return Argument(name, STRING, summary, positional=True)


def _present(schema: Subject) -> None:
    """Require a value that is not empty. Kubernetes' declarative validation treats an empty value as missing."""
    least = {"string": "minLength", "array": "minItems", "object": "minProperties"}.get(schema.type or "")
    if least is not None:
        schema.fill(least, 1)


def _sorted_enum(schema: Subject) -> None:
    values = schema.get("enum")
    if schema.type == "string" and isinstance(values, list):
        schema.reorder("enum", sorted(values, key=lambda value: str(value).encode()))
    else:
        schema.refuse(f"applies to an enumeration of strings, but {{}}{'' if values else ' without values'}", _STR_ENUM)


_STR_ENUM = "class Phase(StrEnum): ..."


def _differs(value: Value) -> None:
    value.rule(f"{value.it} != {_literal(value.argument())}", f"must not be {value.argument()}")


def _literal(raw: object) -> str:
    """The CEL literal of a tag's raw value: a quoted text, a number or a boolean."""
    text = str(raw).strip()
    try:
        value = read_json(text)
    except ValueError:
        return cel_text(text.strip("`"))
    return cel_text(value) if isinstance(value, str) else text


def _max_bytes(value: Value) -> None:
    most = value.argument()
    # No text of n bytes has more than n characters; the bound also keeps the rule cheap.
    value.fill("maxLength", most, implied=True)
    value.rule(f"size(bytes({value.it})) <= {most}", f"must be at most {most} bytes long")


_DNS = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


@dataclass(frozen=True, slots=True)
class _Format:
    """The meaning of a format.

    Attributes:
        pattern: A regular expression for the whole text; empty when ``rule`` covers everything.
        longest: The maximum number of characters.
        rule: A CEL expression about ``{0}``.
    """

    pattern: str = ""
    longest: int = 0
    rule: str = ""


# Source: k8s.io/apimachinery/pkg/api/validate/content, which defines the formats.
_FORMATS = {
    "k8s-extended-resource-name": _Format(
        rf"^{_DNS}/{_QUALIFIED}$", 317, "!{0}.startsWith('requests.') && !{0}.split('/')[0].endsWith('kubernetes.io')"
    ),
    "k8s-ip": _Format(longest=45, rule="isIP({0})"),
    "k8s-label-key": _Format(rf"^({_DNS}/)?{_QUALIFIED}$", 317),
    "k8s-label-value": _Format(rf"^({_QUALIFIED})?$", 63),
    "k8s-long-name": _Format(rf"^{_DNS}$", 253),
    "k8s-long-name-caseless": _Format(rf"^{_DNS.replace('a-z', 'A-Za-z')}$", 253),
    "k8s-path-segment-name": _Format(r"^[^/%]+$", rule="{0} != '.' && {0} != '..'"),
    "k8s-prefixed-label-key": _Format(rf"^{_DNS}/{_QUALIFIED}$", 317),
    "k8s-resource-fully-qualified-name": _Format(rf"^{_DNS}/[A-Za-z_][A-Za-z0-9_]{{0,31}}$", 286),
    "k8s-resource-pool-name": _Format(rf"^{_DNS}(/{_DNS})*$", 253),
    "k8s-short-name": _Format(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 63),
    "k8s-uuid": _Format(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", 36),
}


def _say_format(value: Value) -> None:
    """The effect of `+k8s:format`."""
    form = _FORMATS[str(value.argument())]
    message = f"must be in the format {value.argument()}"
    if form.pattern and value.get("pattern", here=True) is None:
        value.put("pattern", form.pattern)
    elif form.pattern:
        value.rule(f"{value.it}.matches({cel_text(form.pattern)})", message)
    if form.longest:
        value.fill("maxLength", form.longest)
    if form.rule:
        value.rule(form.rule.format(value.it), message)


def _unique(schema: Subject) -> None:
    if schema.argument() == "set":
        schema.rule("self.all(x, self.exists_one(y, x == y))", "elements must be unique")
        return
    keys = schema.beside(LIST_MAP_KEYS)
    schema.drop(LIST_MAP_KEYS)  # only this tag sets them
    if not keys:
        schema.refuse("needs the keys of the elements", "+k8s:listMapKey=name")
        return
    same = " && ".join(f"x.{cel_selector(key)} == y.{cel_selector(key)}" for key in keys)
    schema.rule(f"self.all(x, self.exists_one(y, {same}))", f"elements must be unique by {', '.join(keys)}")


def _subfield(schema: Subject) -> None:
    schema.field(str(schema.argument("field")), forbids=schema.inner == "k8s:forbidden")


def _item(schema: Subject) -> None:
    keys = schema.named()
    if schema.type != "array" or not keys:
        schema.refuse("applies to lists with keys, but {}")
        return
    match = " && ".join(f"item.{cel_selector(name)} == {cel_text(str(value))}" for name, value in keys.items())
    which = "the element with " + ", ".join(f"{name}={value}" for name, value in keys.items())
    match schema.inner:
        case "k8s:immutable":
            same = f"self.filter(item, {match}) == oldSelf.filter(item, {match})"
            schema.rule(same, f"{which} is immutable")
        case "k8s:required":
            schema.rule(f"self.exists(item, {match})", f"{which.replace('the', 'an', 1)} is required")
        case "k8s:forbidden":
            schema.rule(f"!self.exists(item, {match})", f"{which.replace('the', 'an', 1)} is forbidden")
        case _:
            schema.inexpressible()


_UNION = Argument("union", STRING, "The name of the union, if there are several.", optional=True)
_MEMBER_NAME = Argument("memberName", STRING, "The discriminator's value for it.", optional=True)
_OTHER = _positional("field", "The JSON name of the other field.")


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
    return _tag(
        name,
        "The field decides which other fields may be set.",
        Argument(group, STRING, "The name of the discriminator.", optional=True),
        member=lambda holder: holder.decide(group),
    )


def _while(name: str, by: str, group: str, value: str) -> MarkerDefinition:
    """Define a tag that applies while the deciding field has a certain value."""
    summary = "The value of the discriminator."
    return _tag(
        name,
        f"A tag for the field while the {'mode ' if by.startswith('mode') else ''}discriminator has this value.",
        Argument("value", STRING, summary, positional=True, optional=True),
        Argument(group, STRING, "The name of the discriminator.", optional=True),
        Argument(value, STRING, summary, optional=True),
        _NESTED,
        member=lambda holder: holder.while_decided(group, value, f"k8s:{by}", forbids=holder.inner == "k8s:forbidden"),
        example='("Static")=+k8s:required',
        repeatable=True,
    )


DEFINITIONS = (
    _spelling("optional", "optional"),
    replace(_spelling("required", "required"), effect=Does(_present), priority=20),
    _tag(
        "immutable",
        "The value cannot change once it is set.",
        effect=Does(lambda schema: schema.rule(*IMMUTABLE)),
        member=lambda holder: holder.keep(),
        priority=10,
    ),
    _tag(
        "enum",
        "The only values are those of the string enumeration, sorted.",
        effect=Does(_sorted_enum),
        targets=_TYPE,
        priority=10,
    ),
    _spelling("minLength", _VALIDATION + "MinLength", _COUNT, example="=1"),
    _spelling("maxLength", _VALIDATION + "MaxLength", _COUNT, example="=63"),
    _tag("maxBytes", "The greatest number of UTF-8 bytes.", _COUNT, effect=Holds(_max_bytes, TEXTS), example="=256"),
    _spelling("minItems", _VALIDATION + "MinItems", _COUNT, example="=1"),
    _spelling("maxItems", _VALIDATION + "MaxItems", _COUNT, example="=10"),
    _spelling("minProperties", _VALIDATION + "MinProperties", _COUNT, example="=1"),
    _spelling("maxProperties", _VALIDATION + "MaxProperties", _COUNT, example="=16"),
    _spelling("minimum", _VALIDATION + "Minimum", Argument("", NUMBER), example="=1"),
    _spelling("maximum", _VALIDATION + "Maximum", Argument("", NUMBER), example="=100"),
    _tag(
        "format",
        "The string is of a Kubernetes format.",
        Argument("", STRING, "The name of the format.", choices=tuple(_FORMATS)),
        effect=Holds(_say_format, TEXTS),
        example="=k8s-short-name",
    ),
    _tag(
        "neq",
        "The value must differ from this one.",
        Argument("", RAW, "A string, integer or boolean."),
        effect=Holds(_differs),
        example='="default"',
        repeatable=True,
    ),
    _tag(
        "unique",
        "The elements of the list differ, without being merged as a set.",
        Argument("", STRING, "By value or by `+k8s:listMapKey`.", choices=("set", "map")),
        effect=Does(_unique, LISTS),
        example="=set",
    ),
    _tag("customUnique", "Uniqueness is checked by hand-written code.", go_only=True),
    _spelling("listType", "listType", Argument("", STRING, "How it is merged.", choices=LIST_TYPES), example="=map"),
    replace(
        _spelling(
            "listMapKey",
            "listMapKey",
            Argument("", STRING, "The JSON name of a scalar field of the elements."),
            example="=type",
        ),
        summary="A key field of a list with `+k8s:listType=map`.",
    ),
    _tag(
        "eachVal",
        "A tag for every element of a list or value of a map.",
        _NESTED,
        effect=Does(lambda schema: schema.each_value()),
        example="=+k8s:minLength=1",
        repeatable=True,
    ),
    _tag(
        "eachKey",
        "A tag for every key of a map.",
        _NESTED,
        effect=Does(lambda schema: schema.each_key()),
        example="=+k8s:maxLength=63",
        repeatable=True,
    ),
    _tag(
        "subfield",
        "A tag for one field of a struct.",
        _positional("field", "The JSON name of the field."),
        _NESTED,
        effect=Does(_subfield),
        example="(name)=+k8s:required",
        repeatable=True,
    ),
    _tag(
        "item",
        "A tag for the element of a list-map that has these keys.",
        _NESTED,
        effect=Does(_item),
        example='(type: "Ready")=+k8s:immutable',
        repeatable=True,
        open_arguments=True,
    ),
    _tag(
        "monotonic",
        "A number that never decreases.",
        effect=Does(lambda schema: schema.rule("self >= oldSelf", "must not decrease"), NUMBERS),
    ),
    *(
        _tag(
            stage,
            f"Marks the nested tag as {stage}; in a CRD it holds all the same.",
            Argument("since", STRING, "The Kubernetes version that added it.", optional=True),
            _NESTED,
            effect=Whole.WRAPS,
            example='(since: "1.36")=+k8s:minimum=1',
            repeatable=True,
        )
        for stage in ("alpha", "beta")
    ),
    _tag("opaqueType", "Validations of the field's type are not inherited.", effect=Whole.OPENS, targets=_FIELD),
    *(
        _tag(
            name,
            f"A tag that holds while an option of Kubernetes' own API server is {state}.",
            _positional("option", "The name of the option."),
            _NESTED,
            example="(Feature)=+k8s:required",
            repeatable=True,
            go_only=True,
        )
        for name, state in (("ifEnabled", "on"), ("ifDisabled", "off"))
    ),
    _tag("customValidation", "Calls a hand-written Go function.", go_only=True),
    _tag(
        "enumExclude",
        "Leaves a constant out of an enumeration; in Python, leave the member out.",
        targets=frozenset(MarkerTarget),
        go_only=True,
    ),
    *(
        _tag(name, "For tests of validation-gen.", Argument("", RAW, optional=True), go_only=True, repeatable=True)
        for name in ("validateTrue", "validateFalse", "validateError")
    ),
    # About the object around a field: unions, dependencies, presence, updates.
    _tag("forbidden", "The field must not be set.", member=_forbidden),
    _tag(
        "unionDiscriminator",
        "The field says which member of the union is set.",
        _UNION,
        member=lambda holder: holder.discriminate(),
    ),
    _tag(
        "unionMember",
        "Exactly one of the members is set.",
        _UNION,
        _MEMBER_NAME,
        member=lambda holder: holder.join(may_be_none=False),
    ),
    _tag(
        "zeroOrOneOfMember",
        "At most one of the members is set.",
        _UNION,
        _MEMBER_NAME,
        member=lambda holder: holder.join(may_be_none=True),
    ),
    _decision("discriminator", "name"),
    _while("member", "discriminator", "discriminator", "memberName"),
    _decision("modeDiscriminator", "modality"),
    _while("ifMode", "modeDiscriminator", "modality", "mode"),
    _tag(
        "dependentRequired",
        "When the field is set, another one must be set.",
        _OTHER,
        member=lambda holder: _depends(holder, "", "required"),
        example="(otherField)",
        repeatable=True,
    ),
    _tag(
        "dependentForbidden",
        "When the field is set, another one must not be set.",
        _OTHER,
        member=lambda holder: _depends(holder, "!", "forbidden"),
        example="(otherField)",
        repeatable=True,
    ),
    _tag(
        "update",
        "Which changes of the value are refused.",
        Argument("", STRING, "What must not happen.", choices=("NoSet", "NoUnset", *_CHANGES)),
        effect=Does(_update),
        member=_update_member,
        example="=NoModify",
        repeatable=True,
    ),
)

"""The ``+k8s:`` tags of Kubernetes' declarative validation (KEP-5073, code-generator v0.37) about one value.

controller-gen supports ten of the tags and ignores the others silently. pykb supports all. Tags that only steer Go
code generation are accepted with a note. ``k8s_fields`` has those about the object around a field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pykb.markers.builtin.schema import DEFINITIONS as OF_SCHEMAS
from pykb.markers.builtin.schema import LIST_MAP_KEYS, LIST_TYPES
from pykb.markers.definition import (
    INTEGER,
    MARKER,
    NUMBER,
    RAW,
    STRING,
    ArgumentDefinition,
    Grammar,
    MarkerDefinition,
    MarkerTarget,
)
from pykb.markers.effect import IMMUTABLE, LISTS, NUMBERS, TEXTS, Does, Effect, Holder, Holds, Subject, Value, Whole
from pykb.meta.names import cel_selector, cel_text
from pykb.reading import read_json

FIELD = frozenset({MarkerTarget.FIELD})
_TYPE = frozenset({MarkerTarget.TYPE})
_BOTH = _TYPE | FIELD
_COUNT = ArgumentDefinition("", INTEGER, "A number from 0 up.", minimum=0)
NESTED = ArgumentDefinition("", MARKER, "The tag that holds there, for example `+k8s:minLength=1`.")
_ORIGINALS = {definition.name: definition for definition in OF_SCHEMAS}
_VALIDATION = "kubebuilder:validation:"


def tag(
    name: str,
    summary: str,
    *arguments: ArgumentDefinition,
    effect: Effect | None = None,
    member: Callable[[Holder], None] | None = None,
    targets: frozenset[MarkerTarget] = _BOTH,
    example: str = "",
    repeatable: bool = False,
    go_only: bool = False,
    priority: int = 20,
    open_arguments: bool = False,
) -> MarkerDefinition:
    """Define a tag. Tags that set more than a keyword run after kubebuilder's markers and see their keywords."""
    return MarkerDefinition(
        f"k8s:{name}",
        targets,
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


def _spelling(name: str, of: str, *arguments: ArgumentDefinition, example: str = "") -> MarkerDefinition:
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


def positional(name: str, summary: str) -> ArgumentDefinition:
    """An argument in the parentheses without a name."""
    return ArgumentDefinition(name, STRING, summary, positional=True)


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


DEFINITIONS = (
    _spelling("optional", "optional"),
    replace(_spelling("required", "required"), effect=Does(_present), priority=20),
    tag(
        "immutable",
        "The value cannot change once it is set.",
        effect=Does(lambda schema: schema.rule(*IMMUTABLE)),
        member=lambda holder: holder.keep(),
        targets=FIELD,
        priority=10,
    ),
    tag(
        "enum",
        "The only values are those of the string enumeration, sorted.",
        effect=Does(_sorted_enum),
        targets=_TYPE,
        priority=10,
    ),
    _spelling("minLength", _VALIDATION + "MinLength", _COUNT, example="=1"),
    _spelling("maxLength", _VALIDATION + "MaxLength", _COUNT, example="=63"),
    tag(
        "maxBytes",
        "The greatest number of UTF-8 bytes.",
        _COUNT,
        effect=Holds(_max_bytes, TEXTS),
        example="=256",
    ),
    _spelling("minItems", _VALIDATION + "MinItems", _COUNT, example="=1"),
    _spelling("maxItems", _VALIDATION + "MaxItems", _COUNT, example="=10"),
    _spelling("minProperties", _VALIDATION + "MinProperties", _COUNT, example="=1"),
    _spelling("maxProperties", _VALIDATION + "MaxProperties", _COUNT, example="=16"),
    _spelling("minimum", _VALIDATION + "Minimum", ArgumentDefinition("", NUMBER), example="=1"),
    _spelling("maximum", _VALIDATION + "Maximum", ArgumentDefinition("", NUMBER), example="=100"),
    tag(
        "format",
        "The string is of a Kubernetes format.",
        ArgumentDefinition("", STRING, "The name of the format.", choices=tuple(_FORMATS)),
        effect=Holds(_say_format, TEXTS),
        example="=k8s-short-name",
    ),
    tag(
        "neq",
        "The value must differ from this one.",
        ArgumentDefinition("", RAW, "A string, integer or boolean."),
        effect=Holds(_differs),
        example='="default"',
        repeatable=True,
    ),
    tag(
        "unique",
        "The elements of the list differ, without being merged as a set.",
        ArgumentDefinition("", STRING, "By value or by `+k8s:listMapKey`.", choices=("set", "map")),
        effect=Does(_unique, LISTS),
        example="=set",
    ),
    tag("customUnique", "Uniqueness is checked by hand-written code.", go_only=True),
    _spelling(
        "listType",
        "listType",
        ArgumentDefinition("", STRING, "How it is merged.", choices=LIST_TYPES),
        example="=map",
    ),
    replace(
        _spelling(
            "listMapKey",
            "listMapKey",
            ArgumentDefinition("", STRING, "The JSON name of a scalar field of the elements."),
            example="=type",
        ),
        summary="A key field of a list with `+k8s:listType=map`.",
    ),
    tag(
        "eachVal",
        "A tag for every element of a list or value of a map.",
        NESTED,
        effect=Does(lambda schema: schema.each_value()),
        example="=+k8s:minLength=1",
        repeatable=True,
    ),
    tag(
        "eachKey",
        "A tag for every key of a map.",
        NESTED,
        effect=Does(lambda schema: schema.each_key()),
        example="=+k8s:maxLength=63",
        repeatable=True,
    ),
    tag(
        "subfield",
        "A tag for one field of a struct.",
        positional("field", "The JSON name of the field."),
        NESTED,
        effect=Does(_subfield),
        example="(name)=+k8s:required",
        repeatable=True,
    ),
    tag(
        "item",
        "A tag for the element of a list-map that has these keys.",
        NESTED,
        effect=Does(_item),
        example='(type: "Ready")=+k8s:immutable',
        repeatable=True,
        open_arguments=True,
    ),
    tag(
        "monotonic",
        "A number that never decreases.",
        effect=Does(lambda schema: schema.rule("self >= oldSelf", "must not decrease"), NUMBERS),
    ),
    *(
        tag(
            stage,
            f"Marks the nested tag as {stage}; in a CRD it holds all the same.",
            ArgumentDefinition("since", STRING, "The Kubernetes version that added it.", optional=True),
            NESTED,
            effect=Whole.WRAPS,
            example='(since: "1.36")=+k8s:minimum=1',
            repeatable=True,
        )
        for stage in ("alpha", "beta")
    ),
    tag("opaqueType", "Validations of the field's type are not inherited.", effect=Whole.OPENS, targets=FIELD),
    *(
        tag(
            name,
            f"A tag that holds while an option of Kubernetes' own API server is {state}.",
            positional("option", "The name of the option."),
            NESTED,
            example="(Feature)=+k8s:required",
            repeatable=True,
            go_only=True,
        )
        for name, state in (("ifEnabled", "on"), ("ifDisabled", "off"))
    ),
    tag("customValidation", "Calls a hand-written Go function.", go_only=True),
    tag(
        "enumExclude",
        "Leaves a constant out of an enumeration; in Python, leave the member out.",
        targets=frozenset(MarkerTarget),
        go_only=True,
    ),
    *(
        tag(
            name,
            "For tests of validation-gen.",
            ArgumentDefinition("", RAW, optional=True),
            go_only=True,
            repeatable=True,
        )
        for name in ("validateTrue", "validateFalse", "validateError")
    ),
)

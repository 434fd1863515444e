"""The ``+k8s:`` tags of Kubernetes' declarative validation (KEP-5073, code-generator v0.37).

controller-gen understands ten of them and drops the others without a word; pykb knows all. Tags that only steer
Kubernetes' own Go code generation are accepted with a note.
"""

from __future__ import annotations

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

_CATEGORY = "Declarative validation"
_FIELD = frozenset({MarkerTarget.FIELD})
_TYPE = frozenset({MarkerTarget.TYPE})
_BOTH = _TYPE | _FIELD
_FORMATS = (
    "k8s-extended-resource-name",
    "k8s-ip",
    "k8s-label-key",
    "k8s-label-value",
    "k8s-long-name",
    "k8s-long-name-caseless",
    "k8s-path-segment-name",
    "k8s-prefixed-label-key",
    "k8s-resource-fully-qualified-name",
    "k8s-resource-pool-name",
    "k8s-short-name",
    "k8s-uuid",
)
_COUNT = ArgumentDefinition("", INTEGER, summary="A number from 0 up.", minimum=0)
_NESTED = ArgumentDefinition("", MARKER, summary="The tag that holds there, for example `+k8s:minLength=1`.")


def _tag(
    name: str,
    summary: str,
    *arguments: ArgumentDefinition,
    targets: frozenset[MarkerTarget] = _BOTH,
    example: str = "",
    alias_of: str = "",
    repeatable: bool = False,
    go_only: bool = False,
    priority: int = 10,
    open_arguments: bool = False,
) -> MarkerDefinition:
    return MarkerDefinition(
        f"k8s:{name}",
        targets,
        arguments,
        summary=summary,
        example=f"+k8s:{name}{example}",
        category=_CATEGORY,
        priority=priority,
        go_only=go_only,
        repeatable=repeatable,
        grammar=Grammar.DECLARATIVE,
        alias_of=alias_of,
        open_arguments=open_arguments,
        generators=frozenset() if go_only else frozenset({"crd"}),
    )


def _positional(name: str, summary: str) -> ArgumentDefinition:
    return ArgumentDefinition(name, STRING, summary=summary, positional=True)


_UNION = ArgumentDefinition("union", STRING, optional=True, summary="The name of the union, if there are several.")
_MEMBER_NAME = ArgumentDefinition("memberName", STRING, optional=True, summary="The discriminator's value for it.")
_SINCE = ArgumentDefinition("since", STRING, optional=True, summary="The Kubernetes version that added it.")
_KUBEBUILDER = "kubebuilder:validation:"

DEFINITIONS = (
    _tag("optional", "The field may be left out.", targets=_FIELD, alias_of="optional"),
    _tag("required", "The field must be there.", targets=_FIELD, alias_of="required"),
    _tag("forbidden", "The field must not be set.", targets=_FIELD),
    _tag("immutable", "The value cannot change once it is set.", targets=_FIELD),
    _tag("enum", "The only values are those of the string enumeration, sorted.", targets=_TYPE),
    _tag("minLength", "The least number of characters.", _COUNT, example="=1", alias_of=_KUBEBUILDER + "MinLength"),
    _tag("maxLength", "The greatest number of characters.", _COUNT, example="=63", alias_of=_KUBEBUILDER + "MaxLength"),
    _tag("maxBytes", "The greatest number of UTF-8 bytes.", _COUNT, example="=256"),
    _tag("minItems", "The least number of elements.", _COUNT, example="=1", alias_of=_KUBEBUILDER + "MinItems"),
    _tag("maxItems", "The greatest number of elements.", _COUNT, example="=10", alias_of=_KUBEBUILDER + "MaxItems"),
    _tag("minProperties", "The least number of keys.", _COUNT, example="=1", alias_of=_KUBEBUILDER + "MinProperties"),
    _tag(
        "maxProperties", "The greatest number of keys.", _COUNT, example="=16", alias_of=_KUBEBUILDER + "MaxProperties"
    ),
    _tag(
        "minimum",
        "The least number allowed.",
        ArgumentDefinition("", NUMBER),
        example="=1",
        alias_of=_KUBEBUILDER + "Minimum",
    ),
    _tag(
        "maximum",
        "The greatest number allowed.",
        ArgumentDefinition("", NUMBER),
        example="=100",
        alias_of=_KUBEBUILDER + "Maximum",
    ),
    _tag(
        "format",
        "The string is of a Kubernetes format.",
        ArgumentDefinition("", STRING, summary="The name of the format.", choices=_FORMATS),
        example="=k8s-short-name",
    ),
    _tag(
        "neq",
        "The value must differ from this one.",
        ArgumentDefinition("", RAW, summary="A string, integer or boolean."),
        example='="default"',
        repeatable=True,
    ),
    _tag(
        "unique",
        "The elements of the list differ, without being merged as a set.",
        ArgumentDefinition("", STRING, summary="By value or by `+k8s:listMapKey`.", choices=("set", "map")),
        example="=set",
    ),
    _tag("customUnique", "Uniqueness is checked by hand-written code.", go_only=True),
    _tag(
        "listType",
        "A list is a map by keys, a set of scalars, or one atomic value.",
        ArgumentDefinition("", STRING, summary="How it is merged.", choices=("map", "set", "atomic")),
        example="=map",
        alias_of="listType",
        priority=9,
    ),
    _tag(
        "listMapKey",
        "A key field of a list with `+k8s:listType=map`.",
        ArgumentDefinition("", STRING, summary="The JSON name of a scalar field of the elements."),
        example="=type",
        alias_of="listMapKey",
        repeatable=True,
    ),
    _tag(
        "eachVal",
        "A tag for every element of a list or value of a map.",
        _NESTED,
        example="=+k8s:minLength=1",
        repeatable=True,
    ),
    _tag("eachKey", "A tag for every key of a map.", _NESTED, example="=+k8s:maxLength=63", repeatable=True),
    _tag(
        "subfield",
        "A tag for one field of a struct.",
        _positional("field", "The JSON name of the field."),
        _NESTED,
        example="(name)=+k8s:required",
        repeatable=True,
    ),
    _tag(
        "item",
        "A tag for the element of a list-map that has these keys.",
        _NESTED,
        example='(type: "Ready")=+k8s:immutable',
        repeatable=True,
        open_arguments=True,
    ),
    _tag(
        "unionDiscriminator",
        "The field says which member of the union is set.",
        _UNION,
        targets=_FIELD,
    ),
    _tag("unionMember", "Exactly one of the members is set.", _UNION, _MEMBER_NAME, targets=_FIELD),
    _tag("zeroOrOneOfMember", "At most one of the members is set.", _UNION, _MEMBER_NAME, targets=_FIELD),
    _tag(
        "discriminator",
        "The field decides which other fields may be set.",
        ArgumentDefinition("name", STRING, optional=True, summary="The name of the discriminator."),
        targets=_FIELD,
    ),
    _tag(
        "member",
        "A tag for the field while the discriminator has this value.",
        ArgumentDefinition("value", STRING, summary="The value of the discriminator.", positional=True, optional=True),
        ArgumentDefinition("discriminator", STRING, optional=True, summary="The name of the discriminator."),
        ArgumentDefinition("memberName", STRING, optional=True, summary="The value of the discriminator."),
        _NESTED,
        targets=_FIELD,
        example='("Static")=+k8s:required',
        repeatable=True,
    ),
    _tag(
        "modeDiscriminator",
        "The field decides which other fields may be set.",
        ArgumentDefinition("modality", STRING, optional=True, summary="The name of the discriminator."),
        targets=_FIELD,
    ),
    _tag(
        "ifMode",
        "A tag for the field while the mode discriminator has this value.",
        ArgumentDefinition("value", STRING, summary="The value of the discriminator.", positional=True, optional=True),
        ArgumentDefinition("modality", STRING, optional=True, summary="The name of the discriminator."),
        ArgumentDefinition("mode", STRING, optional=True, summary="The value of the discriminator."),
        _NESTED,
        targets=_FIELD,
        example='("Static")=+k8s:required',
        repeatable=True,
    ),
    _tag(
        "dependentRequired",
        "When the field is set, another one must be set.",
        _positional("field", "The JSON name of the other field."),
        targets=_FIELD,
        example="(otherField)",
        repeatable=True,
    ),
    _tag(
        "dependentForbidden",
        "When the field is set, another one must not be set.",
        _positional("field", "The JSON name of the other field."),
        targets=_FIELD,
        example="(otherField)",
        repeatable=True,
    ),
    _tag(
        "update",
        "Which changes of the value are refused.",
        ArgumentDefinition(
            "",
            STRING,
            summary="What must not happen.",
            choices=("NoSet", "NoUnset", "NoModify", "NoAddItem", "NoRemoveItem"),
        ),
        targets=_FIELD,
        example="=NoModify",
        repeatable=True,
    ),
    _tag("monotonic", "A number that never decreases."),
    _tag(
        "alpha",
        "Marks the nested tag as alpha; in a CRD it holds all the same.",
        _SINCE,
        _NESTED,
        example='(since: "1.36")=+k8s:minimum=1',
        repeatable=True,
    ),
    _tag(
        "beta",
        "Marks the nested tag as beta; in a CRD it holds all the same.",
        _SINCE,
        _NESTED,
        example='(since: "1.36")=+k8s:minimum=1',
        repeatable=True,
    ),
    _tag("opaqueType", "Validations of the field's type are not inherited.", targets=_FIELD),
    _tag(
        "ifEnabled",
        "A tag that holds while an option of Kubernetes' own API server is on.",
        _positional("option", "The name of the option."),
        _NESTED,
        example="(Feature)=+k8s:required",
        repeatable=True,
        go_only=True,
    ),
    _tag(
        "ifDisabled",
        "A tag that holds while an option of Kubernetes' own API server is off.",
        _positional("option", "The name of the option."),
        _NESTED,
        example="(Feature)=+k8s:required",
        repeatable=True,
        go_only=True,
    ),
    _tag("customValidation", "Calls a hand-written Go function.", go_only=True),
    _tag(
        "enumExclude",
        "Leaves a constant out of an enumeration; in Python, leave the member out.",
        targets=frozenset(MarkerTarget),
        go_only=True,
    ),
    _tag(
        "validateTrue",
        "For tests of validation-gen.",
        ArgumentDefinition("", RAW, optional=True),
        go_only=True,
        repeatable=True,
    ),
    _tag(
        "validateFalse",
        "For tests of validation-gen.",
        ArgumentDefinition("", RAW, optional=True),
        go_only=True,
        repeatable=True,
    ),
    _tag(
        "validateError",
        "For tests of validation-gen.",
        ArgumentDefinition("", RAW, optional=True),
        go_only=True,
        repeatable=True,
    ),
)

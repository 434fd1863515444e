"""Markers that constrain, default or describe a schema, on types and fields; also those for the elements of lists."""

from __future__ import annotations

from pykb.markers.definition import (
    ANY,
    ANYS,
    BOOLEAN,
    INTEGER,
    JSON,
    NUMBER,
    STRING,
    STRINGS,
    ArgumentDefinition,
    MarkerDefinition,
    MarkerTarget,
    ValueType,
)

_CATEGORY = "Validation"
_TYPE = frozenset({MarkerTarget.TYPE})
_FIELD = frozenset({MarkerTarget.FIELD})
_BOTH = _TYPE | _FIELD
_PREFIX = "kubebuilder:validation:"


def _value(kind: ValueType, summary: str = "", *, minimum: int | None = None) -> tuple[ArgumentDefinition, ...]:
    return (ArgumentDefinition("", kind, summary=summary, minimum=minimum),)


def _schema(
    name: str,
    summary: str,
    arguments: tuple[ArgumentDefinition, ...] = (),
    *,
    example: str = "",
    priority: int = 10,
    repeatable: bool = False,
) -> MarkerDefinition:
    return MarkerDefinition(
        _PREFIX + name,
        _BOTH,
        arguments,
        summary=summary,
        example=f"+{_PREFIX}{name}{example}",
        category=_CATEGORY,
        priority=priority,
        repeatable=repeatable,
    )


_CEL_ARGUMENTS = (
    ArgumentDefinition("rule", STRING, summary="The CEL expression; `self` is the value."),
    ArgumentDefinition("message", STRING, optional=True, summary="What the user is told when it is false."),
    ArgumentDefinition("messageExpression", STRING, optional=True, summary="A CEL expression that gives the message."),
    ArgumentDefinition(
        "reason",
        STRING,
        optional=True,
        summary="The machine-readable reason of the refusal.",
        choices=("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"),
    ),
    ArgumentDefinition("fieldPath", STRING, optional=True, summary="The field that the refusal names."),
    ArgumentDefinition(
        "optionalOldSelf", BOOLEAN, optional=True, summary="Whether the rule also runs when there is no old value."
    ),
)

_SCHEMA = (
    _schema("Maximum", "The greatest number allowed.", _value(NUMBER), example="=100"),
    _schema("Minimum", "The least number allowed.", _value(NUMBER), example="=1"),
    _schema(
        "ExclusiveMaximum",
        "Whether the maximum itself is forbidden.",
        _value(BOOLEAN),
        example="=true",
    ),
    _schema("ExclusiveMinimum", "Whether the minimum itself is forbidden.", _value(BOOLEAN), example="=true"),
    _schema("MultipleOf", "The number must be a multiple of this.", _value(NUMBER), example="=5"),
    _schema("MaxLength", "The greatest number of characters.", _value(INTEGER, minimum=0), example="=63"),
    _schema("MinLength", "The least number of characters.", _value(INTEGER, minimum=0), example="=1"),
    _schema("Pattern", "A regular expression (RE2) that must match.", _value(STRING), example="=`^[a-z]+$`"),
    _schema("MaxItems", "The greatest number of elements.", _value(INTEGER, minimum=0), example="=10"),
    _schema("MinItems", "The least number of elements.", _value(INTEGER, minimum=0), example="=1"),
    _schema(
        "UniqueItems",
        "Elements must differ; the API server refuses it in CRDs: use `+listType=set`.",
        _value(BOOLEAN),
        example="=true",
    ),
    _schema("MaxProperties", "The greatest number of keys.", _value(INTEGER, minimum=0), example="=16"),
    _schema("MinProperties", "The least number of keys.", _value(INTEGER, minimum=0), example="=1"),
    _schema("Enum", "The only values allowed.", _value(ANYS), example="=Always;IfNotPresent;Never"),
    _schema("Format", "The OpenAPI format of the value.", _value(STRING), example="=date-time"),
    _schema("Type", "Overrides the OpenAPI type.", _value(STRING), example="=string", priority=9),
    _schema("XPreserveUnknownFields", "Keeps fields that the schema does not list."),
    _schema("XEmbeddedResource", "The value is a whole Kubernetes object with apiVersion, kind and metadata."),
    _schema("XIntOrString", "The value is an integer or a string.", priority=9),
    _schema(
        "XValidation",
        "A CEL rule that the value must fulfil.",
        _CEL_ARGUMENTS,
        example=':rule="self.minReplicas <= self.maxReplicas",message="minReplicas is above maxReplicas"',
        repeatable=True,
    ),
)


def _one_of(name: str, summary: str, priority: int) -> MarkerDefinition:
    return MarkerDefinition(
        _PREFIX + name,
        _TYPE,
        _value(STRINGS, "JSON names of fields of this type."),
        summary=summary,
        example=f"+{_PREFIX}{name}=inline;reference",
        category=_CATEGORY,
        priority=priority,
        repeatable=True,
    )


def _presence(name: str, summary: str, *, targets: frozenset[MarkerTarget] = _FIELD) -> MarkerDefinition:
    return MarkerDefinition(name, targets, summary=summary, example=f"+{name}", category=_CATEGORY)


DEFINITIONS = (
    *_SCHEMA,
    *(definition.at_items(1) for definition in _SCHEMA),
    MarkerDefinition(
        "kubebuilder:pruning:PreserveUnknownFields",
        _BOTH,
        summary="Keeps fields that the schema does not list.",
        example="+kubebuilder:pruning:PreserveUnknownFields",
        category=_CATEGORY,
        alias_of="kubebuilder:validation:XPreserveUnknownFields",
    ),
    MarkerDefinition(
        _PREFIX + "EmbeddedResource",
        _FIELD,
        summary="The value is a whole Kubernetes object with apiVersion, kind and metadata.",
        example=f"+{_PREFIX}EmbeddedResource",
        category=_CATEGORY,
        alias_of=_PREFIX + "XEmbeddedResource",
    ),
    MarkerDefinition(
        _PREFIX + "Schemaless",
        _FIELD,
        summary="Starts from an empty schema; only the other markers of the field fill it.",
        example=f"+{_PREFIX}Schemaless",
        category=_CATEGORY,
    ),
    _one_of("AtMostOneOf", "At most one of the fields may be set.", 11),
    _one_of("ExactlyOneOf", "Exactly one of the fields must be set.", 12),
    _one_of("AtLeastOneOf", "At least one of the fields must be set.", 13),
    _presence("optional", "The field may be left out."),
    _presence("required", "The field must be there."),
    MarkerDefinition(
        _PREFIX + "Optional",
        _FIELD | {MarkerTarget.PACKAGE},
        summary="The field may be left out; on a package: all fields may, unless they say otherwise.",
        example=f"+{_PREFIX}Optional",
        category=_CATEGORY,
    ),
    MarkerDefinition(
        _PREFIX + "Required",
        _FIELD | {MarkerTarget.PACKAGE},
        summary="The field must be there; on a package: the default.",
        example=f"+{_PREFIX}Required",
        category=_CATEGORY,
    ),
    _presence("nullable", "The value may be `null`."),
    MarkerDefinition(
        "kubebuilder:default",
        _FIELD,
        _value(ANY, "The default; its type is guessed from its looks."),
        summary="What the API server fills in when the field is left out.",
        example='+kubebuilder:default={cpu: "1", memory: 2Gi}',
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "default",
        _FIELD,
        _value(JSON, "The default as strict JSON."),
        summary="What the API server fills in when the field is left out.",
        example='+default="info"',
        category=_CATEGORY,
        priority=9,
    ),
    MarkerDefinition(
        "kubebuilder:example",
        _FIELD,
        _value(ANY, "The example; its type is guessed from its looks."),
        summary="An example value in the schema.",
        example="+kubebuilder:example=web-1",
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:title",
        _BOTH,
        (
            ArgumentDefinition(
                "", ANY, summary="A short heading; in quotes where it looks like a number.", textual=True
            ),
        ),
        summary="The `title` of the schema.",
        example='+kubebuilder:title="Virtual machine"',
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:externalDocs",
        _BOTH,
        (
            ArgumentDefinition("url", STRING, summary="An absolute URL."),
            ArgumentDefinition("description", STRING, optional=True, summary="What is to be read there."),
        ),
        summary="Points to documentation outside the schema.",
        example='+kubebuilder:externalDocs:url="https://example.com/docs",description="The manual"',
        category=_CATEGORY,
    ),
)

"""Markers of schemas: validation, and how server-side apply merges lists, maps and structs (topology)."""

from __future__ import annotations

from dataclasses import replace

from pykb.markers.definition import (
    ANY,
    ANYS,
    BOOLEAN,
    INTEGER,
    JSON,
    NUMBER,
    STRING,
    STRINGS,
    Argument,
    Does,
    Effect,
    MarkerDefinition,
    MarkerTarget,
    Sets,
    Subject,
    ValueType,
    Whole,
)

_TOPOLOGY = "Topology"
_ANY_USE = frozenset({MarkerTarget.TYPE, MarkerTarget.FIELD})
LIST_TYPES = ("map", "set", "atomic")
_MAPS = ("granular", "atomic")
LIST_TYPE = "x-kubernetes-list-type"
LIST_MAP_KEYS = "x-kubernetes-list-map-keys"
_MAP_TYPE = "x-kubernetes-map-type"


def _merge_choice(name: str, keyword: str, summary: str, choices: tuple[str, ...]) -> MarkerDefinition:
    return MarkerDefinition(
        name,
        _ANY_USE,
        (Argument("", STRING, "How it is merged.", choices=choices),),
        summary=summary,
        example=f"+{name}={choices[0]}",
        category=_TOPOLOGY,
        priority=9 if keyword == LIST_TYPE else 10,
        effect=Sets(keyword),
    )


_TOPOLOGY_DEFINITIONS = (
    _merge_choice("listType", LIST_TYPE, "A list is a map by keys, a set of scalars, or one atomic value.", LIST_TYPES),
    MarkerDefinition(
        "listMapKey",
        _ANY_USE,
        (Argument("", STRING, "The JSON name of a scalar field of the elements."),),
        summary="A key field of a list with `+listType=map`.",
        example="+listMapKey=type",
        category=_TOPOLOGY,
        repeatable=True,
        effect=Sets(LIST_MAP_KEYS, adds=True),
    ),
    _merge_choice("mapType", _MAP_TYPE, "Whether keys of a map are merged one by one or the map is one value.", _MAPS),
    _merge_choice(
        "structType", _MAP_TYPE, "Whether fields of a struct are merged one by one or the struct is one value.", _MAPS
    ),
)


_CATEGORY = "Validation"
_TYPE = frozenset({MarkerTarget.TYPE})
_FIELD = frozenset({MarkerTarget.FIELD})
_BOTH = _TYPE | _FIELD
_PREFIX = "kubebuilder:validation:"


def _value(
    kind: ValueType, summary: str = "", *, minimum: int | None = None, bare: bool = False
) -> tuple[Argument, ...]:
    return (Argument("", kind, summary, minimum=minimum, bare=bare),)


_NUMBER = _value(NUMBER)
_BARE_NUMBER = _value(NUMBER, bare=True)
_COUNT = _value(INTEGER, minimum=0)
_FLAG = _value(BOOLEAN)


def _schema(
    name: str,
    summary: str,
    arguments: tuple[Argument, ...] = (),
    example: str = "",
    *,
    effect: Effect | None = None,
    priority: int = 10,
    synonyms: str = "",
) -> MarkerDefinition:
    """Define a marker for fields and types. By default it sets the keyword of the same name."""
    return MarkerDefinition(
        _PREFIX + name,
        _BOTH,
        arguments,
        summary=summary,
        example=f"+{_PREFIX}{name}{example}",
        category=_CATEGORY,
        priority=priority,
        repeatable=isinstance(effect, Does),
        effect=effect or Sets(f"{name[0].lower()}{name[1:]}"),
        synonyms=tuple(synonyms.split()),
    )


def _rule(schema: Subject) -> None:
    said = schema.named()
    schema.rule(str(said.pop("rule")), **said)


_CEL_ARGUMENTS = (
    Argument("rule", STRING, "The CEL expression; `self` is the value."),
    Argument("message", STRING, "The message when the rule is false.", optional=True),
    Argument("messageExpression", STRING, "A CEL expression that gives the message.", optional=True),
    Argument(
        "reason",
        STRING,
        "The machine-readable reason of the error.",
        optional=True,
        choices=("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"),
    ),
    Argument("fieldPath", STRING, "The field that the error names.", optional=True),
    Argument("optionalOldSelf", BOOLEAN, "Whether the rule also runs when there is no old value.", optional=True),
)

_SCHEMA = (
    _schema("Maximum", "The greatest number allowed.", _BARE_NUMBER, "=100", synonyms="max le lte maxvalue atmost"),
    _schema("Minimum", "The least number allowed.", _BARE_NUMBER, "=1", synonyms="min ge gte minvalue atleast"),
    _schema(
        "ExclusiveMaximum",
        "Whether the maximum itself is forbidden.",
        _FLAG,
        "=true",
        synonyms="lt lessthan exclusivemax",
    ),
    _schema(
        "ExclusiveMinimum",
        "Whether the minimum itself is forbidden.",
        _FLAG,
        "=true",
        synonyms="gt greaterthan exclusivemin",
    ),
    _schema("MultipleOf", "The number must be a multiple of this.", _NUMBER, "=5", synonyms="step multiple"),
    _schema(
        "MaxLength", "The greatest number of characters.", _COUNT, "=63", synonyms="maxlen maxsize len length size"
    ),
    _schema(
        "MinLength",
        "The least number of characters.",
        _COUNT,
        "=1",
        synonyms="minlen minsize notempty nonempty notblank nonblank",
    ),
    _schema(
        "Pattern",
        "A regular expression (RE2) that must match.",
        _value(STRING),
        "=`^[a-z]+$`",
        synonyms="regex regexp match matches",
    ),
    _schema("MaxItems", "The greatest number of elements.", _value(INTEGER, minimum=0, bare=True), "=10"),
    _schema("MinItems", "The least number of elements.", _COUNT, "=1"),
    _schema(
        "UniqueItems", "Elements must differ. The API server refuses it in CRDs: use `+listType=set`.", _FLAG, "=true"
    ),
    _schema("MaxProperties", "The greatest number of keys.", _COUNT, "=16"),
    _schema("MinProperties", "The least number of keys.", _COUNT, "=1"),
    _schema(
        "Enum",
        "The only values allowed.",
        _value(ANYS),
        "=Always;IfNotPresent;Never",
        synonyms="oneof choices values allowed allowedvalues literal in",
    ),
    _schema("Format", "The OpenAPI format of the value.", _value(STRING), "=date-time"),
    _schema(
        "Type",
        "Overrides the OpenAPI type.",
        _value(STRING),
        "=string",
        effect=Sets("type", drops=("format",)),
        priority=9,
    ),
    _schema(
        "XPreserveUnknownFields",
        "Keeps fields that the schema does not list.",
        effect=Sets("x-kubernetes-preserve-unknown-fields"),
    ),
    _schema(
        "XEmbeddedResource",
        "The value is a whole Kubernetes object with apiVersion, kind and metadata.",
        effect=Sets("x-kubernetes-embedded-resource"),
    ),
    _schema(
        "XIntOrString",
        "The value is an integer or a string.",
        effect=Sets("x-kubernetes-int-or-string", drops=("type", "format")),
        priority=9,
    ),
    _schema(
        "XValidation",
        "A CEL rule that the value must fulfil.",
        _CEL_ARGUMENTS,
        ':rule="self.minReplicas <= self.maxReplicas",message="minReplicas is above maxReplicas"',
        effect=Does(_rule),
        synonyms="cel rule expression check",
    ),
)
_BY_NAME = {definition.name.removeprefix(_PREFIX): definition for definition in _SCHEMA}


def _one_of(relation: str, priority: int, summary: str, synonyms: tuple[str, ...] = ()) -> MarkerDefinition:
    name = f"{_PREFIX}{relation.title().replace(' ', '')}OneOf"
    return MarkerDefinition(
        name,
        _TYPE,
        _value(STRINGS, "JSON names of fields of this type."),
        summary=summary,
        example=f"+{name}=inline;reference",
        category=_CATEGORY,
        priority=priority,
        repeatable=True,
        effect=Does(lambda schema: schema.fields(relation)),
        synonyms=synonyms,
    )


def _other(
    name: str,
    summary: str,
    *arguments: Argument,
    example: str = "",
    effect: Effect | None = None,
    required: bool | None = None,
    targets: frozenset[MarkerTarget] = _FIELD,
    priority: int = 10,
) -> MarkerDefinition:
    return MarkerDefinition(
        name,
        targets,
        arguments,
        summary=summary,
        example=f"+{name}{example}",
        category=_CATEGORY,
        priority=priority,
        effect=effect,
        required=required,
    )


def _spelling(name: str, of: str, targets: frozenset[MarkerTarget] = _BOTH) -> MarkerDefinition:
    original = _BY_NAME[of]
    return replace(original, name=name, base_name=name, targets=targets, example=f"+{name}", alias_of=original.name)


DEFINITIONS = (
    *_SCHEMA,
    *(definition.at_items(1) for definition in _SCHEMA),
    _spelling("kubebuilder:pruning:PreserveUnknownFields", "XPreserveUnknownFields"),
    _spelling(_PREFIX + "EmbeddedResource", "XEmbeddedResource", _FIELD),
    _other(
        _PREFIX + "Schemaless",
        "Starts from an empty schema, which only the other markers of the field fill.",
        effect=Whole.EMPTIES,
    ),
    _one_of("at most", 11, "At most one of the fields may be set."),
    _one_of("exactly", 12, "Exactly one of the fields must be set.", ("oneof",)),
    _one_of("at least", 13, "At least one of the fields must be set.", ("anyof",)),
    _other("optional", "The field is optional.", required=False),
    _other("required", "The field is required.", required=True),
    _other(
        _PREFIX + "Optional",
        "The field is optional. On a package: all fields are optional, unless they have another marker.",
        required=False,
        targets=_FIELD | {MarkerTarget.PACKAGE},
    ),
    _other(
        _PREFIX + "Required",
        "The field is required. On a package: this is the default.",
        required=True,
        targets=_FIELD | {MarkerTarget.PACKAGE},
    ),
    _other("nullable", "The value may be `null`.", effect=Sets("nullable")),
    _other(
        "kubebuilder:default",
        "What the API server fills in when the field is left out.",
        *_value(ANY, "The default. Its type is guessed from its form."),
        example='={cpu: "1", memory: 2Gi}',
        effect=Sets("default"),
    ),
    _other(
        "default",
        "What the API server fills in when the field is left out.",
        *_value(JSON, "The default as strict JSON."),
        example='="info"',
        effect=Sets("default"),
        priority=9,
    ),
    _other(
        "kubebuilder:example",
        "An example value in the schema.",
        *_value(ANY, "The example. Its type is guessed from its form."),
        example="=web-1",
        effect=Sets("example"),
    ),
    _other(
        "kubebuilder:title",
        "The `title` of the schema.",
        Argument("", ANY, "A short heading. Needs quotes if it looks like a number.", textual=True),
        example='="Virtual machine"',
        effect=Sets("title"),
        targets=_BOTH,
    ),
    _other(
        "kubebuilder:externalDocs",
        "Points to documentation outside the schema.",
        Argument("url", STRING, "An absolute URL."),
        Argument("description", STRING, "What the documentation is about.", optional=True),
        example=':url="https://example.com/docs",description="The manual"',
        effect=Sets("externalDocs"),
        targets=_BOTH,
    ),
    *_TOPOLOGY_DEFINITIONS,
)

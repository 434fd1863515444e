"""What a CustomResourceDefinition may hold where, as far as an import reads it: API reference, apiextensions.k8s.io/v1.

An API server refuses a manifest with a list where a text belongs. So does an import, before anything relies on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one value.

    Attributes:
        path: The way to it, like ``spec.versions[0].name``.
        message: What was found there, and expected.
    """

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without parts."""

    noun: str
    types: tuple[type, ...]

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """What is wrong with a value that is there."""
        fits = isinstance(value, self.types) and (not isinstance(value, bool) or bool in self.types)
        if not fits or (isinstance(value, float) and not math.isfinite(value)):
            yield Fault(path, f"expected {self.noun}, found {noun_of(value)}")


@dataclass(frozen=True, slots=True)
class Anything:
    """Whatever JSON can say."""

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """What is wrong with a value that is there."""
        if isinstance(value, Mapping):
            for key, item in value.items():
                yield from self.faults(item, f"{path}.{key}")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.faults(item, f"{path}[{index}]")
        elif (isinstance(value, float) and not math.isfinite(value)) or not isinstance(value, str | int | float | None):
            yield Fault(path, f"expected what JSON can say, found {noun_of(value)}")


@dataclass(frozen=True, slots=True)
class Many:
    """A list of values of one form, or a map of them."""

    noun: str
    kind: type
    item: Form

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """What is wrong with a value that is there."""
        if not isinstance(value, self.kind):
            yield Fault(path, f"expected {self.noun}, found {noun_of(value)}")
        elif isinstance(value, Mapping):
            for key, item in value.items():
                yield from _present(self.item, item, f"{path}.{key}")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from _present(self.item, item, f"{path}[{index}]")


@dataclass(frozen=True, slots=True)
class Object:
    """A mapping with known fields. Others are none of ours; one that is null is not there."""

    fields: dict[str, Form]
    required: tuple[str, ...] = ()

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """What is wrong with a value that is there."""
        if not isinstance(value, Mapping):
            yield Fault(path, f"expected a mapping, found {noun_of(value)}")
            return
        for name in self.required:
            if value.get(name) is None:
                yield Fault(f"{path}.{name}", "it is missing")
        for name, form in self.fields.items():
            if value.get(name) is not None:
                yield from form.faults(value[name], f"{path}.{name}" if path else name)


@dataclass(frozen=True, slots=True)
class Either:
    """A value of a simpler form, or else of another."""

    simple: type
    form: Form
    other: Form = field(default_factory=Anything)

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """What is wrong with a value that is there."""
        yield from (self.other if isinstance(value, self.simple) else self.form).faults(value, path)


Form = Leaf | Anything | Many | Object | Either


def _present(form: Form, value: object, path: str) -> Iterator[Fault]:
    if value is None and not isinstance(form, Anything):
        yield Fault(path, "it is null")
    else:
        yield from form.faults(value, path)


def noun_of(value: object) -> str:
    """What a value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"the text `{value if len(value) <= _SHOWN else value[:_SHOWN] + '...'}`"
    return f"the number `{value}`" if isinstance(value, int | float) else f"a {type(value).__name__}"


_SHOWN = 40
_TEXT = Leaf("a text", (str,))
_INTEGER = Leaf("a whole number", (int,))
_NUMBER = Leaf("a number", (int, float))
_FLAG = Leaf("`true` or `false`", (bool,))
_TEXTS = Many("a list of texts", list, _TEXT)
_TEXT_MAP = Many("a mapping of texts", dict, _TEXT)
_RULE = Object(
    {
        **dict.fromkeys(("rule", "message", "messageExpression", "reason", "fieldPath"), _TEXT),
        "optionalOldSelf": _FLAG,
    },
    ("rule",),
)
SCHEMA = Object(
    {
        **dict.fromkeys(("type", "format", "title", "description", "pattern", "$ref", "$schema", "id"), _TEXT),
        **dict.fromkeys(("x-kubernetes-list-type", "x-kubernetes-map-type"), _TEXT),
        **dict.fromkeys(("maximum", "minimum", "multipleOf"), _NUMBER),
        **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), _INTEGER),
        **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "nullable", "uniqueItems"), _FLAG),
        **dict.fromkeys(("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"), _FLAG),
        "x-kubernetes-preserve-unknown-fields": _FLAG,
        **dict.fromkeys(("required", "x-kubernetes-list-map-keys"), _TEXTS),
        "enum": Many("a list", list, Anything()),
        **dict.fromkeys(("default", "example"), Anything()),
        "externalDocs": Object({"url": _TEXT, "description": _TEXT}),
        "x-kubernetes-validations": Many("a list of rules", list, _RULE),
    },
)
_SCHEMAS = Many("a list of schemas", list, SCHEMA)
SCHEMA.fields.update(
    {
        **dict.fromkeys(("properties", "patternProperties", "definitions"), Many("a mapping of schemas", dict, SCHEMA)),
        **dict.fromkeys(("oneOf", "anyOf", "allOf"), _SCHEMAS),
        "not": SCHEMA,
        "items": Either(list, SCHEMA, _SCHEMAS),
        **dict.fromkeys(("additionalProperties", "additionalItems"), Either(bool, SCHEMA)),
    },
)
_COLUMN = Object(
    {**dict.fromkeys(("name", "type", "jsonPath", "format", "description"), _TEXT), "priority": _INTEGER},
    ("name", "type", "jsonPath"),
)
_SCALE = Object(
    dict.fromkeys(("specReplicasPath", "statusReplicasPath", "labelSelectorPath"), _TEXT),
    ("specReplicasPath", "statusReplicasPath"),
)
_VERSION = Object(
    {
        **dict.fromkeys(("name", "deprecationWarning"), _TEXT),
        **dict.fromkeys(("served", "storage", "deprecated"), _FLAG),
        "schema": Object({"openAPIV3Schema": SCHEMA}),
        "subresources": Object({"status": Object({}), "scale": _SCALE}),
        "additionalPrinterColumns": Many("a list of columns", list, _COLUMN),
        "selectableFields": Many("a list of fields", list, Object({"jsonPath": _TEXT}, ("jsonPath",))),
    },
    ("name",),
)
DEFINITION = Object(
    {
        "metadata": Object({"name": _TEXT, "labels": _TEXT_MAP, "annotations": _TEXT_MAP}),
        "spec": Object(
            {
                **dict.fromkeys(("group", "scope"), _TEXT),
                "names": Object(
                    {
                        **dict.fromkeys(("kind", "listKind", "plural", "singular"), _TEXT),
                        **dict.fromkeys(("shortNames", "categories"), _TEXTS),
                    },
                ),
                "conversion": Object({"strategy": _TEXT, "webhook": Many("a mapping", dict, Anything())}),
                "preserveUnknownFields": _FLAG,
                "versions": Many("a list of versions", list, _VERSION),
            },
        ),
    },
)

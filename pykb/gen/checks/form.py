"""The form of plain data: which fields and types a manifest may have.

An API server refuses a manifest with a list in place of a text. pykb checks this first, so that later code can rely on
it. Source: API reference, JSONSchemaProps of apiextensions.k8s.io/v1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pykb.gen.ir import RULE_PARTS, RULES


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one value.

    Attributes:
        path: Its path, such as ``spec.versions[0].name``.
        message: What was found there, and what was expected.
    """

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar."""

    noun: str
    types: tuple[type, ...]
    most: float = math.inf

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """Find what is wrong with a value."""
        fits = isinstance(value, self.types) and (not isinstance(value, bool) or bool in self.types)
        if not fits or (isinstance(value, float) and not math.isfinite(value)):
            yield Fault(path, f"expected {self.noun}, found {_noun_of(value)}")
        elif isinstance(value, int | float) and abs(value) > self.most:
            yield Fault(path, f"expected {self.noun} that fits into 64 bits, found {_noun_of(value)}")


@dataclass(frozen=True, slots=True)
class Text:
    """A text that follows a rule.

    Attributes:
        noun: The rule in words.
        holds: Whether a text follows it.
    """

    noun: str
    holds: Callable[[str], bool]

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """Find what is wrong with a value."""
        if not isinstance(value, str) or not self.holds(value):
            yield Fault(path, f"expected {self.noun}, found {_noun_of(value)}")


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value."""

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """Find what is wrong with a value."""
        if isinstance(value, Mapping):
            for key, item in value.items():
                yield from self.faults(item, f"{path}.{key}")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.faults(item, f"{path}[{index}]")
        elif (isinstance(value, float) and not math.isfinite(value)) or not isinstance(value, str | int | float | None):
            yield Fault(path, f"expected a JSON value, found {_noun_of(value)}")


@dataclass(frozen=True, slots=True)
class Many:
    """A list or map whose values all have one form."""

    noun: str
    kind: type
    item: Form

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """Find what is wrong with a value."""
        if not isinstance(value, self.kind):
            yield Fault(path, f"expected {self.noun}, found {_noun_of(value)}")
        elif isinstance(value, Mapping):
            for key, item in value.items():
                yield from _present(self.item, item, f"{path}.{key}")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from _present(self.item, item, f"{path}[{index}]")


@dataclass(frozen=True, slots=True)
class Object:
    """A mapping with known fields. Unknown fields are ignored here. A null counts as a missing field."""

    fields: dict[str, Form]
    required: tuple[str, ...] = ()

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """Find what is wrong with a value."""
        if not isinstance(value, Mapping):
            yield Fault(path, f"expected a mapping, found {_noun_of(value)}")
            return
        for name in self.required:
            if value.get(name) is None:
                yield Fault(f"{path}.{name}", "it is missing")
        for name, form in self.fields.items():
            if value.get(name) is not None:
                yield from form.faults(value[name], f"{path}.{name}" if path else name)


@dataclass(frozen=True, slots=True)
class Either:
    """A value that has one of two forms."""

    simple: type
    form: Form
    other: Form = field(default_factory=Anything)

    def faults(self, value: object, path: str) -> Iterator[Fault]:
        """Find what is wrong with a value."""
        yield from (self.other if isinstance(value, self.simple) else self.form).faults(value, path)


Form = Leaf | Text | Anything | Many | Object | Either


def _present(form: Form, value: object, path: str) -> Iterator[Fault]:
    if value is None and not isinstance(form, Anything):
        yield Fault(path, "it is null")
    else:
        yield from form.faults(value, path)


def _noun_of(value: object) -> str:
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
        return f"the string `{value if len(value) <= _SHOWN else value[:_SHOWN] + '...'}`"
    return f"the number `{value}`" if isinstance(value, int | float) else f"a {type(value).__name__}"


_SHOWN = 40
TEXT = Leaf("a string", (str,))
INTEGER = Leaf("a whole number", (int,), 2**63 - 1)
_NUMBER = Leaf("a number", (int, float), sys.float_info.max)
FLAG = Leaf("`true` or `false`", (bool,))
TEXTS = Many("a list of strings", list, TEXT)
TEXT_MAP = Many("a mapping of strings", dict, TEXT)
_RULE = Object(
    {
        **dict.fromkeys(RULE_PARTS.values(), TEXT),
        "optionalOldSelf": FLAG,
    },
    ("rule",),
)
SCHEMA = Object(
    {
        **dict.fromkeys(("type", "format", "title", "description", "pattern", "$ref", "$schema", "id"), TEXT),
        **dict.fromkeys(("x-kubernetes-list-type", "x-kubernetes-map-type"), TEXT),
        **dict.fromkeys(("maximum", "minimum", "multipleOf"), _NUMBER),
        **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), INTEGER),
        **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "nullable", "uniqueItems"), FLAG),
        **dict.fromkeys(("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"), FLAG),
        "x-kubernetes-preserve-unknown-fields": FLAG,
        **dict.fromkeys(("required", "x-kubernetes-list-map-keys"), TEXTS),
        "enum": Many("a list", list, Anything()),
        **dict.fromkeys(("default", "example"), Anything()),
        "externalDocs": Object({"url": TEXT, "description": TEXT}),
        RULES: Many("a list of rules", list, _RULE),
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


def unknown_fields(value: object, form: Form = SCHEMA, path: str = "") -> Iterator[tuple[str, str, Iterable[str]]]:
    """Find unknown fields: the path of the object, the field's name, and the known names.

    ``kubectl apply`` asks the server to refuse them.
    """
    if isinstance(form, Either):
        form = form.other if isinstance(value, form.simple) else form.form
    if isinstance(form, Object) and isinstance(value, Mapping):
        for name, item in value.items():
            if name in form.fields:
                yield from unknown_fields(item, form.fields[name], f"{path}{name}.")
            else:
                yield path, str(name), form.fields
    elif isinstance(form, Many):
        parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
        for name, item in parts:
            yield from unknown_fields(item, form.item, f"{path.removesuffix('.')}[{name}].")

"""Writes strings, numbers and int-or-string as Python types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pykb.gen.lower.scalars import QUANTITY_PATTERN
from pykb.importer._expression import ANY, Either, Expression, Name, call, literal, subscript
from pykb.importer._fingerprint import Schema

Metadata = tuple[Expression, ...]
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_BOUNDS = (("minimum", "exclusiveMinimum", "ge", "gt"), ("maximum", "exclusiveMaximum", "le", "lt"))
_TEXTUAL = {"minLength": "min_length", "maxLength": "max_length", "pattern": "pattern"}
_MOMENTS = {"date-time": Name("datetime", "datetime"), "date": Name("date", "datetime"), "byte": Name("bytes")}
_INTEGERS = {"int32": "Int32", "int64": "Int64"}


@dataclass(frozen=True, slots=True)
class Spelled:
    """A type, its metadata in ``Annotated``, and the keywords that the generator makes of both."""

    type: Expression
    metadata: Metadata = ()
    produces: Mapping[str, object] = field(default_factory=dict)


def api(name: str) -> Name:
    """A name of ``pykb.api``."""
    return Name(name, "pykb.api")


def annotated(base: Expression, *metadata: Expression) -> Expression:
    """``Annotated[base, ...]``; only the base when there is no metadata."""
    return subscript(Name("Annotated", "typing"), base, *metadata) if metadata else base


def spell_scalar(schema: Schema) -> Spelled | None:
    """A scalar as a type; ``None`` for anything else."""
    if schema.get("x-kubernetes-int-or-string") is True:
        return _int_or_string(schema)
    match schema.get("type"):
        case "string":
            return _string(schema)
        case "integer":
            return _number(schema, Name("int"), whole=True)
        case "number":
            return _number(schema, Name("float"), whole=False)
        case "boolean":
            return Spelled(Name("bool"), (), {"type": "boolean"})
        case None if schema.get("x-kubernetes-preserve-unknown-fields") is True:
            return Spelled(ANY, (), {"x-kubernetes-preserve-unknown-fields": True})
    return None


def _string(schema: Schema) -> Spelled:
    produces: dict[str, object] = {"type": "string"}
    values = schema.get("enum")
    if isinstance(values, list):
        texts = [value for value in values if value is not None]  # a nullable enum contains null
        if texts and all(isinstance(value, str) for value in texts):
            constraints = _textual(schema, produces)
            return Spelled(_choice(texts), constraints, {**produces, "enum": texts})
    constraints = _textual(schema, produces)
    form = schema.get("format")
    if not isinstance(form, str):
        return Spelled(Name("str"), constraints, produces)
    produces["format"] = form
    if form in _MOMENTS and not constraints:
        return Spelled(_MOMENTS[form], (), produces)
    return Spelled(Name("str"), (*constraints, call(api("Format"), literal(form))), produces)


def _number(schema: Schema, base: Expression, *, whole: bool) -> Spelled:
    produces: dict[str, object] = {"type": schema["type"]}
    values = schema.get("enum")
    if whole and isinstance(values, list) and values and all(type(value) is int for value in values):
        return Spelled(_choice(values), (), {**produces, "enum": values})
    constraints = _numeric(schema, produces)
    form = schema.get("format")
    if not isinstance(form, str):
        return Spelled(base, constraints, produces)
    produces["format"] = form
    if whole and form in _INTEGERS:
        return Spelled(api(_INTEGERS[form]), constraints, produces)
    return Spelled(base, (call(api("Format"), literal(form)), *constraints), produces)


def _int_or_string(schema: Schema) -> Spelled:
    produces: dict[str, object] = {"anyOf": _INT_OR_STRING, "x-kubernetes-int-or-string": True}
    if schema.get("pattern") == QUANTITY_PATTERN:
        return Spelled(api("Quantity"), (), {**produces, "pattern": QUANTITY_PATTERN})
    text, number = _textual(schema, produces), _numeric(schema, produces)
    if not text and not number:
        return Spelled(api("IntOrString"), (), produces)
    return Spelled(Either((annotated(Name("int"), *number), annotated(Name("str"), *text))), (), produces)


def _textual(schema: Schema, produces: dict[str, object]) -> Metadata:
    keywords: dict[str, Expression] = {}
    for name, argument in _TEXTUAL.items():
        value = schema.get(name)
        if value is not None and not (name == "minLength" and value == 0):  # the generator leaves out minLength 0
            keywords[argument] = literal(value)
            produces[name] = value
    return (call(api("Field"), **keywords),) if keywords else ()


def _numeric(schema: Schema, produces: dict[str, object]) -> Metadata:
    keywords: dict[str, Expression] = {}
    for bound, flag, inclusive, exclusive in _BOUNDS:
        if bound in schema:
            is_exclusive = schema.get(flag) is True
            keywords[exclusive if is_exclusive else inclusive] = literal(schema[bound])
            produces[bound] = schema[bound]
            if is_exclusive:
                produces[flag] = True
    if "multipleOf" in schema:
        keywords["multiple_of"] = literal(schema["multipleOf"])
        produces["multipleOf"] = schema["multipleOf"]
    return (call(api("Field"), **keywords),) if keywords else ()


def _choice(values: list[object]) -> Expression:
    return subscript(Name("Literal", "typing"), *(literal(value) for value in values))

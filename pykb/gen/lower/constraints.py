"""Turns the constraints of ``Annotated[...]`` and ``Field(...)`` into keywords of a schema."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import annotated_types as at
from pydantic import AfterValidator, BeforeValidator, PlainValidator, WithJsonSchema, WrapValidator
from pydantic.fields import FieldInfo

from pykb.api import annotations as api
from pykb.api.time import MicroTimeFormat
from pykb.diagnostics.codes.crd import CONSTRAINT, DEFAULT_NOT_JSON, PYTHON_ONLY
from pykb.gen.draft import Draft, patched
from pykb.gen.ir import LIMITS, RULES, Keyword, Rule, SchemaNode, read_rules, rule_parts
from pykb.markers.definition import IMMUTABLE, NUMBERS

_CHECKS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator, at.Predicate)
_ARGUMENTS = ("max_digits", "decimal_places", "to_lower", "to_upper", "strip_whitespace")
_PATTERN_FLAGS = {int(re.IGNORECASE): "i", int(re.MULTILINE): "m", int(re.DOTALL): "s"}
FLAGS: dict[type, tuple[str, object]] = {
    api.EmbeddedResource: ("x-kubernetes-embedded-resource", True),
    api.PreserveUnknown: ("x-kubernetes-preserve-unknown-fields", True),
    api.ListSet: ("x-kubernetes-list-type", "set"),
    api.ListAtomic: ("x-kubernetes-list-type", "atomic"),
    api.MapAtomic: ("x-kubernetes-map-type", "atomic"),
    api.MapGranular: ("x-kubernetes-map-type", "granular"),
    api.Nullable: ("nullable", True),
}
"""Annotations for a single keyword with a fixed value."""
_BOUNDS: dict[type, tuple[str, str, str]] = {
    at.Ge: ("ge", "minimum", ""),
    at.Gt: ("gt", "minimum", "exclusiveMinimum"),
    at.Le: ("le", "maximum", ""),
    at.Lt: ("lt", "maximum", "exclusiveMaximum"),
    at.MultipleOf: ("multiple_of", "multipleOf", ""),
}
# Constraints of one kind, in increasing tightness: by value, then an exclusive bound after an inclusive one.
_RIVALS: tuple[tuple[dict[type, str], bool, type], ...] = (
    ({at.Ge: "ge", at.Gt: "gt"}, True, at.Gt),
    ({at.Le: "le", at.Lt: "lt"}, False, at.Lt),
    ({at.MinLen: "min_length"}, True, at.MinLen),
    ({at.MaxLen: "max_length"}, False, at.MaxLen),
)


def flatten(metadata: Iterable[object]) -> Iterator[object]:
    """The constraints in a sequence of metadata, with groups expanded."""
    for item in metadata:
        if isinstance(item, FieldInfo):
            yield from flatten(item.metadata)
            yield item
        elif isinstance(item, at.GroupedMetadata):
            yield from flatten(item)
        elif isinstance(item, api.SchemaOnly):
            yield from flatten(item.constraints)
        else:
            yield item


def constrain(draft: Draft, metadata: Iterable[object]) -> SchemaNode:
    """Add the constraints of ``Annotated`` and ``Field`` to a schema."""
    _refuse_on_union(metadata, draft)
    items = tuple(item for item in _tightest(flatten(metadata)) if not _is_no_schema(item, draft))
    patches = [item for item in items if isinstance(item, api.SchemaPatch)]
    if patches:
        draft.start(draft.effective)  # a patch may remove keywords of the type
    found: dict[str, Keyword] = {}
    for item in items:
        if not _reshape(item, draft):
            found |= {name: Keyword(value, draft.place.span, how) for name, value, how in _keywords(item, draft)}
    for name, keyword in found.items():
        draft.put(name, keyword)
    _add_rules([rule for rule in map(_rule_parts, items) if rule], draft)
    for patch in patches:
        draft.start(patched(draft.node, patch.schema, draft.place.span))
    return draft.node


def _reshape(item: object, draft: Draft) -> bool:
    """Apply a constraint that replaces the whole schema. Returns whether it was one."""
    span = draft.place.span
    match item:
        case api.RawSchema():
            draft.start(patched(SchemaNode(span=draft.node.span), item.schema, span, spelling="RawSchema"))
        case api.Schemaless():
            draft.start(SchemaNode(span=draft.node.span))
        case api.XIntOrString():
            draft.put("x-kubernetes-int-or-string", Keyword(value=True, span=span), ("type", "format"))
        case api.Type():
            draft.put("type", Keyword(item.name, span, f"Type({item.name!r})"))
        case _:
            return False
    return True


def _is_no_schema(item: object, draft: Draft) -> bool:
    """Report a constraint that should contain part of a schema and does not. Returns whether it was one."""
    schema: object = item.schema if isinstance(item, api.RawSchema | api.SchemaPatch) else {}
    if isinstance(schema, Mapping):
        return False
    name = type(item).__name__
    found = f"found the {type(schema).__name__} `{schema!r}`"
    message = f"`{name}` on {draft.place.what} takes a mapping of keywords, {found}"
    draft.report(CONSTRAINT, message, f'{name}({{"type": "string"}})')
    return True


def _rule_parts(item: object) -> dict[str, object]:
    """The CEL rule of a constraint, as plain data; empty for other constraints."""
    if isinstance(item, api.Immutable):
        return IMMUTABLE_RULE.parts
    return rule_parts(item) if isinstance(item, api.CEL) else {}


IMMUTABLE_RULE = Rule(*IMMUTABLE)


def _add_rules(rules: list[dict[str, object]], draft: Draft) -> None:
    read = read_rules(rules, draft.place.span)
    if read is not None:
        draft.add(*read)
    elif rules:  # the argument of `CEL` is not a text; the checks report it
        draft.put(RULES, Keyword(rules, draft.place.span))


def _refuse_on_union(metadata: Iterable[object], draft: Draft) -> None:
    """Report a text constraint on a union. Python would apply it to numbers and fail."""
    if not draft.effective.is_int_or_string:
        return
    kinds = at.MinLen | at.MaxLen | at.Ge | at.Gt | at.Le | at.Lt | at.MultipleOf
    items = flatten(item for item in metadata if not isinstance(item, api.SchemaOnly))
    if any(isinstance(item, kinds) or getattr(item, "pattern", None) for item in items):
        found = f"{draft.place.what} is {draft.effective.type_name}"
        draft.report(
            CONSTRAINT,
            f"{found}: Python cannot apply a constraint to both integers and strings",
            'int | Annotated[str, Field(pattern="...")]',
            "or for the schema alone: `SchemaOnly(Field(...))`",
        )


def _keywords(item: object, draft: Draft) -> Iterator[tuple[str, object, str]]:
    """The keywords of a constraint: name, value, and spelling in Python."""
    flag = FLAGS.get(type(item))
    if flag is not None:
        yield (*flag, f"{type(item).__name__}()")
        return
    match item:
        case at.MinLen() | at.MaxLen():
            yield from _length(item, draft)
        case at.Ge() | at.Gt() | at.Le() | at.Lt() | at.MultipleOf():
            yield from _bound(item, draft)
        case api.ListMap():
            yield "x-kubernetes-list-type", "map", "ListMap"
            yield "x-kubernetes-list-map-keys", list(item.keys), "ListMap"
        case api.Format():
            yield "format", item.name, f"Format({item.name!r})"
        case MicroTimeFormat():
            yield "format", "date-time", "MicroTime"
        case api.ExternalDocs():
            docs = {"url": item.url} | ({"description": item.description} if item.description else {})
            yield "externalDocs", docs, "ExternalDocs"
        case api.ServerDefault():
            yield from _encoded("default", item.value, "ServerDefault", draft)
        case FieldInfo():
            yield from _field_texts(item, draft)
        case _:
            _tell(item, draft)
            yield from _pattern(item, draft)


def _tell(item: object, draft: Draft) -> None:
    """Report a constraint that a schema cannot express."""
    what = draft.place.what
    if isinstance(item, api.KnownValues | api.PatchStrategy):
        if draft.place.span is not None:
            values = ", ".join(repr(value) for value in item.values) if isinstance(item, api.KnownValues) else ""
            message = f"`{type(item).__name__}` on {what} has no effect in a CRD: it describes built-in types"
            help_ = f"Literal[{values}]" if values else "use `ListMap(...)`, which server-side apply reads"
            draft.report(CONSTRAINT, message, help_)
    elif isinstance(item, WithJsonSchema):
        message = f"`WithJsonSchema` on {what} is ignored: the schema comes from the type"
        draft.report(CONSTRAINT, message, f"RawSchema({item.json_schema!r})", "with `from pykb.api import RawSchema`")
    else:
        _tell_python_only(item, draft)


def _tell_python_only(item: object, draft: Draft) -> None:
    """Report validators and conversions that the API server does not run, and a class in place of an instance."""
    what = draft.place.what
    if isinstance(item, type) and item.__module__.startswith("pykb.api"):  # ``Nullable`` for ``Nullable()``
        message = f"`{item.__name__}` on {what} is a class, which has no effect"
        draft.report(CONSTRAINT, message, f"write `{item.__name__}()`")
    given = [argument for argument in _ARGUMENTS if getattr(item, argument, None)]
    name = type(item).__name__ if isinstance(item, _CHECKS) else "=` and `".join(given) + "="
    if given or isinstance(item, _CHECKS):
        message = f"`{name}` on {what} is known only to Python: the API server does not check it"
        draft.report(PYTHON_ONLY, message, 'add it to the schema as well: `Field(pattern="...")`, `CEL("...")`')


def _pattern(item: object, draft: Draft) -> Iterator[tuple[str, object, str]]:
    pattern = getattr(item, "pattern", None)
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
        flags = "".join(letter for flag, letter in _PATTERN_FLAGS.items() if pattern.flags & flag)
        if pattern.flags & ~(re.UNICODE | sum(_PATTERN_FLAGS)):
            message = f"the pattern of {draft.place.what} has flags that the API server's expressions do not have"
            draft.report(CONSTRAINT, message, "write the pattern without `re.compile`")
        pattern = f"(?{flags}){pattern.pattern}" if flags else pattern.pattern
    if isinstance(pattern, str):
        yield "pattern", pattern, f"Field(pattern={pattern!r})"
    elif pattern is not None:
        found = f"expected a string, found the {type(pattern).__name__} `{pattern!r}`"
        draft.report(CONSTRAINT, f"`Field(pattern={pattern!r})` limits {draft.place.what}: {found}")


def _encoded(keyword: str, value: object, spelling: str, draft: Draft) -> Iterator[tuple[str, object, str]]:
    from pykb.api.wire import encode

    try:
        yield keyword, encode(value), spelling
    except (TypeError, ValueError) as error:
        message = f"the value of `{spelling}` on {draft.place.what} has no JSON form"
        draft.report(DEFAULT_NOT_JSON, message, notes=(str(error),))


def _field_texts(info: FieldInfo, draft: Draft) -> Iterator[tuple[str, object, str]]:
    if info.title:
        yield "title", info.title, "Field(title=)"
    if info.description:
        yield "description", info.description, "Field(description=)"
    if info.examples:
        yield from _encoded("example", info.examples[0], "Field(examples=)", draft)


def _tightest(items: Iterable[object]) -> tuple[object, ...]:
    """Metadata with only the tightest limit of each kind. Python applies all limits; a schema can have one."""
    found = tuple(items)
    for kinds, upwards, strict in _RIVALS:
        rivals = [item for item in found if type(item) in kinds]
        values = {id(item): getattr(item, kinds[type(item)]) for item in rivals}
        if len(rivals) < 2 or not all(_is_number(value) for value in values.values()):
            continue
        sign = 1 if upwards else -1
        best = max(rivals, key=lambda item: (sign * values[id(item)], type(item) is strict))
        found = tuple(item for item in found if item is best or type(item) not in kinds)
    return found


def _is_number(value: object) -> bool:
    """Whether a value is a JSON number. A boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _bound(item: Any, draft: Draft) -> Iterator[tuple[str, object, str]]:
    attribute, keyword, flag = next(value for kind, value in _BOUNDS.items() if isinstance(item, kind))
    value = getattr(item, attribute)
    spelling, what = f"Field({attribute}={value!r})", draft.place.what
    if draft.type not in NUMBERS and not draft.effective.is_int_or_string:
        kind = draft.effective.type_name
        message = f"`{spelling}` bounds {what}, which is {kind} in the schema: only numbers have bounds"
        draft.report(CONSTRAINT, message, 'express it as a rule: `CEL("...")`')
    elif not _is_number(value):
        draft.report(CONSTRAINT, f"`{spelling}` bounds {what}: expected a number, found {_noun(value)}")
    else:
        yield keyword, value, spelling
        if flag:
            yield flag, True, spelling


def _length(item: at.MinLen | at.MaxLen, draft: Draft) -> Iterator[tuple[str, object, str]]:
    least = isinstance(item, at.MinLen)
    value: Any = item.min_length if isinstance(item, at.MinLen) else item.max_length
    spelling = f"Field({'min' if least else 'max'}_length={value!r})"
    limits = f"`{spelling}` limits {draft.place.what}"
    kind = "string" if draft.effective.is_int_or_string else draft.type or ""
    if kind not in LIMITS or kind in NUMBERS:
        found = draft.effective.type_name
        message = f"{limits}, which is {found} in the schema: only strings, lists and maps have a length"
        draft.report(CONSTRAINT, message)
    elif not isinstance(value, int) or isinstance(value, bool) or value < 0:
        draft.report(CONSTRAINT, f"{limits}: expected a whole number from 0, found {_noun(value)}")
    elif value > 0 or not least:
        yield LIMITS[kind][0 if least else 1], value, spelling


def _noun(value: object) -> str:
    return f"the {type(value).__name__} `{value!r}`"

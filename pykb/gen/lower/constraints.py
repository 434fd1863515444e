"""Turns the constraints of ``Annotated[...]`` and ``Field(...)`` into keywords of a schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import annotated_types as at
from pydantic import AfterValidator, BeforeValidator, PlainValidator, WithJsonSchema, WrapValidator
from pydantic.fields import FieldInfo

from pykb.api import annotations as api
from pykb.api.time import MicroTimeFormat
from pykb.diagnostics.codes.types import CONSTRAINT, DEFAULT_NOT_JSON, PYTHON_ONLY
from pykb.gen._draft import Draft
from pykb.gen.ir import RULE_PARTS, RULES, Keyword, Rule, SchemaNode, read_rules
from pykb.gen.lower._limits import limit, tightest
from pykb.gen.lower.patch import patched
from pykb.markers.effect import IMMUTABLE

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
    items = tuple(item for item in tightest(flatten(metadata)) if not _is_no_schema(item, draft))
    patches = [item for item in items if isinstance(item, api.SchemaPatch)]
    if patches:
        draft.start(draft.effective)  # a patch may remove keywords of the type
    found: dict[str, Keyword] = {}
    for item in items:
        if not _reshape(item, draft):
            found |= {name: Keyword(value, draft.place.span, how) for name, value, how in _keywords(item, draft)}
    for name, keyword in found.items():
        draft.put(name, keyword)
    _add_rules([rule for rule in map(rule_parts, items) if rule], draft)
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


def rule_parts(item: object) -> dict[str, object]:
    """The CEL rule of a constraint, as plain data; empty for other constraints."""
    if isinstance(item, api.Immutable):
        return IMMUTABLE_RULE.parts
    if not isinstance(item, api.CEL):
        return {}
    parts = ((wire, getattr(item, name)) for name, wire in RULE_PARTS.items())
    return {wire: value for wire, value in parts if value is not None}


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
            f"{found}: Python cannot apply a constraint to integers and texts alike",
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
        case at.Ge() | at.Gt() | at.Le() | at.Lt() | at.MultipleOf() | at.MinLen() | at.MaxLen():
            yield from limit(item, draft)
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
            message = f"`{type(item).__name__}` on {what} says nothing in a CRD: it describes built-in types"
            help_ = f"Literal[{values}]" if values else "`ListMap(...)`, which server-side apply goes by"
            draft.report(CONSTRAINT, message, help_)
    elif isinstance(item, WithJsonSchema):
        message = f"`WithJsonSchema` on {what} is not read: its schema is that of the type"
        draft.report(CONSTRAINT, message, f"RawSchema({item.json_schema!r})", "with `from pykb.api import RawSchema`")
    else:
        _tell_python_only(item, draft)


def _tell_python_only(item: object, draft: Draft) -> None:
    """Report validators and conversions that the API server does not run, and a class in place of an instance."""
    what = draft.place.what
    if isinstance(item, type) and item.__module__.startswith("pykb.api"):  # ``Nullable`` for ``Nullable()``
        message = f"`{item.__name__}` on {what} is a class, which says nothing"
        draft.report(CONSTRAINT, message, f"write `{item.__name__}()`")
    given = [argument for argument in _ARGUMENTS if getattr(item, argument, None)]
    name = type(item).__name__ if isinstance(item, _CHECKS) else "=` and `".join(given) + "="
    if given or isinstance(item, _CHECKS):
        message = f"`{name}` on {what} is known to Python alone: the API server does not go by it"
        draft.report(PYTHON_ONLY, message, 'say it in the schema as well: `Field(pattern="...")`, `CEL("...")`')


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
        found = f"expected a text, found the {type(pattern).__name__} `{pattern!r}`"
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

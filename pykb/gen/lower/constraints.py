"""What ``Annotated[...]`` and ``Field(...)`` say about a value, as keywords of its schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import annotated_types as at
from pydantic import WithJsonSchema
from pydantic.fields import FieldInfo

from pykb.api import annotations as api
from pykb.api.time import MicroTimeFormat
from pykb.diagnostics import Diagnostic, Diagnostics
from pykb.diagnostics.codes.types import CONSTRAINT, DEFAULT_NOT_JSON
from pykb.gen.ir import RULE_PARTS, RULES, Keyword, Rule, SchemaNode, read_rules
from pykb.gen.lower.limits import Limit, limit, tightest
from pykb.gen.lower.patch import patched
from pykb.gen.lower.place import Place
from pykb.gen.lower.python_only import check_called, check_python_only

_PATTERN_FLAGS = {int(re.IGNORECASE): "i", int(re.MULTILINE): "m", int(re.DOTALL): "s"}
_FLAGS: dict[type, tuple[str, object]] = {
    api.ListSet: ("x-kubernetes-list-type", "set"),
    api.ListAtomic: ("x-kubernetes-list-type", "atomic"),
    api.MapAtomic: ("x-kubernetes-map-type", "atomic"),
    api.MapGranular: ("x-kubernetes-map-type", "granular"),
    api.PreserveUnknown: ("x-kubernetes-preserve-unknown-fields", True),
    api.EmbeddedResource: ("x-kubernetes-embedded-resource", True),
    api.Nullable: ("nullable", True),
}


def flatten(metadata: Iterable[object]) -> Iterator[object]:
    """The single constraints in a sequence of metadata, groups taken apart."""
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


def constrain(
    node: SchemaNode, metadata: Iterable[object], effective: SchemaNode, place: Place, diagnostics: Diagnostics
) -> SchemaNode:
    """The schema with constraints added.

    Args:
        node: What to refine; may be a bare reference.
        metadata: From ``Annotated`` and ``Field``.
        effective: The same schema with references resolved: its type decides what a length is.
        place: The use, for messages.
        diagnostics: Gets constraints that cannot be expressed.
    """
    found: dict[str, Keyword] = {}
    rules: list[dict[str, object]] = []
    items = tuple(item for item in tightest(flatten(metadata)) if not _is_no_schema(item, place, diagnostics))
    _refuse_on_union(metadata, effective, place, diagnostics)
    patches = [item for item in items if isinstance(item, api.SchemaPatch)]
    if patches:
        node = effective  # a patch may take away what the type says
    for item in items:
        if isinstance(item, api.CEL):
            rules.append(cel_rule(item))
        elif isinstance(item, api.Immutable):
            rules.append(IMMUTABLE.parts)
        elif isinstance(item, api.RawSchema):
            node = effective = patched(SchemaNode(span=node.span), item.schema, place.span, spelling="RawSchema")
        elif isinstance(item, api.Schemaless):
            node = effective = SchemaNode(span=node.span)
        elif isinstance(item, api.XIntOrString):
            node = replace(node, keywords={k: v for k, v in node.keywords.items() if k not in {"type", "format"}})
            found["x-kubernetes-int-or-string"] = Keyword(value=True, span=place.span)
            effective = effective.without("type", "format").put("x-kubernetes-int-or-string", value=True)
        elif isinstance(item, api.Type):
            spelling = f"Type({item.name!r})"
            node = node.retyped(item.name, place.span, spelling)
            effective = effective.retyped(item.name, place.span, spelling)
        else:
            for name, value, spelling in _keywords(item, effective, place, diagnostics):
                found[name] = Keyword(value, place.span, spelling)
    if rules:
        read = read_rules(rules, place.span)  # not so where `CEL` was given what is no text: that is for the checks
        node = node.put(RULES, rules, place.span) if read is None else node.add(*read)
    node = node.put_all(found)
    for patch in patches:
        node = patched(node, patch.schema, place.span)
    return node


def _is_no_schema(item: object, place: Place, diagnostics: Diagnostics) -> bool:
    """Whether it should bring a part of a schema, and brings something else."""
    schema: object = item.schema if isinstance(item, api.RawSchema | api.SchemaPatch) else {}
    if isinstance(schema, Mapping):
        return False
    name = type(item).__name__
    diagnostics.add(
        CONSTRAINT.at(
            place.span,
            f"`{name}` on {place.what} takes a mapping of keywords, found the {type(schema).__name__} `{schema!r}`",
            help=(f'{name}({{"type": "string"}})',),
        ),
    )
    return True


IMMUTABLE = Rule("self == oldSelf", "field is immutable")


def cel_rule(rule: api.CEL) -> dict[str, object]:
    """A rule as plain data."""
    parts = ((wire, getattr(rule, name)) for name, wire in RULE_PARTS.items())
    return {wire: value for wire, value in parts if value is not None}


def _refuse_on_union(metadata: Iterable[object], effective: SchemaNode, place: Place, diagnostics: Diagnostics) -> None:
    """Python would apply a constraint of texts to numbers, too, and fail."""
    if not effective.is_int_or_string:
        return
    for item in flatten(item for item in metadata if not isinstance(item, api.SchemaOnly)):
        pattern = getattr(item, "pattern", None)
        if isinstance(item, at.MinLen | at.MaxLen | at.Ge | at.Gt | at.Le | at.Lt | at.MultipleOf) or pattern:
            diagnostics.add(
                CONSTRAINT.at(
                    place.span,
                    f"{place.what} is {effective.type_name}: Python cannot apply a constraint to integers and texts "
                    "alike",
                    help=(
                        'int | Annotated[str, Field(pattern="...")]',
                        "or for the schema alone: `SchemaOnly(Field(...))`",
                    ),
                ),
            )
            return


def _keywords(
    item: object, effective: SchemaNode, place: Place, diagnostics: Diagnostics
) -> Iterator[tuple[str, object, str]]:
    if isinstance(item, Limit):
        yield from limit(item, effective, place, diagnostics)
        return
    simple = _FLAGS.get(type(item))
    if simple is not None:
        yield (*simple, f"{type(item).__name__}()")
    elif isinstance(item, api.ListMap):
        yield "x-kubernetes-list-type", "map", "ListMap"
        yield "x-kubernetes-list-map-keys", list(item.keys), "ListMap"
    elif isinstance(item, api.Format):
        yield "format", item.name, f"Format({item.name!r})"
    elif isinstance(item, MicroTimeFormat):
        yield "format", "date-time", "MicroTime"
    elif isinstance(item, api.ExternalDocs):
        docs = {"url": item.url} | ({"description": item.description} if item.description else {})
        yield "externalDocs", docs, "ExternalDocs"
    elif isinstance(item, api.ServerDefault):
        yield from _encoded("default", item.value, "ServerDefault", place, diagnostics)
    elif isinstance(item, FieldInfo):
        yield from _field_texts(item, place, diagnostics)
    elif isinstance(item, api.KnownValues | api.PatchStrategy) and place.span is not None:
        diagnostics.add(_of_built_in_types(item, place))
    elif isinstance(item, WithJsonSchema):
        diagnostics.add(
            CONSTRAINT.at(
                place.span,
                f"`WithJsonSchema` on {place.what} is not read: its schema is that of the type",
                help=(f"RawSchema({item.json_schema!r})", "with `from pykb.api import RawSchema`"),
            ),
        )
    else:
        check_called(item, place, diagnostics)
        check_python_only(item, place, diagnostics)
        yield from _pattern(item, place, diagnostics)


def _pattern(item: object, place: Place, diagnostics: Diagnostics) -> Iterator[tuple[str, object, str]]:
    pattern = getattr(item, "pattern", None)
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
        flags = "".join(letter for flag, letter in _PATTERN_FLAGS.items() if pattern.flags & flag)
        if pattern.flags & ~(re.UNICODE | sum(_PATTERN_FLAGS)):
            diagnostics.add(
                CONSTRAINT.at(
                    place.span,
                    f"the pattern of {place.what} has flags that the API server's expressions do not have",
                    help=("write the pattern without `re.compile`",),
                ),
            )
        pattern = f"(?{flags}){pattern.pattern}" if flags else pattern.pattern
    if isinstance(pattern, str):
        yield "pattern", pattern, f"Field(pattern={pattern!r})"
    elif pattern is not None:
        diagnostics.add(
            CONSTRAINT.at(
                place.span,
                f"`Field(pattern={pattern!r})` limits {place.what}: expected a text, found the "
                f"{type(pattern).__name__} `{pattern!r}`",
            ),
        )


def _of_built_in_types(item: api.KnownValues | api.PatchStrategy, place: Place) -> Diagnostic:
    name = type(item).__name__
    values = ", ".join(repr(value) for value in item.values) if isinstance(item, api.KnownValues) else ""
    return CONSTRAINT.at(
        place.span,
        f"`{name}` on {place.what} says nothing in a CRD: it describes built-in types",
        help=(f"Literal[{values}]" if values else "`ListMap(...)`, which server-side apply goes by",),
    )


def _encoded(
    keyword: str, value: object, spelling: str, place: Place, diagnostics: Diagnostics
) -> Iterator[tuple[str, object, str]]:
    from pykb.api.wire import encode

    try:
        yield keyword, encode(value), spelling
    except (TypeError, ValueError) as error:
        diagnostics.add(
            DEFAULT_NOT_JSON.at(
                place.span, f"the value of `{spelling}` on {place.what} has no JSON form", notes=(str(error),)
            ),
        )


def _field_texts(info: FieldInfo, place: Place, diagnostics: Diagnostics) -> Iterator[tuple[str, object, str]]:
    if info.title:
        yield "title", info.title, "Field(title=)"
    if info.description:
        yield "description", info.description, "Field(description=)"
    if info.examples:
        yield from _encoded("example", info.examples[0], "Field(examples=)", place, diagnostics)

"""Makes Pydantic judge as the API server does: rewrites the core schema that it derives from a class.

Scalars are strict (below), lists that are sets or maps have no duplicates, and a collection reports
its first wrong item only.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import date, time
from enum import Enum
from typing import Any, cast

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from pykb.api.annotations import LIST_TYPE, ListMap, ListSet
from pykb.api.time import format_duration, format_time, validate_duration, validate_time
from pykb.meta.names import to_camel

# Core schemas whose scalar types accept the same values as the API server.
#
# Each public function takes one of Pydantic's core schemas and returns its replacement. The
# replacement keeps the constraints.


Schema = dict[str, Any]

_INT64 = {"ge": -(2**63), "le": 2**63 - 1}
_DECIMAL = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_EXACT_FLOAT = 2**53 - 1  # the server refuses larger floats as integers
_CONSTRAINTS = ("ge", "gt", "le", "lt")


def boolean(schema: Schema) -> Schema:
    """Accept booleans only, not ``1`` or ``"true"``."""
    return {"strict": True, **schema}


def number(schema: Schema) -> Schema:
    """Accept integers and floats, not booleans or strings.

    Check ``multiple_of`` as the server does.
    """
    factor = schema.get("multiple_of")
    if factor is None:
        return {"strict": True, **schema}
    inner = {key: value for key, value in schema.items() if key not in ("multiple_of", "ref")}

    def check(value: float) -> float:
        quotient = 1 / factor * value if factor < 1 else value / factor
        nearest = float(round(quotient)) if math.isfinite(quotient) else math.inf
        if abs(quotient) > _EXACT_FLOAT or abs(quotient - nearest) > 1e-9 * abs(nearest):
            raise PydanticKnownError("multiple_of", {"multiple_of": factor})
        return value

    check.is_constraint = True  # type: ignore[attr-defined] # known to `stored`
    made = core_schema.no_info_after_validator_function(check, cast("CoreSchema", {"strict": True, **inner}))
    return cast("Schema", made)


def text(schema: Schema) -> Schema:
    """Accept strings, not bytes. Match patterns as RE2 does."""
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        schema = {**schema, "pattern": to_rust(pattern)}
    return {"strict": True, **schema}


def integer(schema: Schema) -> Schema:
    """Accept 64-bit integers, not booleans or strings.

    A float without a fraction is accepted, since JSON does not distinguish ``5`` from ``5.0``.
    """
    if schema.get("strict") is not None:
        return schema
    bounded = {**schema, "strict": True}
    for bound, other in (("ge", "gt"), ("le", "lt")):
        if other not in schema:
            bounded.setdefault(bound, _INT64[bound])
    whole = core_schema.chain_schema(
        [core_schema.float_schema(strict=True, ge=-_EXACT_FLOAT, le=_EXACT_FLOAT), core_schema.int_schema()]
    )
    either = core_schema.union_schema(
        [core_schema.int_schema(strict=True), whole], mode="left_to_right", custom_error_type="int_type"
    )
    return cast("Schema", core_schema.chain_schema([either, cast("CoreSchema", bounded)]))


def literal(schema: Schema) -> Schema:
    """Accept exactly the listed values: ``Literal[1]`` refuses ``True``, ``Literal[True]`` refuses ``1``."""
    expected = schema["expected"]
    if all(isinstance(item, str) for item in expected):
        return schema
    shown = " or ".join(map(repr, expected))

    def check(value: object) -> object:
        if not any(_same(value, item) for item in expected):
            raise PydanticKnownError("literal_error", {"expected": shown})
        return value

    return _before(check, schema)


def enum(schema: Schema) -> Schema:
    """Accept a member, or exactly the value of one."""
    cls: type[Enum] = schema["cls"]
    values = [member.value for member in schema["members"]]
    shown = " or ".join(map(repr, values))

    def check(value: object) -> object:
        if not isinstance(value, cls) and not any(_same(value, item) for item in values):
            raise PydanticKnownError("enum", {"expected": shown})
        return value

    return _before(check, schema)


def moment(schema: Schema) -> Schema:
    """Accept a datetime with a time zone, or its text in the form of RFC 3339."""
    return _read(validate_time, core_schema.datetime_schema, schema, format_time)


def duration(schema: Schema) -> Schema:
    """Accept a timedelta, or its text in Go's form."""
    return _read(validate_duration, core_schema.timedelta_schema, schema, format_duration)


def day(schema: Schema) -> Schema:
    """Accept a date or its text. Refuse a datetime, which Python counts among the dates."""
    return _read(_read_date, core_schema.date_schema, schema, date.isoformat)


def time_of_day(schema: Schema) -> Schema:
    """Accept a time or its text."""
    return _read(_read_time, core_schema.time_schema, schema, time.isoformat)


def octets(schema: Schema) -> Schema:
    """Accept bytes, or their base64 text."""
    return _before(_read_base64, {**schema, "strict": True}, to_base64)


def nonempty_octets(schema: Schema) -> Schema:
    """Accept bytes, but not empty ones, as the server's check of ``format: byte`` in a CRD does."""
    return octets({"min_length": 1, **schema})


def uuid(schema: Schema) -> Schema:
    """Accept a UUID, or its text without braces and without the prefix ``urn:uuid:``."""
    return _before(_check_uuid, schema)


def from_text(schema: Schema) -> Schema:
    """Accept what Pydantic accepts, except numbers and bytes.

    For types whose wire form is a string.
    """
    return _before(_refuse_numbers, schema)


def decimal(schema: Schema) -> Schema:
    """Accept a Decimal, or its text in ASCII digits.

    Python also reads the digits of other scripts.
    """
    return _before(_refuse_other_digits, schema)


def address_or_path(schema: Schema) -> Schema:
    """Accept IP addresses, networks and paths.

    An address with a zone (``fe80::1%eth0``) is refused, since a zone is meaningless on other
    machines.
    """
    made = core_schema.no_info_after_validator_function(_refuse_zone, cast("CoreSchema", from_text(schema)))
    return cast("Schema", made)


def to_base64(value: bytes) -> str:
    """Return the wire form of bytes."""
    return base64.b64encode(value).decode("ascii")


def _before(check: Callable[[Any], object], schema: Schema, form: Callable[[Any], str] | None = None) -> Schema:
    inner = {key: value for key, value in schema.items() if key != "ref"}
    outer = core_schema.no_info_before_validator_function(
        check,
        cast("CoreSchema", inner),
        serialization=core_schema.plain_serializer_function_ser_schema(form, when_used="json") if form else None,
    )
    return cast("Schema", outer)


def _read(
    read: Callable[[Any], object], make: Callable[..., CoreSchema], schema: Schema, form: Callable[[Any], str]
) -> Schema:
    """Accept the type of a strict schema with the same bounds, or a text that is read as one."""
    bounds = {key: schema[key] for key in _CONSTRAINTS if key in schema}
    return _before(read, cast("Schema", make(strict=True, **bounds)), form)


def _same(value: object, other: object) -> bool:
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    return value == other


def _read_date(value: object) -> object:
    if isinstance(value, str):
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value) is None:
            raise PydanticCustomError("date", "expected a date such as 2026-01-31")
        return date.fromisoformat(value)
    return value


def _read_time(value: object) -> object:
    if isinstance(value, str):
        if value.startswith("24"):  # midnight for Python 3.14
            raise PydanticCustomError("time", "expected a time such as 12:00:00")
        return time.fromisoformat(value)
    return value


def _read_base64(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise PydanticCustomError("base64", "expected bytes, or a base64 string as in JSON") from error


def _check_uuid(value: object) -> object:
    if isinstance(value, str) and not value[:1].isalnum():
        raise PydanticCustomError("uuid", "expected a UUID such as 123e4567-e89b-12d3-a456-426614174000")
    if isinstance(value, str) and value[:4].lower() == "urn:":
        raise PydanticCustomError("uuid", "expected a UUID without urn:uuid: before it")
    return _refuse_numbers(value)


def _refuse_zone(value: object) -> object:
    if getattr(value, "scope_id", None) is not None:
        raise PydanticCustomError("ip_zone", "expected an address without a zone")
    return value


def _refuse_other_digits(value: object) -> object:
    if isinstance(value, str) and not _DECIMAL.fullmatch(value):
        raise PydanticCustomError("decimal_parsing", "Input should be a valid decimal")
    return _refuse_numbers(value)


def _refuse_numbers(value: object) -> object:
    if isinstance(value, bool | int | float | bytes):
        raise PydanticCustomError("string_type", "Input should be a string")
    return value


_CLASSES = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[0-9A-Za-z_]",
    "W": "[^0-9A-Za-z_]",
    "s": r"[\t\n\f\r ]",
    "S": r"[^\t\n\f\r ]",
}
_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|\Z)", re.DOTALL)
_OPENING = re.compile(r"\[\^?\]?")
_NAMED_CLASS = re.compile(r"\[(?=:).*?:\]", re.DOTALL)
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")


def to_rust(pattern: str) -> str:
    r"""Rewrite an RE2 pattern so that Rust's engine matches the same strings.

    >>> to_rust(r"^\d+$"), to_rust(r"[\w.]")
    ('^[0-9]+$', '[[0-9A-Za-z_].]')
    """
    out: list[str] = []
    inside = False
    at = 0
    while at < len(pattern):
        pair = pattern[at : at + 2]
        if quoted := _QUOTED.match(pattern, at):
            read, written = quoted[0], _SPECIAL.sub(r"\\\g<0>", quoted[1])
        elif pair[0] == "\\" and len(pair) == 2:
            read, written = pair, _escape(pair, inside=inside)
        elif inside:
            read, written = _member(pattern, at, is_first=out[-1] in ("[", "[^"))
            inside = read != "]"
        elif opening := _OPENING.match(pattern, at):
            # A closing bracket that comes first is a member and does not end the class.
            read, written = opening[0], opening[0].replace("]", r"\]")
            inside = True
        else:
            read = written = pattern[at]
        out.append(written)
        at += len(read)
    return "".join(out)


def _member(pattern: str, at: int, *, is_first: bool) -> tuple[str, str]:
    """Return the next part of a bracket expression, as RE2 has it and as Rust needs it."""
    char, pair = pattern[at], pattern[at : at + 2]
    if named := _NAMED_CLASS.match(pattern, at):
        return named[0], named[0]
    if pair == "--":
        # The first of two hyphens may form a range that the second one ends: `[+--]`.
        return ("-", r"\-") if is_first else (pair, r"-\-")
    if pair in ("&&", "~~"):
        return pair, f"\\{char}\\{char}"
    return char, r"\[" if char == "[" else char


def _escape(pair: str, *, inside: bool) -> str:
    char = pair[1]
    if char in _CLASSES:
        return _CLASSES[char]
    if char == "b" and not inside:
        return r"(?-u:\b)"
    if char in "<>":  # plain characters in RE2, word boundaries in Rust
        return char
    return pair


# The entries of a core schema that hold other schemas. `keys_schema` is left out: JSON keys are
# always strings.
_ONE = ("schema", "items_schema", "values_schema", "json_schema", "python_schema")
_MANY = ("steps", "definitions")
_COLLECTIONS = ("list", "dict", "set", "frozenset", "tuple")
"""Only the first item that does not fit is reported. Each error takes a kilobyte, and a list can have a million."""

_DONE = "pykb"  # marks rewritten schemas, in their metadata

_SCALARS = {
    "bool": boolean,
    "bytes": octets,
    "date": day,
    "datetime": moment,
    "decimal": decimal,
    "enum": enum,
    "float": number,
    "int": integer,
    "lax-or-strict": address_or_path,
    "literal": literal,
    "str": text,
    "time": time_of_day,
    "timedelta": duration,
    "uuid": uuid,
}


def as_api_server(schema: CoreSchema, owner: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
    """Rewrite Pydantic's schema of a struct to follow the API server's rules.

    Nested structs are left unchanged.
    """
    return cast("CoreSchema", _Walk(owner, handler).visit(cast("Schema", schema)))


class _Walk:
    """Rewrites the core schema of one struct."""

    def __init__(self, owner: type[BaseModel], handler: GetCoreSchemaHandler) -> None:
        self.owner = owner
        self.handler = handler
        self.seen: set[str] = set()
        # Go code validates the built-in types. It is more lenient than an OpenAPI schema in places.
        self.custom = not owner.__module__.startswith("pykb.api.")

    def visit(self, schema: Schema) -> Schema:
        """Return the schema to use instead of this one."""
        kind, metadata = schema["type"], schema.get("metadata") or {}
        if _DONE in metadata:
            return schema
        list_type = metadata.get(LIST_TYPE)
        if list_type is not None and self.custom:
            return self._without_duplicates(list_type, schema)
        if kind in _SCALARS:
            replace = nonempty_octets if kind == "bytes" and self.custom else _SCALARS[kind]
            made = replace(schema)
            if made is not schema:
                made["metadata"] = {**(made.get("metadata") or {}), _DONE: True}
            return made
        if kind == "definition-ref":
            self._definition(schema)
        elif kind != "model" or schema["cls"] is self.owner:
            self._parts(schema)
        return schema

    def _without_duplicates(self, list_type: ListMap | ListSet, schema: Schema) -> Schema:
        """Add the check for duplicates to a list that is a set, or a map by keys."""
        check = _KeysUnique(list_type.keys) if isinstance(list_type, ListMap) else _check_unique
        rest = {key: value for key, value in schema["metadata"].items() if key != LIST_TYPE}
        inner = cast("CoreSchema", self.visit({**schema, "metadata": rest}))
        made = core_schema.no_info_after_validator_function(check, inner, metadata={_DONE: True})
        return cast("Schema", made)

    def _definition(self, reference: Schema) -> None:
        """Rewrite a named alias or enum in place.

        Pydantic stores it apart from the schemas that refer to it.
        """
        name = reference["schema_ref"]
        if name in self.seen:
            return
        self.seen.add(name)
        try:
            target = cast("Schema", self.handler.resolve_ref_schema(cast("CoreSchema", reference)))
        except LookupError:  # the struct is still being built
            return
        made = self.visit(target)
        if made is not target:
            made = dict(made)
            target.clear()
            target.update(made, ref=name)

    def _parts(self, schema: Schema) -> None:
        if schema["type"] in _COLLECTIONS:
            schema["fail_fast"] = True
        for key in _ONE:
            inner = schema.get(key)
            if isinstance(inner, dict):
                schema[key] = self.visit(inner)
            elif isinstance(inner, list):  # the items of a tuple
                schema[key] = [self.visit(item) for item in inner]
        for key in _MANY:
            if key in schema:
                schema[key] = [self.visit(inner) for inner in schema[key]]
        if "choices" in schema:
            schema["choices"] = self._choices(schema["choices"])
        if isinstance(schema.get("fields"), dict):
            for field in schema["fields"].values():
                field["schema"] = self.visit(field["schema"])
        if schema["type"] in ("set", "frozenset"):
            self._no_duplicates_in(schema)

    def _choices(self, choices: Any) -> Any:
        """Rewrite the members of a union: schemas, (schema, label) pairs, or schemas by tag."""
        if isinstance(choices, dict):
            return {tag: self.visit(each) if isinstance(each, dict) else each for tag, each in choices.items()}
        return [(self.visit(c[0]), *c[1:]) if isinstance(c, tuple) else self.visit(c) for c in choices]

    def _no_duplicates_in(self, schema: Schema) -> None:
        inner = {key: value for key, value in schema.items() if key != "ref"}
        schema.clear()
        schema.update(core_schema.no_info_before_validator_function(_check_unique, cast("CoreSchema", inner)))
        schema["metadata"] = {_DONE: True}


def _check_unique(value: Any) -> Any:
    if isinstance(value, list | tuple):
        index = _first_again(map(_frozen, value))
        if index is not None:
            raise PydanticCustomError("duplicate", "{item} is in the list twice", {"item": repr(value[index])})
    return value


_check_unique.is_constraint = True  # type: ignore[attr-defined] # known to `stored`


def _first_again(values: Iterable[Hashable]) -> int | None:
    """The index of the first value that was there before."""
    seen: set[Hashable] = set()
    for index, value in enumerate(values):
        if value in seen:
            return index
        seen.add(value)
    return None


def _frozen(value: Any) -> Hashable:
    """What is equal for equal values, and has a hash: to compare each with each would take minutes."""
    if type(value) is str:
        return value
    if isinstance(value, Mapping):
        return (dict, frozenset((key, _frozen(each)) for key, each in value.items()))
    if isinstance(value, list | tuple):
        return (list, tuple(map(_frozen, value)))
    if isinstance(value, set | frozenset):
        return frozenset(map(_frozen, value))
    if isinstance(value, BaseModel):
        return (type(value), _frozen(value.__dict__), _frozen(value.__pydantic_extra__ or {}))
    return cast("Hashable", value if getattr(value, "__hash__", None) is not None else repr(value))


class _KeysUnique:
    """Checks that no two items of a list have the same keys."""

    is_constraint = True

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys = keys

    def __call__(self, value: Any) -> Any:
        items = list(value or ())
        index = _first_again(tuple(_frozen(_field(item, name)) for name in self.keys) for item in items)
        if index is not None:
            shown = ", ".join(f"{name}: {_field(items[index], name)}" for name in self.keys)
            raise PydanticCustomError("duplicate", "{keys} is in the list twice", {"keys": shown})
        return value


def _field(item: Any, wire_name: str) -> Any:
    if isinstance(item, dict):
        return item.get(wire_name)
    for name, field in type(item).__pydantic_fields__.items():
        if (field.alias or to_camel(name)) == wire_name:
            return getattr(item, name, None)  # a partial object may get its keys later
    return None

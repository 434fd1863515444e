"""Lowers ``X | None``, int-or-string, literals and enums. Unions of structs are united in ``passes._combine``."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Sequence
from typing import Any

from pykb.api.quantity import Quantity
from pykb.api.struct import Struct
from pykb.diagnostics import Diagnostic, Diagnostics
from pykb.diagnostics.codes.types import UNION, UNSUPPORTED_TYPE
from pykb.gen.ir import Keyword, Place, SchemaNode
from pykb.gen.lower.scalars import ANYTHING, int_or_string, lower_scalar

_NONE = type(None)


def is_union(origin: object) -> bool:
    """Whether this is the origin of a ``Union``."""
    return origin is typing.Union or origin is types.UnionType


def split_optional(annotation: object) -> tuple[object, bool]:
    """The type without ``None``, and whether it had it."""
    if annotation is None or annotation is _NONE:
        return _NONE, True
    if not is_union(typing.get_origin(annotation)):
        return annotation, False
    members = typing.get_args(annotation)
    rest = tuple(member for member in members if member is not _NONE)
    if len(rest) == len(members):
        return annotation, False
    if len(rest) == 1:
        return rest[0], True
    try:
        return typing.Union[rest], True  # noqa: UP007 - made at run time
    except TypeError:  # an unhashable member is not a type; reported when the annotation is lowered
        return annotation, False


def is_int_or_string(members: tuple[object, ...]) -> bool:
    """Whether a union consists of integers and texts."""
    return all(_bare(member) in (int, str, Quantity) for member in members)  # members may be unhashable


def int_or_string_of(members: tuple[object, ...], branches: Sequence[SchemaNode]) -> SchemaNode:
    """The schema of integers and texts. Constraints of one branch apply only to its type."""
    node = lower_scalar(Quantity) if Quantity in map(_bare, members) else None
    if node is not None:
        return node
    node = int_or_string()
    for branch in branches:
        node = node.put_all({k: v for k, v in branch.keywords.items() if k not in {"type", "format"}})
    return node


def structs_of(members: tuple[object, ...]) -> list[type[Struct]]:
    """The members of a union of structs; empty for other unions."""
    classes = [member for member in map(_bare, members) if isinstance(member, type) and issubclass(member, Struct)]
    return classes if len(classes) == len(members) else []


def values_of(members: tuple[object, ...]) -> tuple[object, ...]:
    """The values of a union of literals; empty for other unions."""
    if not all(typing.get_origin(member) is typing.Literal for member in members):
        return ()
    return tuple(value for member in members for value in typing.get_args(member))


def no_union(members: tuple[object, ...], place: Place) -> Diagnostic:
    """The finding for a union without a schema."""
    names = " | ".join(_name(member) for member in members)
    return UNION.at(
        place.span,
        f"{place.what} is the union `{names}`, which a structural schema cannot express",
        help=(
            "use one type, `int | str` for int-or-string, or `Any` for arbitrary JSON",
            "for one of several objects, make a `Struct` with an optional field for each and `ExactlyOneOf(...)`",
        ),
    )


def lower_literal(values: tuple[object, ...], place: Place, diagnostics: Diagnostics) -> SchemaNode:
    """The schema of ``Literal[...]``: an enum in source order."""
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    nullable = None in plain
    plain = [value for value in dict.fromkeys(plain) if value is not None]
    node = lower_values(plain, place, diagnostics)
    return node.put("nullable", value=True, span=place.span) if nullable else node


def lower_enum(cls: type[enum.Enum], place: Place, diagnostics: Diagnostics) -> SchemaNode:
    """The schema of an enum: its values in the order of definition, without aliases."""
    if issubclass(cls, enum.Flag):
        diagnostics.add(
            UNSUPPORTED_TYPE.at(
                place.span,
                f"{place.what} is the flag `{cls.__name__}`, whose values combine, but an enum lists every value",
                help=(f"make `{cls.__name__}` a `StrEnum`, and the field a list: `Annotated[list[...], ListSet()]`",),
            ),
        )
        return ANYTHING
    return lower_values([member.value for member in cls], place, diagnostics)


def lower_values(values: list[Any], place: Place, diagnostics: Diagnostics) -> SchemaNode:
    """The schema of a choice of values."""
    kinds = {type(value) for value in values}
    enum_keyword = Keyword(values, place.span, "Literal")
    if kinds == {int, str}:
        return int_or_string().put_all({"enum": enum_keyword})
    base = lower_scalar(kinds.pop()) if len(kinds) == 1 else None
    if base is None or base.type not in {"string", "integer", "boolean"} or isinstance(values[0], bytes):
        shown = ", ".join(f"`{value!r}`" for value in values)
        diagnostics.add(
            UNION.at(
                place.span,
                f"{place.what} allows {shown or 'no value at all'}: an enum has strings, integers or booleans",
                help=("use values of one type",),
            ),
        )
        return ANYTHING
    return base.put_all({"enum": enum_keyword})


def _bare(annotation: object) -> object:
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation


def _name(annotation: object) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)

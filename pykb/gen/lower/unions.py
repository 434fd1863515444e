"""``X | None``, int-or-string, literals and enums; unions of structs are in ``struct_unions``."""

from __future__ import annotations

import enum
import types
import typing
from typing import TYPE_CHECKING, Any

from pykb.api.quantity import Quantity
from pykb.api.struct import Struct
from pykb.diagnostics.codes.types import UNION, UNSUPPORTED_TYPE
from pykb.gen.ir import Keyword, SchemaNode
from pykb.gen.lower.scalars import int_or_string, lower_scalar
from pykb.gen.lower.struct_unions import lower_struct_union

if TYPE_CHECKING:
    from pykb.gen.lower.annotation import Lowering
    from pykb.gen.place import Place

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
    except TypeError:  # a member that cannot be hashed is no type at all; it is said where the annotation is lowered
        return annotation, False


def lower_union(members: tuple[object, ...], place: Place, lowering: Lowering) -> SchemaNode:
    """The schema of a union without ``None``."""
    bare = [_bare(member) for member in members]  # no set: not everything that is written there has a hash
    if all(member in (int, str, Quantity) for member in bare):
        return lowering.lower(Quantity, place) if Quantity in bare else _int_or_string(members, place, lowering)
    classes = [member for member in (_bare(m) for m in members) if isinstance(member, type)]
    if len(classes) == len(members) and all(issubclass(cls, Struct) for cls in classes):
        return lower_struct_union(classes, place, lowering)
    literals = [member for member in members if typing.get_origin(member) is typing.Literal]
    if len(literals) == len(members):
        return lower_literal(tuple(v for m in literals for v in typing.get_args(m)), place, lowering)
    names = " | ".join(_name(member) for member in members)
    lowering.diagnostics.add(
        UNION.at(
            place.span,
            f"{place.what} is the union `{names}`, which a structural schema cannot express",
            help=(
                "use one type, `int | str` for int-or-string, or `Any` for arbitrary JSON",
                "for one of several objects, make a `Struct` with an optional field for each and `ExactlyOneOf(...)`",
            ),
        ),
    )
    return lowering.lower(Any, place)


def _int_or_string(members: tuple[object, ...], place: Place, lowering: Lowering) -> SchemaNode:
    node = int_or_string()
    for member in members:
        if typing.get_origin(member) is typing.Annotated:  # constraints of one branch hold for its type only
            refined = lowering.lower(member, place)
            node = node.put_all({k: v for k, v in refined.keywords.items() if k not in {"type", "format"}})
    return node


def lower_literal(values: tuple[object, ...], place: Place, lowering: Lowering) -> SchemaNode:
    """The schema of ``Literal[...]``: an enum in the order written."""
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    nullable = None in plain
    plain = [value for value in dict.fromkeys(plain) if value is not None]
    node = lower_values(plain, place, lowering)
    return node.put("nullable", value=True, span=place.span) if nullable else node


def lower_enum(cls: type[enum.Enum], place: Place, lowering: Lowering) -> SchemaNode:
    """The schema of an enum: its values in the order of definition, aliases left out."""
    if issubclass(cls, enum.Flag):
        lowering.diagnostics.add(
            UNSUPPORTED_TYPE.at(
                place.span,
                f"{place.what} is the flag `{cls.__name__}`, whose values combine: an enum lists them all",
                help=(f"make `{cls.__name__}` a `StrEnum`, and the field a list: `Annotated[list[...], ListSet()]`",),
            ),
        )
        return lowering.lower(Any, place)
    return lower_values([member.value for member in cls], place, lowering)


def lower_values(values: list[Any], place: Place, lowering: Lowering) -> SchemaNode:
    """The schema of a choice of values."""
    kinds = {type(value) for value in values}
    enum_keyword = Keyword(values, place.span, "Literal")
    if kinds == {int, str}:
        return int_or_string().put_all({"enum": enum_keyword})
    base = lower_scalar(kinds.pop()) if len(kinds) == 1 else None
    if base is None or base.type not in {"string", "integer", "boolean"} or isinstance(values[0], bytes):
        shown = ", ".join(f"`{value!r}`" for value in values)
        lowering.diagnostics.add(
            UNION.at(
                place.span,
                f"{place.what} allows {shown or 'no value at all'}: an enum has strings, integers or booleans",
                help=("use values of one type",),
            ),
        )
        return lowering.lower(Any, place)
    return base.put_all({"enum": enum_keyword})


def _bare(annotation: object) -> object:
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation


def _name(annotation: object) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)

"""Lists, sets, tuples and maps."""

from __future__ import annotations

import enum
import typing
from collections import abc
from typing import TYPE_CHECKING, Any

from pykb.diagnostics.codes.types import MAP_KEY, UNSUPPORTED_TYPE
from pykb.gen.ir import Keyword, SchemaNode
from pykb.gen.lower.scalars import lower_scalar
from pykb.gen.lower.shape import shape

if TYPE_CHECKING:
    from pykb.gen.lower.annotation import Lowering
    from pykb.gen.place import Place

_LISTS = frozenset({list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection})
_SETS = frozenset({set, frozenset, abc.Set, abc.MutableSet})
_MAPS = frozenset({dict, abc.Mapping, abc.MutableMapping})
_ARRAY = {"type": Keyword("array")}
_OBJECT = {"type": Keyword("object")}
_ANYTHING = (Any, object)


def lower_collection(
    origin: object, arguments: tuple[object, ...], place: Place, lowering: Lowering
) -> SchemaNode | None:
    """The schema of a container; ``None`` when the type is none."""
    try:
        if origin in _LISTS:
            return SchemaNode(_ARRAY, items=lowering.lower(arguments[0] if arguments else Any, place))
        if origin in _SETS:
            items = lowering.lower(arguments[0] if arguments else Any, place)
            return SchemaNode({**_ARRAY, "x-kubernetes-list-type": Keyword("set", place.span, "set")}, items=items)
        if origin is tuple:
            return _tuple(arguments, place, lowering)
        if origin in _MAPS:
            return _map(arguments, place, lowering)
    except TypeError:  # unhashable
        pass
    return None


def _tuple(arguments: tuple[object, ...], place: Place, lowering: Lowering) -> SchemaNode:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return SchemaNode(_ARRAY, items=lowering.lower(arguments[0], place))
    elements = [lowering.lower(argument, place) for argument in arguments]
    # Two `Annotated` types that say the same are not equal in Python.
    if len({shape(element) for element in elements}) != 1:
        lowering.diagnostics.add(
            UNSUPPORTED_TYPE.at(
                place.span,
                f"{place.what} is a tuple of different types, and a list in a CRD has one type of element",
                help=("make it a `Struct` with one field for each element",),
            ),
        )
        return SchemaNode(_ARRAY, items=lowering.lower(Any, place))
    count = Keyword(len(arguments), place.span, "tuple")
    return SchemaNode(
        {**_ARRAY, "minItems": count, "maxItems": count},
        items=elements[0],
    )


def _map(arguments: tuple[object, ...], place: Place, lowering: Lowering) -> SchemaNode:
    key, value = arguments if len(arguments) == 2 else (str, Any)
    if not _is_text(key):
        name = getattr(key, "__name__", str(key))
        lowering.diagnostics.add(
            MAP_KEY.at(
                place.span,
                f"map keys must be strings in a CRD, but {place.what} has keys of type `{name}`",
                notes=("structural schemas describe maps by `additionalProperties`, which has no key type",),
                help=("use `dict[str, ...]`, or a list of objects with `+listType=map` and `+listMapKey=<field>`",),
            ),
        )
    if value in _ANYTHING:
        return SchemaNode({**_OBJECT, "x-kubernetes-preserve-unknown-fields": Keyword(value=True)})
    return SchemaNode(_OBJECT, values=lowering.lower(value, place))


def _is_text(key: object) -> bool:
    if typing.get_origin(key) is typing.Annotated:
        return _is_text(typing.get_args(key)[0])
    if typing.get_origin(key) is typing.Literal:
        return all(isinstance(value, str) for value in typing.get_args(key))
    if isinstance(key, typing.NewType):
        return _is_text(key.__supertype__)
    if isinstance(key, typing.TypeVar):
        return True
    if isinstance(key, type) and issubclass(key, str | enum.StrEnum):
        return True
    node = lower_scalar(key)
    return node is not None and node.type == "string"

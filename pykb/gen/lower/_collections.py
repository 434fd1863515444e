"""Lists, sets, tuples and maps."""

from __future__ import annotations

import enum
import typing
from collections import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.types import MAP_KEY, UNSUPPORTED_TYPE
from pykb.gen.ir import Keyword, Place, SchemaNode
from pykb.gen.lower.scalars import ANYTHING, lower_scalar
from pykb.gen.lower.shape import shape

_LISTS = frozenset({list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection})
_SETS = frozenset({set, frozenset, abc.Set, abc.MutableSet})
_MAPS = frozenset({dict, abc.Mapping, abc.MutableMapping})
_ARRAY = {"type": Keyword("array")}
_OBJECT = {"type": Keyword("object")}
_ANYTHING = (Any, object)


@dataclass(frozen=True, slots=True)
class Collection:
    """The parts of a container type.

    Attributes:
        keywords: Its own keywords.
        elements: The annotations of a list's elements. A tuple has several, which must be of one type.
        value: The annotation of a map's values; ``None`` when any value is allowed.
    """

    keywords: Mapping[str, Keyword]
    elements: tuple[object, ...] = ()
    value: object = None


def collection_of(
    origin: object, arguments: tuple[object, ...], place: Place, diagnostics: Diagnostics
) -> Collection | None:
    """The parts of a container; ``None`` when the type is not a container."""
    try:
        if origin in _LISTS:
            return Collection(_ARRAY, arguments[:1] or (Any,))
        if origin in _SETS:
            kind = Keyword("set", place.span, "set")
            return Collection({**_ARRAY, "x-kubernetes-list-type": kind}, arguments[:1] or (Any,))
        if origin is tuple:
            return _tuple(arguments, place)
        if origin in _MAPS:
            return _map(arguments, place, diagnostics)
    except TypeError:  # unhashable
        pass
    return None


def _tuple(arguments: tuple[object, ...], place: Place) -> Collection:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return Collection(_ARRAY, arguments[:1])
    count = Keyword(len(arguments), place.span, "tuple")
    return Collection({**_ARRAY, "minItems": count, "maxItems": count}, arguments)


def list_node(found: Collection, elements: Sequence[SchemaNode], place: Place, diagnostics: Diagnostics) -> SchemaNode:
    """The schema of a list, given that of its elements."""
    # Python does not compare two `Annotated` types with the same content as equal.
    if len({shape(element) for element in elements}) == 1:
        return SchemaNode(found.keywords, items=elements[0])
    diagnostics.add(
        UNSUPPORTED_TYPE.at(
            place.span,
            f"{place.what} is a tuple of different types, and a list in a CRD has one type of element",
            help=("make it a `Struct` with one field for each element",),
        ),
    )
    return SchemaNode(_ARRAY, items=ANYTHING)


def _map(arguments: tuple[object, ...], place: Place, diagnostics: Diagnostics) -> Collection:
    key, value = arguments if len(arguments) == 2 else (str, Any)
    if not _is_text(key):
        name = getattr(key, "__name__", str(key))
        diagnostics.add(
            MAP_KEY.at(
                place.span,
                f"map keys must be strings in a CRD, but {place.what} has keys of type `{name}`",
                notes=("structural schemas describe maps by `additionalProperties`, which has no key type",),
                help=("use `dict[str, ...]`, or a list of objects with `+listType=map` and `+listMapKey=<field>`",),
            ),
        )
    if value in _ANYTHING:
        return Collection({**_OBJECT, "x-kubernetes-preserve-unknown-fields": Keyword(value=True)})
    return Collection(_OBJECT, value=value)


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

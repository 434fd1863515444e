"""Annotations, taken apart."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from pykb.gen.lower.annotation import applied, is_type_alias

LISTS = (list, Sequence, set, frozenset, tuple)
MAPS = (dict, Mapping)
UNIONS = (typing.Union, types.UnionType)


def bare(annotation: Any, metadata: tuple[object, ...]) -> tuple[Any, tuple[object, ...]]:
    """A type without what only names it or adds to it, and all that was added."""
    while True:
        if typing.get_origin(annotation) is typing.Annotated:
            annotation, *more = typing.get_args(annotation)
            metadata = (*more, *metadata)
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif is_type_alias(annotation):
            annotation = annotation.__value__
        elif is_type_alias(typing.get_origin(annotation)):
            annotation = applied(typing.get_origin(annotation), typing.get_args(annotation))
        elif isinstance(annotation, typing.TypeVar):
            annotation = annotation.__bound__ or Any
        else:
            return annotation, metadata

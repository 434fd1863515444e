"""The own schema of a named type, references to others in it: where lowering starts."""

from __future__ import annotations

import enum
import types
import typing

from pydantic import BaseModel

from pykb.gen.declare import NamedType
from pykb.gen.ir import SchemaNode
from pykb.gen.lower.annotation import Lowering, applied, is_type_alias
from pykb.gen.lower.models import lower_model
from pykb.gen.lower.unions import lower_enum
from pykb.gen.place import Place


def lower_named(named: NamedType, lowering: Lowering, *, embedded_metadata: bool) -> SchemaNode:
    """The schema of a class, ``NewType`` or alias.

    Args:
        named: The type.
        lowering: Turns the annotations that it is made of into schemas.
        embedded_metadata: Whether an embedded ObjectMeta has its known fields.
    """
    python = named.python
    place = Place(named.span, f"`{named.name}`", _module_of(python))
    if isinstance(python, typing.NewType):
        return lowering.lower(python.__supertype__, place)
    if is_type_alias(python):
        return lowering.lower(python.__value__, place)  # type: ignore[attr-defined]
    if is_type_alias(typing.get_origin(python)):
        return lowering.lower(applied(typing.get_origin(python), typing.get_args(python)), place)
    if isinstance(python, type) and issubclass(python, enum.Enum):
        return lower_enum(python, place, lowering.diagnostics)
    if isinstance(python, type) and issubclass(python, BaseModel):
        return lower_model(python, named, lowering, embedded_metadata=embedded_metadata)
    return lowering.lower(python, place)


def _module_of(python: object) -> types.ModuleType | None:
    import sys

    return sys.modules.get(getattr(python, "__module__", ""))

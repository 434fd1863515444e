"""The type of a model's field as written in the source, with the names of aliases. Python does not keep those."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic.fields import FieldInfo

from pykb.gen.lower.constraints import flatten
from pykb.markers.source import FieldDeclaration

if TYPE_CHECKING:
    from pykb.gen.declare import Declarations

_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class FieldType:
    """The declared type of a field.

    Attributes:
        annotation: Its type, without the outermost ``Annotated``.
        metadata: The metadata of ``Annotated`` and ``Field``.
        owner: The class that declares it.
        declaration: Its place in the source; ``None`` in built-in types.
    """

    annotation: object
    metadata: tuple[object, ...]
    owner: type
    declaration: FieldDeclaration | None


def field_type(cls: type, name: str, info: FieldInfo, declarations: Declarations) -> FieldType:
    """The type of a field.

    Pydantic has evaluated the annotation and folded ``Annotated`` aliases into it. Where the source mentions an alias
    that has markers or a description of its own, the annotation is evaluated once more with a stand-in for the alias.
    """
    declaration, owner = declarations.field(cls, name)
    module = sys.modules.get(owner.__module__)
    metadata = tuple(info.metadata)
    if declaration is not None and module is not None:
        aliases = declarations.alias_names(module)
        if aliases:
            text = declarations.text(declaration.annotation_span)
            mentioned = {n: aliases[n].python for n in _NAME.findall(text) if n in aliases}
            if mentioned:
                return _with_aliases(text, mentioned, vars(module), FieldType(None, metadata, owner, declaration), info)
    return FieldType(info.annotation, metadata, owner, declaration)


def _with_aliases(
    text: str, aliases: Mapping[str, object], namespace: Mapping[str, object], found: FieldType, info: FieldInfo
) -> FieldType:
    try:
        annotation = eval(text.strip("'\""), {**namespace, **aliases})  # noqa: S307 - of imported user code
    except Exception:  # noqa: BLE001 - Pydantic could evaluate it, so a stand-in is in the way: do without
        return FieldType(info.annotation, found.metadata, found.owner, found.declaration)
    own: tuple[object, ...] = ()
    if typing.get_origin(annotation) is typing.Annotated:
        annotation, *rest = typing.get_args(annotation)
        own = tuple(rest)
    known = {id(item) for value in aliases.values() for item in _metadata_of(value)}
    # Metadata that Pydantic took from the alias belongs to the alias. The rest comes from `= Field(...)`.
    in_alias = {id(item) for item in flatten(own)} | known
    return FieldType(
        annotation,
        (*own, *(item for item in found.metadata if id(item) not in in_alias)),
        found.owner,
        found.declaration,
    )


def _metadata_of(alias: object) -> list[object]:
    value = getattr(alias, "__value__", alias)
    return list(flatten(getattr(value, "__metadata__", ())))

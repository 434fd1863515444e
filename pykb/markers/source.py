"""The declarations of a source file with markers and descriptions, read from its text without an import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pykb.diagnostics import Span
from pykb.markers.model import Marker


class TypeKind(StrEnum):
    """How a type is declared."""

    CLASS = "class"
    NEW_TYPE = "NewType"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class FieldDeclaration:
    """An annotated assignment in a class body.

    Attributes:
        name: The attribute.
        span: Its name in the source.
        annotation_span: Its annotation.
        description: From its attribute docstring, else from the comment directly above; ``None`` without either.
        markers: In the order of the source.
        arguments: The places of the keyword arguments of its ``Field(...)``.
    """

    name: str
    span: Span
    annotation_span: Span
    description: str | None
    markers: tuple[Marker, ...]
    arguments: Mapping[str, Span] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TypeDeclaration:
    """A class, a ``NewType`` or a type alias.

    Attributes:
        name: The last part of ``qualname``.
        qualname: As Python gives it (``Outer.Inner``, ``function.<locals>.Inner``).
        span: Its name in the source.
        description: From its docstring, else from the comment directly above; ``None`` without either.
        markers: In the order of the source.
        fields: Its annotated attributes, in order; empty for aliases.
        bases: The base classes as written; for an alias the right-hand side.
        kind: How it is declared.
    """

    name: str
    qualname: str
    span: Span
    description: str | None
    markers: tuple[Marker, ...]
    fields: Mapping[str, FieldDeclaration]
    bases: tuple[str, ...] = ()
    kind: TypeKind = TypeKind.CLASS


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One source file.

    Attributes:
        path: The path as given by the caller. Spans contain it.
        package_markers: The markers of the package, and all RBAC and webhook markers of the file, in order.
        types: By qualified name.
        description: The module's docstring.
    """

    path: str
    package_markers: tuple[Marker, ...]
    types: Mapping[str, TypeDeclaration]
    description: str | None = None

"""The content of an API reference, independent of Markdown and HTML."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a type's name.

    Attributes:
        text: ``list of`` or ``VirtulMachineSpec``.
        target: The anchor or URL that it links to; none for plain words.
    """

    text: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule and its message."""

    expression: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """A field of an object.

    Attributes:
        name: The name on the wire.
        type: Its type, in pieces with and without a link.
        required: Whether it must be there.
        description: The description as its author wrote it.
        default: The default as JSON; empty for none.
        constraints: One phrase each, such as ``at least 1``.
        rules: CEL rules of the field.
        deprecated: The text of its deprecation; ``None`` when the field is not deprecated.
    """

    name: str
    type: tuple[Piece, ...]
    required: bool
    description: str = ""
    default: str = ""
    constraints: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    deprecated: str | None = None


@dataclass(frozen=True, slots=True)
class TypeDoc:
    """A named type: an object with fields, or a scalar with constraints."""

    name: str
    anchor: str
    description: str
    type: tuple[Piece, ...]
    fields: tuple[FieldDoc, ...] = ()
    constraints: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    used_by: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class KindDoc:
    """A kind in one version.

    Attributes:
        facts: Scope, names, subresources and so on, each as a label and a text.
        warning: The deprecation warning, and whether the version is not served.
        example: A manifest.
        is_sample: Whether the example is a sample of the project. If not, it has only the required fields.
    """

    name: str
    anchor: str
    api_version: str
    description: str
    facts: tuple[tuple[str, str], ...]
    fields: tuple[FieldDoc, ...]
    rules: tuple[Rule, ...]
    example: str
    is_sample: bool
    warning: str = ""


@dataclass(frozen=True, slots=True)
class VersionDoc:
    """A version of a group: its kinds, then the types that they are made of."""

    group: str
    name: str
    anchor: str
    kinds: tuple[KindDoc, ...]
    types: tuple[TypeDoc, ...]

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` in manifests."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True, slots=True)
class Reference:
    """The whole page."""

    title: str
    versions: tuple[VersionDoc, ...]

"""What an API reference says, before it is Markdown or HTML."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a type's name.

    Attributes:
        text: ``list of`` or ``VirtulMachineSpec``.
        target: The anchor or address that it leads to; none for plain words.
    """

    text: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule, and what the server says when it is broken."""

    expression: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """A field of an object.

    Attributes:
        name: On the wire.
        type: Its type, the parts that lead somewhere apart from those that do not.
        required: Whether it must be there.
        description: Prose, as its author wrote it.
        default: What the server fills in, as JSON; empty for nothing.
        constraints: One phrase each, ``at least 1``.
        rules: CEL rules of the field.
        deprecated: What to do instead; ``None`` for a field that is not deprecated.
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
        facts: Scope, names, subresources, ...: a label and its text each.
        warning: What the server warns of, and that a version is not served.
        example: A manifest.
        is_sample: Whether the example is a sample of the project's; else it has the required fields only.
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
        """As manifests say it."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True, slots=True)
class Reference:
    """The whole page."""

    title: str
    versions: tuple[VersionDoc, ...]

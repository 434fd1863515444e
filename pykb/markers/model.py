"""Markers as values: the comment of a marker, the marker itself, and the declarations of a file that it describes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pykb.diagnostics import Edit, Span
from pykb.markers._values import find_element
from pykb.markers.definition import MarkerDefinition, MarkerTarget, Whole


@dataclass(frozen=True, slots=True)
class MarkerComment:
    """A comment line whose text starts with a plus sign."""

    text: str
    path: str
    line: int
    column: int

    def span(self, start: int = 0, end: int | None = None) -> Span:
        """The span of a part, by offsets from the plus sign."""
        end = len(self.text) if end is None else max(end, start + 1)
        return Span(self.path, self.line, self.column + start, self.line, self.column + end)

    def edit(self, start: int, end: int, new: str) -> Edit:
        """The replacement of a part, by offsets from the plus sign."""
        span = Span(self.path, self.line, self.column + start, self.line, self.column + end)
        return Edit(span, self.text[start:end], new)

    def edited(self, edits: Iterable[Edit]) -> MarkerComment:
        """The comment after edits of it."""
        text = self.text
        for edit in sorted(edits, key=lambda edit: edit.span.column, reverse=True):
            start, end = edit.span.column - self.column, edit.span.end_column - self.column
            text = text[:start] + edit.new + text[end:]
        return replace(self, text=text)


@dataclass(frozen=True, slots=True)
class Place:
    """What a marker comment describes.

    Attributes:
        targets: The possible targets of a marker there, the most likely first; empty when there is none.
        description: The name in messages: ``the field `cpu```.
        span: The declaration.
        reason: Why a marker there describes nothing.
        help: What to do when a marker there describes nothing.
    """

    targets: tuple[MarkerTarget, ...]
    description: str = ""
    span: Span | None = None
    reason: str = ""
    help: str = ""


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker of one declaration.

    Attributes:
        name: The full registered name, for example ``kubebuilder:validation:MinLength``.
        arguments: The typed values. The value directly after the name has the empty string as its key. A value
            that is itself a marker (``+k8s:eachVal=+k8s:minLength=1``) is a :class:`Marker`.
        span: From the plus sign to the end of the marker's text.
        argument_spans: The place of each value.
        target: What it describes.
        definition: The definition of its name.
        text: The marker as written, from the plus sign on.
    """

    name: str
    arguments: Mapping[str, object]
    span: Span
    argument_spans: Mapping[str, Span]
    target: MarkerTarget
    definition: MarkerDefinition
    text: str = ""

    @property
    def value(self) -> object:
        """The value directly after the name; ``None`` when there is none."""
        return self.arguments.get("")

    def texts(self, argument: str) -> list[str]:
        """The elements of a list argument as texts. Empty when it was left out."""
        values = self.arguments.get(argument)
        return [str(value) for value in values] if isinstance(values, list | tuple) else []

    def span_of(self, argument: str = "") -> Span:
        """The place of an argument, or the whole marker when it was left out."""
        return self.argument_spans.get(argument, self.span)

    def span_of_element(self, argument: str, element: str) -> Span:
        """The place of one element of a list argument, or the whole argument when that is not known."""
        whole = self.span_of(argument)
        if whole.line != self.span.line or whole is self.span or not element:
            return whole
        start = whole.column - self.span.column
        found = find_element(self.text, start, whole.end_column - self.span.column, element)
        if found is None:
            return whole
        first, end = (self.span.column + offset for offset in found)
        return Span(whole.path, whole.line, first, whole.line, end)

    def fix_of_element(self, argument: str, element: str, new: str) -> tuple[Edit, ...]:
        """The replacement of one element of a list argument. Empty when its place is not known."""
        span = self.span_of_element(argument, element)
        return (Edit(span, element, new),) if span.end_column - span.column == len(element) > 0 else ()


def unwrap(markers: Iterable[Marker]) -> Iterator[Marker]:
    """The markers, with wrapping markers replaced by the markers inside them."""
    for marker in markers:
        inner = marker.value
        if marker.definition.effect is Whole.WRAPS and isinstance(inner, Marker):
            yield from unwrap([inner])
        else:
            yield marker


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

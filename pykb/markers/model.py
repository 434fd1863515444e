"""A marker in a source file: typed values, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pykb.diagnostics import Span
from pykb.markers.definition import MarkerDefinition, MarkerTarget
from pykb.markers.effect import Whole

__all__ = ["Marker", "MarkerDefinition", "MarkerTarget", "unwrap"]


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

    def span_of(self, argument: str = "") -> Span:
        """The place of an argument, or the whole marker when it was left out."""
        return self.argument_spans.get(argument, self.span)

    def span_of_element(self, argument: str, element: str) -> Span:
        """The place of one element of a list argument, or the whole argument when that is not known."""
        whole = self.span_of(argument)
        if whole.line != self.span.line or whole is self.span or not element:
            return whole
        start = whole.column - self.span.column
        text = self.text[start : whole.end_column - self.span.column]
        found = re.search(rf"(?<![^;,{{\s\"`]){re.escape(element)}(?![^;,}}\s\"`])", text)
        if found is None:
            return whole
        column = whole.column + found.start()
        return Span(whole.path, whole.line, column, whole.line, column + len(element))


def unwrap(markers: Iterable[Marker]) -> Iterator[Marker]:
    """The markers, with wrapping markers replaced by the markers inside them."""
    for marker in markers:
        inner = marker.value
        if marker.definition.effect is Whole.WRAPS and isinstance(inner, Marker):
            yield from unwrap([inner])
        else:
            yield marker

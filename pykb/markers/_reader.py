"""Reads a marker comment as a :class:`~pykb.markers.model.Marker`, or reports it. All markers are read here."""

from __future__ import annotations

from collections.abc import Sequence

from pykb.diagnostics import Diagnostics, Label
from pykb.diagnostics.codes.markers import MARKER_DETACHED, MARKER_GO_ONLY, MARKER_TARGET, MARKER_UNKNOWN
from pykb.markers._declarative import parse_tag
from pykb.markers._misspelling import Misspellings
from pykb.markers._place import MarkerComment, Place
from pykb.markers._problem import Problem
from pykb.markers.definition import Grammar, MarkerDefinition, MarkerTarget
from pykb.markers.model import Marker
from pykb.markers.naming import TAG_NAME
from pykb.markers.parser import ParsedArguments, parse_arguments
from pykb.markers.registry import MarkerRegistry

__all__ = ["MarkerComment", "MarkerReader", "Place"]

_ANCHORS = ("+kubebuilder:scaffold:", "+pykb:scaffold:", "+kubebuilder:docs-gen:")


class MarkerReader:
    """Reads the marker comments of a run with one registry and one collection of findings."""

    def __init__(self, registry: MarkerRegistry, diagnostics: Diagnostics) -> None:
        self._registry = registry
        self._diagnostics = diagnostics
        self._misspellings = Misspellings(registry, diagnostics)

    def read(self, comment: MarkerComment, place: Place) -> Marker | None:
        """Read the marker in a comment. Returns ``None`` for an anchor, prose, or a wrong marker, which it reports."""
        text = comment.text
        if text.startswith(_ANCHORS):
            return None
        known = self._registry.readings.get(text)
        if known is not None:
            target = self._target(known[0], comment, place)
            return None if target is None else _marker(*known, comment, target)
        definition, name_end = self._registry.resolve(text)
        if definition is None:
            self._misspellings.report(comment, place)
            return None
        target = self._target(definition, comment, place)
        if target is None:
            return None
        if definition.go_only:
            self._note_go_only(definition, comment)
        if definition.grammar is Grammar.DECLARATIVE:
            return self._tag(definition, comment, target, name_end)[0]
        parsed = parse_arguments(definition, text)
        self._report(parsed.problems, comment)
        if parsed.problems:
            return None
        if not definition.go_only:
            # Thousands of fields have the same few marker texts. Results without findings are cached.
            self._registry.readings[text] = (definition, parsed)
        return _marker(definition, parsed, comment, target)

    def _tag(
        self, definition: MarkerDefinition, comment: MarkerComment, target: MarkerTarget, name_end: int, start: int = 0
    ) -> tuple[Marker | None, int]:
        """Read the declarative tag at an offset. Returns it and where it ends."""
        parsed, end = parse_tag(definition, comment.text, name_end, lambda at: self._nested(comment, target, at))
        self._report(parsed.problems, comment)
        if parsed.problems or ("" in parsed.values and parsed.values[""] is None):
            return None, end
        return _marker(definition, parsed, comment, target, start, end), end

    def _nested(self, comment: MarkerComment, target: MarkerTarget, at: int) -> tuple[object, int]:
        """Read a tag that is the value of another tag."""
        match = TAG_NAME.match(comment.text, at)
        definition = self._registry.get(match[1]) if match else None
        if match is None or definition is None or definition.grammar is not Grammar.DECLARATIVE:
            name = match[0] if match else comment.text[at:]
            nearest = self._registry.suggest(name.removeprefix("+"))
            self._diagnostics.add(
                MARKER_UNKNOWN.at(
                    comment.span(at, at + len(name)),
                    f"unknown tag `{name}`",
                    label="no `+k8s:` tag of this name",
                    help=(f"a tag with a similar name exists: `+{nearest}`",) if nearest else (),
                )
            )
            return None, len(comment.text)
        return self._tag(definition, comment, target, match.end(), start=at)

    def _report(self, problems: Sequence[Problem], comment: MarkerComment) -> None:
        for problem in problems:
            self._diagnostics.add(
                problem.code.at(
                    comment.span(problem.start, problem.end),
                    problem.message,
                    label=problem.label,
                    notes=problem.notes,
                    help=problem.help,
                )
            )

    def _target(self, definition: MarkerDefinition, comment: MarkerComment, place: Place) -> MarkerTarget | None:
        for target in place.targets:
            if target in definition.targets:
                return target
        if definition.anywhere:
            return MarkerTarget.PACKAGE
        if not place.targets:
            self._diagnostics.add(
                MARKER_DETACHED.at(
                    comment.span(),
                    f"`+{definition.name}` does not apply here: {place.reason}",
                    label="has no effect",
                    help=(place.help,) if place.help else (),
                )
            )
            return None
        self._diagnostics.add(
            MARKER_TARGET.at(
                comment.span(),
                f"`+{definition.name}` applies to {_kinds(definition)}, but this is {place.description}",
                label="has no effect here",
                labels=(Label(place.span, f"{place.description}"),) if place.span else (),
                help=(_where(definition),),
            )
        )
        return None

    def _note_go_only(self, definition: MarkerDefinition, comment: MarkerComment) -> None:
        self._diagnostics.add(
            MARKER_GO_ONLY.at(
                comment.span(),
                f"`+{definition.name}` affects only Go code generators",
                label="no effect in Python",
                help=("remove it, or keep it for comparison with the Go source",),
            )
        )


def _marker(
    definition: MarkerDefinition,
    parsed: ParsedArguments,
    comment: MarkerComment,
    target: MarkerTarget,
    start: int = 0,
    end: int | None = None,
) -> Marker:
    return Marker(
        name=definition.name,
        arguments=parsed.values,
        span=comment.span(start, end),
        argument_spans={name: comment.span(*place) for name, place in parsed.places.items()},
        target=target,
        definition=definition,
        text=comment.text[start:end],
    )


def _kinds(definition: MarkerDefinition) -> str:
    words = {MarkerTarget.PACKAGE: "a package", MarkerTarget.TYPE: "a type", MarkerTarget.FIELD: "a field"}
    return " or ".join(words[t] for t in MarkerTarget if t in definition.targets)


def _where(definition: MarkerDefinition) -> str:
    if MarkerTarget.FIELD in definition.targets:
        return "put it directly above an annotated attribute"
    if MarkerTarget.TYPE in definition.targets:
        return "put it directly above the class"
    return "put it into a comment block of its own at the top of the module"

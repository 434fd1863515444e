"""One marker comment into a :class:`~pykb.markers.model.Marker`, or into diagnostics: the way every marker comes in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pykb.diagnostics import Diagnostics, Label, Span
from pykb.diagnostics.codes.markers import (
    MARKER_DETACHED,
    MARKER_FOREIGN,
    MARKER_GO_ONLY,
    MARKER_SYNTAX,
    MARKER_TARGET,
    MARKER_UNKNOWN,
)
from pykb.diagnostics.suggest import edit_distance
from pykb.markers.declarative import TAG_NAME, parse_tag
from pykb.markers.definition import Grammar, MarkerDefinition, MarkerTarget
from pykb.markers.model import Marker
from pykb.markers.parser import ParsedArguments, parse_arguments, split_name
from pykb.markers.problem import Problem
from pykb.markers.registry import MarkerRegistry

_ANCHORS = ("+kubebuilder:scaffold:", "+pykb:scaffold:", "+kubebuilder:docs-gen:")
_NAMESPACES = ("kubebuilder:", "k8s:", "pykb:")
_BLANK_AFTER_PLUS = re.compile(r"\+\s+(?=\w)")
_PROSE = re.compile(r"\+(?:$|\s|[-+=|*]|\d(?![^\s:=]*[:=]))")
"""What is never taken for a marker: bullets, banners and boxes (``+---+``), ``+1``."""


@dataclass(frozen=True, slots=True)
class MarkerComment:
    """A comment line whose text starts with a plus sign."""

    text: str
    path: str
    line: int
    column: int

    def span(self, start: int = 0, end: int | None = None) -> Span:
        """A piece of it, by offsets from the plus sign."""
        end = len(self.text) if end is None else max(end, start + 1)
        return Span(self.path, self.line, self.column + start, self.line, self.column + end)


@dataclass(frozen=True, slots=True)
class Place:
    """What the comment stands on.

    Attributes:
        targets: What a marker there may describe, the most likely first; empty where it describes nothing.
        description: The words for messages: ``the field `cpu```.
        span: The declaration.
        reason: Where nothing is described: why.
        help: Where nothing is described: what to do.
    """

    targets: tuple[MarkerTarget, ...]
    description: str = ""
    span: Span | None = None
    reason: str = ""
    help: str = ""


class MarkerReader:
    """Reads the marker comments of a run against one registry, into one collection of findings."""

    def __init__(self, registry: MarkerRegistry, diagnostics: Diagnostics) -> None:
        self._registry = registry
        self._diagnostics = diagnostics

    def read(self, comment: MarkerComment, place: Place) -> Marker | None:
        """The marker in a comment; ``None`` when it is an anchor, prose, or wrong (then it was reported)."""
        text = comment.text
        if text.startswith(_ANCHORS):
            return None
        definition, name_end = self._resolve(text)
        if definition is None:
            self._unknown(comment, place)
            return None
        target = self._target(definition, comment, place)
        if target is None:
            return None
        marker, _ = self._build(definition, comment, target, name_end)
        if definition.go_only:
            self._note_go_only(definition, comment)
        return marker

    def _resolve(self, text: str) -> tuple[MarkerDefinition | None, int]:
        """The definition that a marker's text names, and the offset after the name."""
        if text.startswith("+k8s:") and (match := TAG_NAME.match(text)):
            found = self._registry.get(match[1])
            if found is not None and found.grammar is Grammar.DECLARATIVE:
                follows = text[match.end() : match.end() + 1]
                return (found, match.end()) if follows in {"", "=", "(", " ", "\t", "#"} else (None, 0)
        split = split_name(text)
        found = self._registry.look_up(split.whole, split.short)
        if found is not None and found.grammar is Grammar.KUBEBUILDER:
            return found, len(found.name) + 1
        return None, 0

    def _build(
        self, definition: MarkerDefinition, comment: MarkerComment, target: MarkerTarget, name_end: int, start: int = 0
    ) -> tuple[Marker | None, int]:
        text = comment.text
        parsed: ParsedArguments
        if definition.grammar is Grammar.DECLARATIVE:
            parsed, end = parse_tag(definition, text, name_end, lambda at: self._nested(comment, target, at))
        else:
            parsed, end = parse_arguments(definition, text), len(text)
        self._report(parsed.problems, comment)
        lost = definition.grammar is Grammar.DECLARATIVE and "" in parsed.values and parsed.values[""] is None
        if parsed.problems or lost:
            return None, end
        return Marker(
            name=definition.name,
            arguments=parsed.values,
            span=comment.span(start, end),
            argument_spans={name: comment.span(*place) for name, place in parsed.places.items()},
            target=target,
            definition=definition,
            text=text[start:end],
        ), end

    def _nested(self, comment: MarkerComment, target: MarkerTarget, at: int) -> tuple[object, int]:
        """The tag that is the value of another tag."""
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
        return self._build(definition, comment, target, match.end(), start=at)

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
                    f"`+{definition.name}` describes nothing here: {place.reason}",
                    label="has no effect",
                    help=(place.help,) if place.help else (),
                )
            )
            return None
        self._diagnostics.add(
            MARKER_TARGET.at(
                comment.span(),
                f"`+{definition.name}` describes {_kinds(definition)}, but it stands on {place.description}",
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
                f"`+{definition.name}` only means something to Go code generators",
                label="no effect in Python",
                help=("remove it, or keep it for comparison with the Go source",),
            )
        )

    def _unknown(self, comment: MarkerComment, place: Place) -> None:
        """Say what is wrong with a comment that names no marker, or nothing if it is prose."""
        text = comment.text
        if match := _BLANK_AFTER_PLUS.match(text):
            self._blank_after_plus(comment, match.end())
            return
        if self._misspelt_shape(comment):
            return
        if _PROSE.match(text):
            return
        words = split_name(text).whole.split()
        word = words[0] if words else ""
        namespaced = _in_namespace(word)
        preferred = place.targets[0] if place.targets else None
        suggestion = self._suggest(word, preferred, namespaced=namespaced)
        if not namespaced and suggestion is None:
            self._foreign(comment, place)
            return
        self._diagnostics.add(
            MARKER_UNKNOWN.at(
                comment.span(0, len(word) + 1),
                f"unknown marker `+{word}`",
                label="no marker has this name",
                help=(f"a marker with a similar name exists: `+{suggestion}`",)
                if suggestion
                else ("`pykb explain markers` lists all markers",),
            )
        )

    def _suggest(self, word: str, target: MarkerTarget | None, *, namespaced: bool) -> str | None:
        for length in range(len(word.split(":")), 0, -1):
            # `kubebuilder:validation:XValidatoin:rule` names an argument at its end: try without it, too.
            name = ":".join(word.split(":")[:length])
            found = self._registry.suggest(name, target=target)
            if found is None or (not namespaced and edit_distance(name.lower(), found.lower(), limit=2) > 2):
                if not namespaced:
                    return None
                continue
            return found
        return None

    def _blank_after_plus(self, comment: MarkerComment, start: int) -> None:
        joined = f"+{comment.text[start:]}"
        known, _ = self._resolve(joined)
        if known is None and not _in_namespace(joined[1:].split(maxsplit=1)[0]):
            return
        self._add_shape(comment, 0, start, "expected the name directly after `+`, found a blank", f"write `{joined}`")

    def _misspelt_shape(self, comment: MarkerComment) -> bool:
        """Whether the name is right and the characters around it are not; says so."""
        text = comment.text
        split = split_name(text)
        whole = split.whole
        if split.has_value and whole.rstrip() != whole and self._known(whole.rstrip()):
            start = len(whole.rstrip()) + 1
            fixed = f"+{whole.rstrip()}={text[split.value_start :].strip()}"
            self._add_shape(
                comment,
                start,
                split.value_start,
                "expected `=` directly after the name, found a blank",
                f"write `{fixed}`",
            )
            return True
        if whole.endswith(":") and self._known(whole.rstrip(":")):
            start = len(whole.rstrip(":")) + 1
            bare = whole.rstrip(":")
            fixed = f"+{bare}={text[split.value_start :]}" if split.has_value else f"+{bare}"
            self._add_shape(
                comment, start, len(whole) + 1, "found a colon with no argument name after it", f"write `{fixed}`"
            )
            return True
        word, blank, rest = whole.partition(" ")
        if blank and word and self._known(word):
            found = rest.strip() or text[len(word) + 1 :].strip()
            message = f"expected the end of the marker after `+{word}`, found `{found}`"
            known = self._registry.get(word)
            takes = known is not None and known.value is not None
            help_ = f"write `+{word}={rest.strip()}`" if takes else "put the comment on a line of its own"
            self._add_shape(comment, len(word) + 2, len(text), message, help_)
            return True
        if not split.has_value and ":" in whole and self._registry.get(whole.rpartition(":")[0]) is not None:
            known = self._registry.get(whole.rpartition(":")[0])
            argument = whole.rpartition(":")[2]
            if known is not None and known.argument(argument) is not None and argument:
                self._add_shape(
                    comment,
                    len(text),
                    len(text) + 1,
                    f"expected `=` and a value after `{argument}`",
                    f"write `{text}=...`",
                )
                return True
        return False

    def _known(self, name: str) -> bool:
        return self._registry.look_up(name, name.rpartition(":")[0] or name) is not None

    def _add_shape(self, comment: MarkerComment, start: int, end: int, message: str, help_: str) -> None:
        self._diagnostics.add(MARKER_SYNTAX.at(comment.span(start, end), message, label="here", help=(help_,)))

    def _foreign(self, comment: MarkerComment, place: Place) -> None:
        """A warning for what may be a marker of another tool; nothing where no marker could stand."""
        if not place.targets:
            return
        self._diagnostics.add(
            MARKER_FOREIGN.at(
                comment.span(),
                f"`{comment.text.split()[0]}` is no marker of pykb",
                label="has no effect",
                help=("if it is no marker of another tool, start the comment with another character than `+`",),
            )
        )


def _in_namespace(word: str) -> bool:
    """Whether a name belongs to a family of markers, or nearly: ``kubebulder:...`` was meant to."""
    first, colon, _ = word.lower().partition(":")
    if not colon:
        return False
    return f"{first}:" in _NAMESPACES or edit_distance(first, "kubebuilder", limit=3) <= 3


def _kinds(definition: MarkerDefinition) -> str:
    words = {MarkerTarget.PACKAGE: "a package", MarkerTarget.TYPE: "a type", MarkerTarget.FIELD: "a field"}
    return " or ".join(words[t] for t in MarkerTarget if t in definition.targets)


def _where(definition: MarkerDefinition) -> str:
    if MarkerTarget.FIELD in definition.targets:
        return "put it directly above an annotated attribute"
    if MarkerTarget.TYPE in definition.targets:
        return "put it directly above the class"
    return "put it into a comment block of its own at the top of the module"

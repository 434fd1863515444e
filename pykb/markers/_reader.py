"""Reads a marker comment as a :class:`~pykb.markers.model.Marker`, or reports it. All markers are read here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pykb.diagnostics import Diagnostic, Diagnostics, Edit, Label
from pykb.diagnostics.codes.markers import (
    MARKER_DETACHED,
    MARKER_FOREIGN,
    MARKER_GO_ONLY,
    MARKER_SYNTAX,
    MARKER_TARGET,
    MARKER_UNKNOWN,
)
from pykb.diagnostics.suggest import edit_distance
from pykb.markers._lexer import MarkerError
from pykb.markers.definition import Grammar, MarkerDefinition, MarkerTarget
from pykb.markers.model import Marker, MarkerComment, Place
from pykb.markers.parser import TAG_NAME, ParsedArguments, SplitName, parse_arguments, parse_tag, split_name
from pykb.markers.registry import MarkerRegistry

_VALIDATION = "kubebuilder:validation:"
_NAMESPACES = ("kubebuilder:", "k8s:", "pykb:")
_BLANK_AFTER_PLUS = re.compile(r"\+\s+(?=\w)")
_PROSE = re.compile(r"\+(?:$|\s|[-+=|*]|\d(?![^\s:=]*[:=]))")
"""Text that is never a marker: bullets, banners and boxes (``+---+``), ``+1``."""

_ROUNDS = 4
"""How many slips a marker may have, one hidden by the other, to be fixed without asking."""
_ANCHORS = ("+kubebuilder:scaffold:", "+pykb:scaffold:", "+kubebuilder:docs-gen:")


class MarkerReader:
    """Reads the marker comments of a run with one registry and one collection of findings."""

    def __init__(self, registry: MarkerRegistry, diagnostics: Diagnostics) -> None:
        self._registry = registry
        self._all = diagnostics
        self._diagnostics = Diagnostics()
        """What was found in the present comment."""

    def read(self, comment: MarkerComment, place: Place) -> Marker | None:
        """Read the marker in a comment. Returns ``None`` for an anchor, prose, or a wrong marker, which it reports."""
        marker = self._read(comment, place)
        found = self._diagnostics.take()
        for each in found:
            certain = not each.fix or self._improves(each.fix, comment, place, found)
            self._all.add(each if certain else replace(each, fix=()))
        return marker

    def _improves(
        self, fix: Sequence[Edit], comment: MarkerComment, place: Place, diagnostics: Sequence[Diagnostic]
    ) -> bool:
        """Whether a fix, and those of what it brings to light, leave fewer findings in the comment."""
        for _ in range(_ROUNDS):
            comment = comment.edited(fix)
            self._read(comment, place)
            left = self._diagnostics.take()
            if len(left) < len(diagnostics) and {each.code for each in left} <= {each.code for each in diagnostics}:
                return True
            fix = next((each.fix for each in left if each.fix), ())
            if not fix:
                return False
        return False

    def _read(self, comment: MarkerComment, place: Place) -> Marker | None:
        text = comment.text
        if text.startswith(_ANCHORS):
            return None
        known = self._registry.readings.get(text)
        if known is not None:
            target = self._target(known[0], comment, place)
            return None if target is None else _marker(*known, comment, target)
        definition, name_end = self._registry.resolve(text)
        if definition is None:
            self._misspelt(comment, place)
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
            meant = self._registry.only_meaning(name.removeprefix("+"))
            self._diagnostics.report(
                MARKER_UNKNOWN,
                comment.span(at, at + len(name)),
                f"unknown tag `{name}`",
                f"a tag with a similar name exists: `+{nearest}`" if nearest else "",
                label="no `+k8s:` tag of this name",
                fix=(comment.edit(at + 1, at + len(name), meant),) if meant and match else (),
            )
            return None, len(comment.text)
        return self._tag(definition, comment, target, match.end(), start=at)

    def _report(self, problems: Iterable[MarkerError], comment: MarkerComment) -> None:
        for problem in problems:
            self._diagnostics.report(
                problem.code,
                comment.span(*problem.place),
                problem.message,
                *problem.help,
                label=problem.label,
                notes=problem.notes,
                fix=(comment.edit(*problem.fix),) if problem.fix else (),
            )

    def _target(self, definition: MarkerDefinition, comment: MarkerComment, place: Place) -> MarkerTarget | None:
        for target in place.targets:
            if target in definition.targets:
                return target
        if definition.anywhere:
            return MarkerTarget.PACKAGE
        if not place.targets:
            self._diagnostics.report(
                MARKER_DETACHED,
                comment.span(),
                f"`+{definition.name}` does not apply here: {place.reason}",
                place.help,
                label="has no effect",
            )
            return None
        self._diagnostics.report(
            MARKER_TARGET,
            comment.span(),
            f"`+{definition.name}` applies to {_kinds(definition)}, but this is {place.description}",
            _where(definition),
            label="has no effect here",
            labels=(Label(place.span, f"{place.description}"),) if place.span else (),
        )
        return None

    def _note_go_only(self, definition: MarkerDefinition, comment: MarkerComment) -> None:
        self._diagnostics.report(
            MARKER_GO_ONLY,
            comment.span(),
            f"`+{definition.name}` affects only Go code generators",
            "remove it, or keep it for comparison with the Go source",
            label="no effect in Python",
        )

    def _misspelt(self, comment: MarkerComment, place: Place) -> None:
        """Report a comment that looks like a marker and does not name one, unless it is prose."""
        text = comment.text
        if match := _BLANK_AFTER_PLUS.match(text):
            self._report(self._blank_after_plus(text, match.end()), comment)
            return
        shape = self._wrong_shape(text)
        if shape is not None:
            self._report([shape], comment)
            return
        if _PROSE.match(text):
            return
        words = split_name(text).whole.split()
        word = words[0] if words else ""
        namespaced = _in_namespace(word)
        preferred = place.targets[0] if place.targets else None
        synonym = self._synonym(word, preferred)
        suggestion = synonym or self._suggest(word, preferred, namespaced=namespaced)
        if namespaced or suggestion is not None:
            known_as = "this is called" if synonym else "a marker with a similar name exists:"
            meant = None if synonym else self._meant(word)
            self._diagnostics.report(
                MARKER_UNKNOWN,
                comment.span(0, len(word) + 1),
                f"unknown marker `+{word}`",
                f"{known_as} `+{suggestion}`" if suggestion else "`pykb explain markers` lists all markers",
                label="no marker has this name",
                fix=(comment.edit(1, len(meant[0]) + 1, meant[1]),) if meant else (),
            )
        elif place.targets:  # perhaps a marker of another tool
            self._diagnostics.report(
                MARKER_FOREIGN,
                comment.span(),
                f"`{text.split()[0]}` is not a marker of pykb",
                "if it is not a marker of another tool, start the comment with another character than `+`",
                label="has no effect",
            )

    def _suggest(self, word: str, target: MarkerTarget | None, *, namespaced: bool) -> str | None:
        for length in range(len(word.split(":")), 0, -1):
            # The end of `kubebuilder:validation:XValidatoin:rule` is an argument: also try without it.
            name = ":".join(word.split(":")[:length])
            if f"{name}:" == _VALIDATION:  # only the family's name: a similar marker would be similar by chance
                return None
            found = self._registry.suggest(name, target=target)
            if found is None or (not namespaced and edit_distance(name.lower(), found.lower(), limit=2) > 2):
                if not namespaced:
                    return None
                continue
            return found
        return None

    def _meant(self, word: str) -> tuple[str, str] | None:
        """The wrong name at the start of a marker, and the only one that it can be a slip of."""
        for name in (word, word.rpartition(":")[0]):  # the last segment can be an argument
            if name and (meant := self._registry.only_meaning(name)):
                return name, meant
        return None

    def _synonym(self, word: str, target: MarkerTarget | None) -> str | None:
        """The marker that has this name in another schema language. Of two, the one with fewer kinds of target."""
        rest = word.removeprefix(_VALIDATION)
        items = "items:" * rest.count("items:")
        name = rest.removeprefix(items).split(":")[0].casefold()
        target = target if target is MarkerTarget.TYPE else MarkerTarget.FIELD
        found = [d for d in self._registry if name in d.synonyms and target in d.targets and not d.items_depth]
        if rest == word or not found:
            return None
        best = min(found, key=lambda d: len(d.targets))
        return f"{_VALIDATION}{items}{best.name.removeprefix(_VALIDATION)}"

    def _blank_after_plus(self, text: str, start: int) -> Iterator[MarkerError]:
        joined = f"+{text[start:]}"
        known, _ = self._registry.resolve(joined)
        if known is not None or _in_namespace(joined[1:].split(maxsplit=1)[0]):
            message = "expected the name directly after `+`, found a blank"
            yield _wrong_shape(0, start, message, f"write `{joined}`", (0, start, "+"))

    def _wrong_shape(self, text: str) -> MarkerError | None:
        """A known name with wrong characters around it."""
        split = split_name(text)
        return (
            self._blank_before_value(split, text)
            or self._colon_without_name(split, text)
            or self._text_after_name(split, text)
            or self._argument_without_value(split, text)
        )

    def _blank_before_value(self, split: SplitName, text: str) -> MarkerError | None:
        name = split.whole.rstrip()
        if not split.has_value or name == split.whole or not self._known(name):
            return None
        message = "expected `=` directly after the name, found a blank"
        value = text[split.value_start :].strip()
        fix = (len(name) + 1, len(text), f"={value}")
        return _wrong_shape(len(name) + 1, split.value_start, message, f"write `+{name}={value}`", fix)

    def _colon_without_name(self, split: SplitName, text: str) -> MarkerError | None:
        bare = split.whole.rstrip(":")
        if bare == split.whole or not self._known(bare):
            return None
        fixed = f"+{bare}={text[split.value_start :]}" if split.has_value else f"+{bare}"
        message = "found a colon with no argument name after it"
        start, end = len(bare) + 1, len(split.whole) + 1
        return _wrong_shape(start, end, message, f"write `{fixed}`", (start, end, ""))

    def _text_after_name(self, split: SplitName, text: str) -> MarkerError | None:
        word, blank, rest = split.whole.partition(" ")
        if not blank or not word or not self._known(word):
            return None
        found = rest.strip() or text[len(word) + 1 :].strip()
        message = f"expected the end of the marker after `+{word}`, found `{found}`"
        known = self._registry.get(word)
        takes = known is not None and known.value is not None
        help_ = f"write `+{word}={rest.strip()}`" if takes else "put the comment on a line of its own"
        fix = (len(word) + 1, len(text), f"={found}") if takes and found.isalnum() else None
        return _wrong_shape(len(word) + 2, len(text), message, help_, fix)

    def _argument_without_value(self, split: SplitName, text: str) -> MarkerError | None:
        marker, _, argument = split.whole.rpartition(":")
        known = self._registry.get(marker) if argument and not split.has_value else None
        if known is None or known.argument(argument) is None:
            return None
        message = f"expected `=` and a value after `{argument}`"
        return _wrong_shape(len(text), len(text) + 1, message, f"write `{text}=...`")

    def _known(self, name: str) -> bool:
        return self._registry.look_up(name, name.rpartition(":")[0] or name) is not None


def _wrong_shape(
    start: int, end: int, message: str, help_: str, fix: tuple[int, int, str] | None = None
) -> MarkerError:
    return MarkerError((start, end), message, help_, code=MARKER_SYNTAX, label="here", fix=fix)


def _in_namespace(word: str) -> bool:
    """Whether a name belongs to a family of markers, or almost does (``kubebulder:...``)."""
    first, colon, _ = word.lower().partition(":")
    if not colon:
        return False
    return f"{first}:" in _NAMESPACES or edit_distance(first, "kubebuilder", limit=3) <= 3


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

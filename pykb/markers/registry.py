"""The known markers of a run, by name, and their text for ``pykb explain``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from pykb.diagnostics.suggest import edit_distance, only_meaning
from pykb.markers.definition import Argument, Grammar, MarkerDefinition, MarkerTarget
from pykb.markers.parser import TAG_NAME, split_name

if TYPE_CHECKING:
    from pykb.markers.parser import ParsedArguments


_ITEMS = re.compile(r"(kubebuilder:validation:)((?:items:)+)(\w+)")


class MarkerRegistry:
    """Definitions by full name. Iterates over them in alphabetical order.

    Attributes:
        readings: The reader's cache of markers by their text. Entries never change.
    """

    def __init__(self, definitions: Iterable[MarkerDefinition] = ()) -> None:
        self._by_name: dict[str, MarkerDefinition] = {}
        self._by_items: dict[str, MarkerDefinition] = {}
        self.readings: dict[str, tuple[MarkerDefinition, ParsedArguments]] = {}
        for definition in definitions:
            self.define(definition)

    def define(self, definition: MarkerDefinition) -> None:
        """Add a definition.

        Raises:
            ValueError: A marker of this name is already defined.
        """
        if definition.name in self._by_name:
            raise ValueError(f"marker {definition.name} is defined twice")
        self._by_name[definition.name] = definition
        self.readings.clear()

    def __iter__(self) -> Iterator[MarkerDefinition]:
        return iter(sorted(self._by_name.values(), key=lambda d: d.name))

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> MarkerDefinition | None:
        """The marker of exactly this name; schema markers have ``items:`` variants at any depth."""
        if known := self._by_name.get(name):
            return known
        match = _ITEMS.fullmatch(name)
        if match is None:
            return None
        if name not in self._by_items:
            first = self._by_name.get(f"{match[1]}items:{match[3]}")
            if first is None:
                return None
            self._by_items[name] = first.at_items(match[2].count("items:"))
        return self._by_items[name]

    def look_up(self, whole: str, short: str) -> MarkerDefinition | None:
        """The definition for a split marker. Tries the whole name, then the name without its last segment.

        The short name is for markers with named arguments, where the last segment is the first argument.
        """
        if known := self.get(whole):
            return known
        if whole == short:
            return None
        return self.get(short)

    def resolve(self, text: str) -> tuple[MarkerDefinition | None, int]:
        """The definition that a marker's text names, and the offset after the name."""
        if text.startswith("+k8s:") and (match := TAG_NAME.match(text)):
            found = self.get(match[1])
            if found is not None and found.grammar is Grammar.DECLARATIVE:
                follows = text[match.end() : match.end() + 1]
                return (found, match.end()) if follows in {"", "=", "(", " ", "\t", "#"} else (None, 0)
        split = split_name(text)
        found = self.look_up(split.whole, split.short)
        if found is not None and found.grammar is Grammar.KUBEBUILDER:
            return found, len(found.name) + 1
        return None, 0

    def suggest(self, name: str, *, target: MarkerTarget | None = None) -> str | None:
        """The known name most similar to ``name``. Names that fit the target come first."""
        fitting = [d.name for d in self._by_name.values() if target is None or target in d.targets or d.anywhere]
        found = _nearest(name, fitting)
        if found is None and len(fitting) < len(self._by_name):
            return _nearest(name, self._by_name)
        return found

    def only_meaning(self, name: str) -> str | None:
        """The one known name that ``name`` can be a slip of, or ``None``."""
        return only_meaning(name, self._by_name)


def _nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate with the most similar last segment, then with the most other segments in common.

    The segments before the last one are often wrong as a whole (``kubebuilder:MinLength``). The last one usually has
    only wrong letters.
    """
    segments = name.casefold().split(":")
    limit = max(1, len(segments[-1]) // 3)
    distances: dict[str, int] = {}
    best: tuple[int, int, int, str] | None = None
    for candidate in candidates:
        theirs = candidate.casefold().split(":")
        last = theirs[-1]
        if last not in distances:
            distances[last] = edit_distance(segments[-1], last, limit=limit)
        distance = distances[last]
        bare = (len(segments) == 1) != (len(theirs) == 1)
        if distance > (0 if bare else limit):
            continue
        way = len(set(segments[:-1]) ^ set(theirs[:-1]))
        found = (distance, way, abs(len(segments) - len(theirs)), candidate)
        best = found if best is None else min(best, found)
    return best[3] if best else None


@cache
def builtin_registry() -> MarkerRegistry:
    """All built-in markers. The registry is shared: do not add definitions to it."""
    from pykb.markers.builtin import definitions

    return MarkerRegistry(definitions())


def remarks_of(definition: MarkerDefinition) -> str:
    """What else there is to say of where a marker counts."""
    remarks = []
    if definition.anywhere:
        remarks.append("anywhere in a file")
    if definition.repeatable:
        remarks.append("may be repeated")
    if definition.alias_of:
        remarks.append(f"another spelling of `+{definition.alias_of}`")
    if definition.go_only:
        remarks.append("no effect in Python")
    return "".join(f"; {r}" for r in remarks)


def meaning_of(argument: Argument) -> str:
    """What an argument says, and its values."""
    parts = [argument.summary] if argument.summary else []
    if argument.choices:
        parts.append(
            " or ".join(f"`{c}`" for c in argument.choices) + ("" if argument.folded else " (case counts)") + "."
        )
    if argument.minimum is not None and argument.maximum is not None:
        parts.append(f"From {argument.minimum} to {argument.maximum}.")
    elif argument.minimum is not None:
        parts.append(f"At least {argument.minimum}.")
    return " ".join(parts).replace("|", "\\|")


def targets_of(definition: MarkerDefinition) -> str:
    """The kinds of declaration that a marker may describe, in words."""
    words = {MarkerTarget.PACKAGE: "packages", MarkerTarget.TYPE: "types", MarkerTarget.FIELD: "fields"}
    return _joined(words[t] for t in MarkerTarget if t in definition.targets)


def _joined(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def explain_marker(definition: MarkerDefinition) -> str:
    """The output of ``pykb explain +<marker>``: summary, targets, arguments, an example."""
    lines = [f"+{definition.name}", "", definition.summary]
    lines += [f"On {targets_of(definition)}{remarks_of(definition)}.", "", f"    # {definition.example}"]
    if definition.arguments:
        lines.append("")
        names = [a.name or "(value)" for a in definition.arguments]
        width = max(len(n) for n in names)
        for name, argument in zip(names, definition.arguments, strict=True):
            optional = ", optional" if argument.optional else ""
            lines.append(f"  {name:<{width}}  {argument.type}{optional}. {meaning_of(argument)}".rstrip())
    if definition.grammar is Grammar.DECLARATIVE and not definition.go_only:
        lines += ["", "A comment may follow after ` #`."]
    return "\n".join(lines) + "\n"


def list_markers(registry: MarkerRegistry) -> str:
    """One line per marker, for ``pykb explain markers``."""
    shown = [d for d in registry if not d.items_depth]
    width = max(len(d.name) for d in shown) + 1
    return "".join(f"{'+' + d.name:<{width}}  {d.summary}\n" for d in shown)

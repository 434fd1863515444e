"""The markers that a run knows, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from pykb.diagnostics.suggest import closest, edit_distance
from pykb.markers.definition import MarkerDefinition, MarkerTarget

_ITEMS = re.compile(r"(kubebuilder:validation:)((?:items:)+)(\w+)")


class MarkerRegistry:
    """Definitions by full name. Iterates over them in alphabetical order."""

    def __init__(self, definitions: Iterable[MarkerDefinition] = ()) -> None:
        self._by_name: dict[str, MarkerDefinition] = {}
        self._by_items: dict[str, MarkerDefinition] = {}
        for definition in definitions:
            self.define(definition)

    def define(self, definition: MarkerDefinition) -> None:
        """Add a definition.

        Raises:
            ValueError: A marker of this name is defined already.
        """
        if definition.name in self._by_name:
            raise ValueError(f"marker {definition.name} is defined twice")
        self._by_name[definition.name] = definition

    def __iter__(self) -> Iterator[MarkerDefinition]:
        return iter(sorted(self._by_name.values(), key=lambda d: d.name))

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> MarkerDefinition | None:
        """The marker of exactly this name; ``items:`` variants of schema markers exist at any depth."""
        if found := self._by_name.get(name):
            return found
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
        """The definition for a marker cut at its ``=``: the whole name first, then without its last segment.

        The short form is right for markers with named arguments, whose first one is the last segment.
        """
        if found := self.get(whole):
            return found
        if whole == short:
            return None
        return self.get(short)

    def suggest(self, name: str, *, target: MarkerTarget | None = None) -> str | None:
        """The known name nearest to ``name``; those that fit the target come first."""
        candidates = [d.name for d in self._by_name.values() if target is None or target in d.targets or d.anywhere]
        found = _same_letters(name, candidates) or _same_ending(name, candidates) or closest(name, candidates)
        if found is None and target is not None:
            return self.suggest(name)
        return found


def _same_letters(name: str, candidates: list[str]) -> str | None:
    """A candidate that differs only in case."""
    folded = name.casefold()
    return next((c for c in sorted(candidates) if c.casefold() == folded), None)


def _same_ending(name: str, candidates: list[str]) -> str | None:
    """A candidate with the same last segment (or nearly), where the way there is wrong: ``kubebuilder:MinLength``."""
    last = name.rpartition(":")[2].casefold()
    if len(last) < 4:
        return None
    scored = [
        (edit_distance(last, c.rpartition(":")[2].casefold(), limit=1), edit_distance(name, c, limit=40), c)
        for c in candidates
        if ":items:" not in c or ":items:" in name
    ]
    near = sorted(s for s in scored if s[0] <= 1)
    return near[0][2] if near else None


@cache
def builtin_registry() -> MarkerRegistry:
    """All markers of pykb. Shared: do not define into it."""
    from pykb.markers.builtin import definitions

    return MarkerRegistry(definitions())

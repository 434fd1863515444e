"""Diagnostics: the collection that a run adds its findings to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pykb.diagnostics.model import Diagnostic, Severity


class Diagnostics:
    """Gathers findings; iterates over them sorted by place, each once."""

    __slots__ = ("_found",)

    def __init__(self, found: Iterable[Diagnostic] = ()) -> None:
        self._found: dict[Diagnostic, None] = dict.fromkeys(found)

    def add(self, diagnostic: Diagnostic) -> None:
        """Add one finding; the same finding twice counts once."""
        self._found[diagnostic] = None

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add several findings."""
        self._found.update(dict.fromkeys(diagnostics))

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(sorted(self._found, key=lambda d: d.sort_key))

    def __len__(self) -> int:
        return len(self._found)

    @property
    def has_errors(self) -> bool:
        """Whether anything was found that must stop the run."""
        return any(d.severity is Severity.ERROR for d in self._found)

"""The roots of a replica that are gone, and may have left children for it to clean up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pykb.meta.gvk import NamespacedName

_REMEMBERED = 1000


class FormerRoots:
    """The deleted roots of a kind, by name. Their last reconciles may not have ended."""

    def __init__(self) -> None:
        self._ranges: dict[NamespacedName, dict[str, int]] = {}
        self.awaited: list[Callable[[NamespacedName], bool]] = []
        """Say whether a controller still has a request for a name."""

    def __contains__(self, key: NamespacedName) -> bool:
        return key in self._ranges

    def of(self, key: NamespacedName) -> Mapping[str, int]:
        """The ranges of the former roots of a name, by uid."""
        return self._ranges.get(key, {})

    def note(self, key: NamespacedName, uid: str, number: int) -> None:
        """Remember a root of a range that is gone. Call it before the handlers ask for its reconcile."""
        # Until they are reconciled, also those before it: the next one can be in a range of another replica.
        before = self._ranges.get(key, {}) if self._is_awaited(key) else {}
        self._ranges[key] = {**before, uid: number}
        if len(self._ranges) > _REMEMBERED:
            self._ranges = {
                name: found for name, found in self._ranges.items() if name == key or self._is_awaited(name)
            }

    def _is_awaited(self, key: NamespacedName) -> bool:
        return any(has(key) for has in self.awaited)

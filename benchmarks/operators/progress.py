"""Reports when the work is done."""

from __future__ import annotations


class Progress:
    """Which objects are handled, by name as in the peer: none is used for two kinds. Shared by the reconcilers."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._seen: set[str] = set()
        self.reconciles = 0
        self.conflicts = 0

    def handled(self, name: str) -> None:
        if name not in self._seen:
            self._seen.add(name)
            if len(self._seen) == self._count:
                print("done", flush=True)

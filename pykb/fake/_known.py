"""What the server made of earlier writes, so that the same write is not worked out again.

Servers that are copies of each other share it. The histories of the explorer do the same writes again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from pykb.fake._resources import Resource

_MOST = 2048


class Known:
    """The last writes, with what was stored."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], tuple[Resource, bytes]] = {}

    def made(
        self,
        resource: Resource,
        old: Mapping[str, Any] | None,
        new: dict[str, Any],
        others: tuple[Any, ...],
        work: Callable[[], dict[str, Any]],
    ) -> dict[str, Any]:
        """What ``work`` makes of an object, from memory if it did the same before.

        Args:
            resource: The kind.
            old: The stored object.
            new: The object to store. ``work`` may change it.
            others: What else the result depends on.
            work: Its result has the version and the uid of ``new``, and does not depend on them otherwise.
        """
        key = (id(resource), others, b"" if old is None else _bare(old), _bare(new))
        own = {name: new["metadata"][name] for name in _APART if name in new["metadata"]}
        found = self._made.pop(key, None)
        if found is None:
            found = (resource, _bare(work()))  # with the resource: the number of a lost one may be used again
            if len(self._made) >= _MOST:
                del self._made[next(iter(self._made))]
        self._made[key] = found
        made: dict[str, Any] = orjson.loads(found[1])
        made["metadata"].update(own)
        return made


_APART = ("resourceVersion", "uid")


def _bare(obj: Mapping[str, Any]) -> bytes:
    metadata = obj["metadata"]
    return orjson.dumps({**obj, "metadata": {**metadata, **{name: "" for name in _APART if name in metadata}}})

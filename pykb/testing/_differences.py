"""Finds the differences between two objects of one type. A missing field, ``None`` and the default are equal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pykb.api.struct import Struct
from pykb.api.wire import encode, wire_name
from pykb.testing._paths import Path, spelt

LONGEST = 120


@dataclass(frozen=True, slots=True)
class Difference:
    """One different value."""

    path: Path
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{spelt(self.path)}: {_shown(self.before)} became {_shown(self.after)}"


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Difference]:
    """Compare as Python does, and return the smallest parts that differ."""
    if isinstance(before, Struct) or isinstance(after, Struct):
        yield from _of_structs(before, after, path)
    elif isinstance(before, Mapping) or isinstance(after, Mapping):
        yield from _of_maps(before, after, path)
    elif _is_list(before) and _is_list(after) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, (*path, index))
    elif isinstance(before, bool) is not isinstance(after, bool) or before != after:
        yield Difference(path, before, after)


def _of_structs(before: Any, after: Any, path: Path) -> Iterator[Difference]:
    kinds = {type(side) for side in (before, after) if side is not None}
    if len(kinds) > 1:
        yield Difference(path, before, after)
        return
    sides = [_fields(before), _fields(after)]
    if before is None or after is None:
        # Its content is listed, so that parts of it can be ignored. An empty one counts, too.
        sides = [{name: v for name, v in side.items() if name in encode(before or after)} for side in sides]
        if not any(sides):
            yield Difference(path, before, after)
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        yield from differences(sides[0].get(name), sides[1].get(name), (*path, name))


def _fields(struct: Any) -> dict[str, Any]:
    if struct is None:
        return {}
    known = {wire_name(name, field): getattr(struct, name) for name, field in type(struct).__pydantic_fields__.items()}
    return {**known, **(struct.__pydantic_extra__ or {})}


def _of_maps(before: Any, after: Any, path: Path) -> Iterator[Difference]:
    if not all(side is None or isinstance(side, Mapping) for side in (before, after)):
        yield Difference(path, before, after)
        return
    one, other = before or {}, after or {}
    if not one and not other and (before is None) is not (after is None):
        yield Difference(path, before, after)
    for key in dict.fromkeys([*one, *other]):
        if one.get(key) is None and other.get(key) is None and (key in one) is not (key in other):
            yield Difference(path, before, after)  # a `null`, which in JSON differs from a missing field
        yield from differences(one.get(key), other.get(key), (*path, encode(key)))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_within(path: Path, places: Iterable[Path]) -> bool:
    """Whether a path is one of these paths or below one of them."""
    return any(
        len(place) <= len(path)
        and all(
            wanted in ("*", str(part)) or (wanted == "" and isinstance(part, int))
            for wanted, part in zip(place, path, strict=False)
        )
        for place in places
    )


def _shown(value: Any) -> str:
    if value is None:
        return "absent"
    text = json.dumps(encode(value), ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."

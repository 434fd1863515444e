"""Makes a JSON patch of a defaulter's changes, for the object that the API server sent.

The object that a defaulter gets differs from the object that was sent: numbers may have another
form, nulls may be missing, sets may be sorted. Therefore, only the difference between before and
after is applied to the original.

Source: RFC 6902 (JSON Patch), RFC 6901 (JSON Pointer).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from pykb.meta.json_diff import MISSING, Change, Parts, Path, changes, fields_of

Patch = tuple[Mapping[str, Any], ...]


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal. Unlike in Python, ``1``, ``1.0`` and ``true`` are three different values.

    Raises:
        TypeError: A value has no JSON form.
    """
    if left is right:
        return True
    if type(left) is not type(right) or left != right:
        return False
    # Compared by their texts: a walk in Python takes more time than the rest of the response.
    return not isinstance(left, (dict, list)) or _text(left) == _text(right)


def carried(original: Any, before: Any, after: Any) -> Any:
    """Apply the changes between two versions to the original.

    Args:
        original: The value as sent. It is not changed.
        before: The original, as the program reads it.
        after: The value after the program changed it.
    """
    if same(before, after):
        return original
    if isinstance(original, dict) and isinstance(before, dict) and isinstance(after, dict):
        return _carried_object(original, before, after)
    if isinstance(original, list) and isinstance(before, list) and isinstance(after, list):
        return _carried_list(original, before, after)
    return after


def _carried_object(original: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in original.items() if key in after or key not in before}
    for key, value in after.items():
        if key not in before:
            made[key] = value
        elif key in original:
            made[key] = carried(original[key], before[key], value)
        elif not same(before[key], value):
            made[key] = value
    return made


def _carried_list(original: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    if len(original) != len(before) or _is_reordered(original, before):
        return _carried_set(original, before, after)
    places = _places(before, after)
    moved = {place for place in places if place is not None}
    made: list[Any] = []
    for index, (place, value) in enumerate(zip(places, after, strict=True)):
        if place is not None:
            made.append(original[place])
        elif index < len(before) and index not in moved:  # neither moved nor kept: it was changed in place
            made.append(carried(original[index], before[index], value))
        else:
            made.append(value)
    return made


def _places(before: list[Any], after: list[Any]) -> list[int | None]:
    """The previous position of each unchanged item. An item at the same position keeps it."""
    known, wanted = list(map(_text, before)), list(map(_text, after))
    stayed = [index for index, (old, new) in enumerate(zip(known, wanted, strict=False)) if old == new]
    places: list[int | None] = [None] * len(after)
    for index in stayed:
        places[index] = index
    left: dict[bytes, list[int]] = {}
    for index in sorted(set(range(len(before))) - set(stayed), reverse=True):
        left.setdefault(known[index], []).append(index)
    for index, text in enumerate(wanted):
        if places[index] is None and left.get(text):
            places[index] = left[text].pop()
    return places


def _text(value: Any) -> bytes:
    """A text that is equal only for equal values."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _is_reordered(original: list[Any], before: list[Any]) -> bool:
    """Whether the program reads a set, whose items it sorts."""
    if any(isinstance(item, (dict, list)) for item in (*original, *before)) or same(original, before):
        return False
    return sorted(map(repr, original)) == sorted(map(repr, before))


def _carried_set(original: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    if any(isinstance(item, (dict, list)) for item in original) or set(map(repr, original)) != set(map(repr, before)):
        return after
    kept = set(map(repr, after))
    known = set(map(repr, before))
    return [*(x for x in original if repr(x) in kept), *(x for x in after if repr(x) not in known)]


def operations(original: Any, target: Any) -> Patch:
    """The operations that make the original the target, in order."""
    return tuple(map(_operation, changes(original, target, _parts)))


def _operation(change: Change) -> Mapping[str, Any]:
    path = "".join([f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in change.path])
    if change.after is MISSING:
        return {"op": "remove", "path": path}
    return {"op": "add" if change.before is MISSING else "replace", "path": path, "value": change.after}


def _parts(_path: Path, original: Any, target: Any) -> Parts | None:
    """Compare the items of lists between their equal beginnings and ends. Further ones are removed from the back."""
    if isinstance(original, dict) and isinstance(target, dict):
        return fields_of(original, target, same)
    if not (isinstance(original, list) and isinstance(target, list)):
        return None
    most = min(len(original), len(target))
    start = next((i for i in range(most) if not same(original[i], target[i])), most)
    most -= start
    tail = next((i for i in range(most) if not same(original[-1 - i], target[-1 - i])), most)
    old, new = len(original) - tail, len(target) - tail
    common = min(old, new)
    return [
        *((i, original[i], target[i]) for i in range(start, common) if not same(original[i], target[i])),
        *((i, original[i], MISSING) for i in reversed(range(common, old))),
        *((i, MISSING, target[i]) for i in range(common, new)),
    ]

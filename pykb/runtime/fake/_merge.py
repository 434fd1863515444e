"""Three ways of changing an object: apply, merge patch, JSON patch."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pykb.runtime.fake._fields import FieldSet, Path, item_key
from pykb.runtime.objects.structure import Shape, Structure


def merge_applied(live: Any, applied: Any, structure: Structure) -> Any:
    """Merge an applied configuration into the live object, part by part."""
    if isinstance(live, Mapping) and isinstance(applied, Mapping) and structure.shape in _GRANULAR:
        merged = dict(live)
        for name, value in applied.items():
            merged[name] = merge_applied(live.get(name), value, structure.child(name))
        return merged
    if isinstance(live, list) and isinstance(applied, list) and structure.shape in (Shape.LIST_MAP, Shape.LIST_SET):
        element = structure.element
        items = {item_key(item, structure): item for item in live}
        before, wanted = list(items), [item_key(item, structure) for item in applied]
        for key, item in zip(wanted, applied, strict=True):
            items[key] = merge_applied(items[key], item, element) if key in items and element else item
        return [items[key] for key in _merged_order(before, wanted)]
    return copy.deepcopy(applied)


def _merged_order(live: Sequence[str], applied: Sequence[str]) -> list[str]:
    """The keys of a merged list. Common keys have the applied order, others stay between their neighbors."""
    left, right = list(live), list(dict.fromkeys(applied))
    wanted, shared = set(right), [key for key in right if key in live]
    result: list[str] = []
    while left or right:
        if left and left[0] not in wanted:
            result.append(left.pop(0))
        elif left and left[0] not in shared[:1]:
            left.pop(0)  # the applied list determines its position
        else:
            key = right.pop(0)
            result.append(key)
            if key in shared[:1]:
                shared.pop(0)
    return result


_GRANULAR = (Shape.STRUCT, Shape.MAP, Shape.UNKNOWN)


def remove_fields(value: Any, structure: Structure, dropped: FieldSet, kept: FieldSet, path: Path = ()) -> Any:
    """Remove fields from an object, unless they or fields below them are kept."""
    if isinstance(value, Mapping) and structure.shape in _GRANULAR:
        result = {}
        for name, inner in value.items():
            here = (*path, f"f:{name}")
            rest = remove_fields(inner, structure.child(name), dropped, kept, here)
            if not _goes(here, rest, inner, dropped, kept):
                result[name] = rest
        return result
    if isinstance(value, list) and structure.shape in (Shape.LIST_MAP, Shape.LIST_SET):
        items = []
        for item in value:
            here = (*path, item_key(item, structure))
            rest = remove_fields(item, structure.element, dropped, kept, here) if structure.element else item
            if not _goes(here, rest, item, dropped, kept, item=True):
                items.append(rest)
        return items
    return value


def _goes(here: Path, rest: Any, before: Any, dropped: FieldSet, kept: FieldSet, *, item: bool = False) -> bool:
    below_kept = any(path[: len(here)] == here for path in kept)
    if here in dropped:
        return not below_kept
    # A map or list without remaining parts is removed too, unless a manager owns it as empty.
    emptied = rest in ({}, []) and before not in ({}, [])
    return emptied and not below_kept and not item


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a merge patch (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


class PatchRefused(ValueError):  # noqa: N818
    """A test of a JSON patch failed, or a path does not exist."""


def json_patch(target: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """RFC 6902.

    Raises:
        PatchRefused: A test fails, or a path does not exist.
    """
    document = copy.deepcopy(target)
    for operation in operations:
        path = _pointer(operation["path"])
        match operation["op"]:
            case "add":
                document = _add(document, path, copy.deepcopy(operation["value"]))
            case "remove":
                document, _ = _remove(document, path)
            case "replace":
                document = _replace(document, path, copy.deepcopy(operation["value"]))
            case "move":
                document, value = _remove(document, _pointer(operation["from"]))
                document = _add(document, path, value)
            case "copy":
                document = _add(document, path, copy.deepcopy(_resolve(document, _pointer(operation["from"]))))
            case "test":
                if _resolve(document, path) != operation.get("value"):
                    raise PatchRefused(f"testing path {operation['path']} value failed")
            case other:
                raise PatchRefused(f"unknown operation {other}")
    return document


def _pointer(text: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]


def _resolve(document: Any, path: Sequence[str]) -> Any:
    for step in path:
        try:
            document = document[int(step)] if isinstance(document, list) else document[step]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise PatchRefused(f"path {'/'.join(path)} does not exist") from error
    return document


def _add(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    parent = _resolve(document, path[:-1])
    if isinstance(parent, list):
        index = len(parent) if path[-1] == "-" else int(path[-1])
        if index > len(parent):
            raise PatchRefused(f"index {index} is out of bounds")
        parent.insert(index, value)
    elif isinstance(parent, dict):
        parent[path[-1]] = value
    else:
        raise PatchRefused(f"path {'/'.join(path)} does not exist")
    return document


def _replace(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    parent = _resolve(document, path[:-1])
    if isinstance(parent, list):
        _resolve(parent, path[-1:])
        parent[int(path[-1])] = value
        return document
    # RFC 6902 requires the entry to exist. The API server does not.
    return _add(document, path, value)


def _remove(document: Any, path: Sequence[str]) -> tuple[Any, Any]:
    value = _resolve(document, path)
    if not path:
        return None, value
    parent = _resolve(document, path[:-1])
    if isinstance(parent, list):
        parent.pop(int(path[-1]))
    else:
        del parent[path[-1]]
    return document, value

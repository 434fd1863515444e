"""Changes an object by a merge patch, a JSON patch or a strategic merge patch.

Source of the last, a merge by the keys of lists with directives:
https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pykb.client.json_text import is_deeper
from pykb.client.structure import Structure
from pykb.fake._http import LEVELS, refuse

_DELETE_ITEMS = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_RETAIN = "$retainKeys"


def copied(value: Any) -> Any:
    """A copy of a JSON value. `copy.deepcopy` does the same for all values, and takes longer."""
    if type(value) is dict:
        return {name: copied(each) for name, each in value.items()}
    return [copied(each) for each in value] if type(value) is list else value


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a merge patch (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return copied(patch)
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
        PatchRefused: A test fails, a path does not exist, or the result is nested too deeply.
    """
    with contextlib.suppress(RecursionError):
        document = _patched(copied(target), operations)
        if not is_deeper(document, LEVELS):
            return document
    raise PatchRefused(f"the result exceeded max depth of {LEVELS}")


def _patched(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    root = {"": document}  # a pointer begins with an empty step: "/a" leads to root[""]["a"]
    for operation in operations:
        path = _pointer(operation["path"])
        match operation["op"]:
            case "add":
                _add(root, path, copied(operation["value"]))
            case "remove":
                _remove(root, path)
            case "replace":
                _replace(root, path, copied(operation["value"]))
            case "move":
                _add(root, path, _remove(root, _pointer(operation["from"])))
            case "copy":
                _add(root, path, copied(_resolve(root, _pointer(operation["from"]))))
            case "test":
                if _resolve(root, path) != operation.get("value"):
                    raise PatchRefused(f"testing path {operation['path']} value failed")
            case other:
                raise PatchRefused(f"unknown operation {other}")
    return root.get("")


def _pointer(text: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")]


def _resolve(value: Any, path: Sequence[str]) -> Any:
    for step in path:
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise PatchRefused(f"path {'/'.join(path)} does not exist") from error
    return value


def _add(root: Any, path: Sequence[str], value: Any) -> None:
    parent = _resolve(root, path[:-1])
    if isinstance(parent, list):
        index = len(parent) if path[-1] == "-" else int(path[-1])
        if index > len(parent):
            raise PatchRefused(f"index {index} is out of bounds")
        parent.insert(index, value)
    elif isinstance(parent, dict):
        parent[path[-1]] = value
    else:
        raise PatchRefused(f"path {'/'.join(path)} does not exist")


def _replace(root: Any, path: Sequence[str], value: Any) -> None:
    parent = _resolve(root, path[:-1])
    if isinstance(parent, list):
        _resolve(parent, path[-1:])
        parent[int(path[-1])] = value
    else:  # RFC 6902 requires the entry to exist. The API server does not.
        _add(root, path, value)


def _remove(root: Any, path: Sequence[str]) -> Any:
    value, parent = _resolve(root, path), _resolve(root, path[:-1])
    del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
    return value


def strategic_merge(target: Any, patch: Any, structure: Structure) -> Any:
    """Apply a strategic merge patch to a value.

    Raises:
        ApiError: A directive is unknown, or an item of a list lacks its merge key.
    """
    if not isinstance(patch, Mapping):
        return copied(patch)
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    if directive == "replace" or not isinstance(target, Mapping):
        return {name: _fresh(value, structure.child(name)) for name, value in patch.items() if name[:1] != "$"}
    if directive is not None:
        raise _failure(f"unknown patch type: {directive} in map: {_shown(patch)}")
    return _merged_fields(target, patch, structure)


def _merged_fields(target: Mapping[str, Any], patch: Mapping[str, Any], structure: Structure) -> dict[str, Any]:
    result = {name: value for name, value in target.items() if name in patch.get(_RETAIN, target)}
    for name, value in patch.items():
        if name.startswith(_DELETE_ITEMS):
            listed = name.removeprefix(_DELETE_ITEMS)
            result[listed] = [item for item in result.get(listed) or () if item not in value]
        elif value is None:
            result.pop(name, None)
        elif not name.startswith("$"):
            result[name] = _merge(result.get(name), value, structure.child(name), patch.get(_ORDER + name))
    for listed, order in _orders_alone(patch):
        if result.get(listed):
            result[listed] = _merge(result[listed], [], structure.child(listed), order)
    return result


def _orders_alone(patch: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The lists that a patch orders without changing their items."""
    for name, order in patch.items():
        listed = name.removeprefix(_ORDER)
        if listed != name and listed not in patch:
            yield listed, order


def _fresh(value: Any, structure: Structure) -> Any:
    """A value for a new field, without its directives, which have no effect there."""
    if isinstance(value, Mapping):
        return strategic_merge({}, value, structure)
    return _merge([], value, structure, None) if isinstance(value, list) else value


def _merge(target: Any, patch: Any, structure: Structure, order: list[Any] | None) -> Any:
    if not isinstance(patch, list) or structure.patch_key is None:
        return strategic_merge(target, patch, structure)
    key, current = structure.patch_key, list(target or ())
    if not key:
        return _ordered(current, patch, order, lambda item: item)
    if any(isinstance(item, Mapping) and item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if item.get("$patch") != "replace"]
    kept, merged = _merge_items(current, patch, key, structure.element or structure)
    return _ordered(kept, merged, order, lambda item: item.get(key) if isinstance(item, Mapping) else item)


def _merge_items(
    current: list[Any], patch: list[Any], key: str, element: Structure
) -> tuple[list[Any], list[dict[str, Any]]]:
    """The items that a patch does not delete, and those that it adds or changes."""
    kept, merged = current, []
    for item in patch:
        if key not in item and current:
            raise _failure(f"map: {_shown(item)} does not contain declared merge key: {key}")
        found = next((other for other in kept if key in item and other.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            kept = [other for other in kept if other is not found]
        else:
            merged.append(strategic_merge({} if found is None else found, item, element))
    return kept, merged


def _ordered(current: list[Any], merged: list[Any], order: list[Any] | None, key_of: Callable[[Any], Any]) -> list[Any]:
    """The patch's items in its order (or its directive's), and the others between them in their previous order."""

    def keys_of(items: Iterable[Any]) -> list[str]:
        return [repr(key_of(item)) for item in items]

    items = dict(zip(keys_of([*current, *merged]), [*current, *merged], strict=True))
    before = keys_of(current)
    wanted = [key for key in keys_of(merged if order is None else order) if key in items]
    wanted += [key for key in keys_of(merged) if key not in wanted]
    others = [key for key in before if key not in wanted]
    result: list[str] = []
    while wanted and others:
        is_other_first = wanted[0] in before and before.index(others[0]) < before.index(wanted[0])
        result.append((others if is_other_first else wanted).pop(0))
    return [items[key] for key in [*result, *wanted, *others]]


def _shown(value: Mapping[str, Any]) -> str:
    return f"map[{' '.join(f'{name}:{value[name]}' for name in sorted(value))}]"


def _failure(message: str) -> Exception:
    return refuse(500, "InternalError", message)

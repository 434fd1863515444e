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
from pykb.meta.json_patch import PatchRefused, copied, patched

_DELETE_ITEMS = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_RETAIN = "$retainKeys"


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


def json_patch(target: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """RFC 6902.

    Raises:
        PatchRefused: A test fails, a path does not exist, or the result is nested too deeply.
    """
    with contextlib.suppress(RecursionError):
        document = patched(target, operations)
        if not is_deeper(document, LEVELS):
            return document
    raise PatchRefused(f"the result exceeded max depth of {LEVELS}")


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

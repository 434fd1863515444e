"""The strategic merge patch: a merge by the keys of lists, with directives.

Source: https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pykb.runtime.fake._refusal import refuse
from pykb.runtime.objects.structure import Structure

_DELETE_ITEMS = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_RETAIN = "$retainKeys"


def strategic_merge(target: Any, patch: Any, structure: Structure) -> Any:
    """Apply a strategic merge patch to a value.

    Raises:
        ApiError: A directive is unknown, or an item of a list lacks its merge key.
    """
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    if directive == "replace" or not isinstance(target, Mapping):
        return {name: _fresh(value, structure.child(name)) for name, value in patch.items() if name[:1] != "$"}
    if directive is not None:
        raise _failure(f"unknown patch type: {directive} in map: {_shown(patch)}")
    result = dict(target)
    if _RETAIN in patch:
        result = {name: value for name, value in result.items() if name in patch[_RETAIN]}
    for name, value in patch.items():
        if name.startswith(_DELETE_ITEMS):
            listed = name.removeprefix(_DELETE_ITEMS)
            result[listed] = [item for item in result.get(listed) or () if item not in value]
        elif name[:1] == "$":
            continue
        elif value is None:
            result.pop(name, None)
        else:
            order = patch.get(_ORDER + name)
            result[name] = _merge(result.get(name), value, structure.child(name), order)
    for name, order in patch.items():
        listed = name.removeprefix(_ORDER)
        if listed != name and listed not in patch and result.get(listed):
            result[listed] = _merge(result[listed], [], structure.child(listed), order)
    return result


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
    merged: list[Any] = []
    for item in patch:
        if key not in item and target:
            raise _failure(f"map: {_shown(item)} does not contain declared merge key: {key}")
        found = next((other for other in current if key in item and other.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            current = [other for other in current if other is not found]
            continue
        merged.append(strategic_merge(found if found is not None else {}, item, structure.element or structure))
    return _ordered(current, merged, order, lambda item: item.get(key) if isinstance(item, Mapping) else item)


def _ordered(current: list[Any], merged: list[Any], order: list[Any] | None, key_of: Any) -> list[Any]:
    """The patch's items in its order (or its directive's), and the others between them in their previous order."""
    items = {_text(key_of(item)): item for item in [*current, *merged]}
    before = [_text(key_of(item)) for item in current]
    wanted = [_text(key_of(item)) for item in (merged if order is None else order)]
    wanted = [key for key in wanted if key in items]
    wanted += [_text(key_of(item)) for item in merged if _text(key_of(item)) not in wanted]
    others = [key for key in before if key not in wanted]
    result: list[str] = []
    while wanted or others:
        comes_first = (
            bool(others) and bool(wanted) and wanted[0] in before and before.index(others[0]) < before.index(wanted[0])
        )
        result.append(others.pop(0) if comes_first or not wanted else wanted.pop(0))
    return [items[key] for key in result]


def _text(key: Any) -> str:
    return repr(key)


def _shown(value: Mapping[str, Any]) -> str:
    return f"map[{' '.join(f'{name}:{value[name]}' for name in sorted(value))}]"


def _failure(message: str) -> Exception:
    return refuse(500, "InternalError", message)

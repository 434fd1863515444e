"""Tracks the owners of fields, after an update and after an apply.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (KEP-555)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from pykb.client.errors import ApiError
from pykb.client.structure import Shape, Structure
from pykb.fake._http import cause, refuse
from pykb.meta import json_diff
from pykb.meta.json_patch import copied


class Owner(NamedTuple):
    """Who owns fields: an entry of ``managedFields``."""

    manager: str
    operation: str
    api_version: str
    subresource: str


Path = tuple[str, ...]
"""The elements of a path in ``managedFields``: ``f:name``, ``k:{keys}``, ``v:value``."""

FieldSet = frozenset[Path]

_MAPS = (Shape.STRUCT, Shape.MAP, Shape.UNKNOWN)
_COLLECTIONS = (Shape.MAP, Shape.UNKNOWN, Shape.LIST_MAP, Shape.LIST_SET)
_OWNER = ("manager", "operation", "apiVersion", "subresource")
_EMPTY: Any = object()
"""The value of a field of which only the presence counts."""

# Fields that the server manages have no owner.
_KEPT_METADATA = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
)
_SERVERS = {("f:apiVersion",), ("f:kind",), *(("f:metadata", f"f:{name}") for name in _KEPT_METADATA)}


def record_update(
    old: Mapping[str, Any] | None, new: dict[str, Any], owner: Owner, structure: Structure, now: str
) -> None:
    """Set the owners of ``new`` after ``owner`` has changed ``old`` to it. ``new`` starts with the previous owners."""
    owners = _owners(new)
    before, after = unlike_fields(old or {}, new, structure)
    changed = frozenset(path for path, value in after.items() if path not in before or before[path] != value)
    gone = frozenset(before) - frozenset(after)
    mine = (owners.get(owner, frozenset()) | changed) - gone
    owners = {other: fields - gone - changed for other, fields in owners.items()} | {owner: mine}
    _store(new, owners, owner if changed or gone else None, now)


def settle(old: Mapping[str, Any], new: dict[str, Any], *, subresource: bool) -> None:
    """Use the owners that a writer sends, or else the previous ones. A single empty entry removes all owners.

    Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields
    """
    known = old["metadata"].get("managedFields") or []
    given = known if subresource else new["metadata"].get("managedFields") or known
    new["metadata"]["managedFields"] = [] if given == [{}] else given


def apply(
    live: Mapping[str, Any] | None,
    config: Mapping[str, Any],
    owner: Owner,
    structure: Structure,
    now: str,
    *,
    force: bool,
    version: str,
) -> dict[str, Any]:
    """Apply a configuration to the live object.

    Args:
        live: The object, if there is one.
        config: The configuration.
        owner: Who applies it.
        structure: The structure of the objects.
        now: The present time.
        force: Whether to take fields from other managers.
        version: The API version of the request, if it is not that of the object. Messages name it.

    Raises:
        ApiError: Other managers own some of the fields with other values.
    """
    owners = _owners(live)
    mine = owners.get(owner, frozenset())
    others = {other: fields for other, fields in owners.items() if other != owner}
    wanted = frozenset(path for path in applied_fields(config, structure) if not _is_servers(path))
    base = dict(live or {})
    merged: dict[str, Any] = merge_applied(base, config, structure)
    changed = _changed(base, merged, structure)
    conflicts = [(other, path) for other, fields in sorted(others.items()) for path in fields & changed & wanted]
    if conflicts and not force:
        raise _conflict_error(conflicts, version)
    dropped = mine - wanted
    if dropped:
        merged = remove_fields(merged, structure, dropped, wanted.union(*others.values()))
    owners |= {other: fields - changed for other, fields in others.items()} | {owner: wanted}
    unchanged = mine == wanted and not changed and not dropped
    _store(merged, owners, None if unchanged else owner, now)
    return merged


def _changed(base: Mapping[str, Any], merged: Mapping[str, Any], structure: Structure) -> FieldSet:
    """The fields that both objects have, with different values."""
    before, after = unlike_fields(base, merged, structure)
    return frozenset(path for path, value in after.items() if path in before and before[path] != value)


def _conflict_error(conflicts: list[tuple[Owner, Path]], version: str) -> ApiError:
    """Make the error for conflicts of an apply, with the server's message."""
    causes: list[dict[str, str]] = []
    paths: dict[str, list[str]] = {}
    for owner, path in sorted(conflicts, key=lambda each: (each[0], len(each[1]), each[1])):
        who = f'"{owner.manager}"' + (f' with subresource "{owner.subresource}"' if owner.subresource else "")
        who += f" using {version or owner.api_version}" if owner.operation == "Update" else ""
        causes.append(cause(display(path), "FieldManagerConflict", f"conflict with {who}"))
        paths.setdefault(who, []).append(display(path))
    if len(conflicts) == 1:
        text = f"conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        listed = (f"conflicts with {who}:" + "".join(f"\n- {path}" for path in paths[who]) for who in sorted(paths))
        text = "conflicts: " + "\n".join(listed)
    return refuse(409, "Conflict", f"Apply failed with {len(conflicts)} {text}", {"causes": causes})


def _managed(obj: Mapping[str, Any] | None) -> dict[Owner, Mapping[str, Any]]:
    entries = ((obj or {}).get("metadata") or {}).get("managedFields") or ()
    return {Owner(*(entry.get(name, "") for name in _OWNER)): entry for entry in entries}


def _owners(obj: Mapping[str, Any] | None) -> dict[Owner, FieldSet]:
    return {owner: from_fields_v1(entry.get("fieldsV1") or {}) for owner, entry in _managed(obj).items()}


def _is_servers(path: Path) -> bool:
    return path[:1] in _SERVERS or path[:2] in _SERVERS


def _store(obj: dict[str, Any], owners: Mapping[Owner, FieldSet], touched: Owner | None, now: str) -> None:
    """Set the owners of an object. Those that are not touched keep their time."""
    known, entries = _managed(obj), []
    for owner, fields in owners.items():
        if not fields:
            continue
        entry = {name: value for name, value in zip(_OWNER, owner, strict=True) if value or name != "subresource"}
        if owner.subresource != "scale":
            entry["time"] = now if owner == touched else known.get(owner, {}).get("time", now)
        entries.append({**entry, "fieldsType": "FieldsV1", "fieldsV1": to_fields_v1(fields)})
    entries.sort(key=lambda entry: (entry["operation"], entry.get("time", ""), entry["manager"], entry["apiVersion"]))
    obj["metadata"] = {**(obj.get("metadata") or {}), "managedFields": entries}
    if not entries:
        del obj["metadata"]["managedFields"]


def merge_applied(live: Any, applied: Any, structure: Structure) -> Any:
    """Merge an applied configuration into the live object, part by part."""
    if isinstance(live, Mapping) and isinstance(applied, Mapping) and structure.shape in _MAPS:
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
    return copied(applied)


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


def remove_fields(value: Any, structure: Structure, dropped: FieldSet, kept: FieldSet, path: Path = ()) -> Any:
    """Remove fields from an object, unless they or fields below them are kept."""
    if isinstance(value, Mapping) and structure.shape in _MAPS:
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


def item_key(item: Any, structure: Structure) -> str:
    """The path element of an item of a list with keys."""
    if structure.shape is Shape.LIST_SET or not isinstance(item, Mapping):
        return "v:" + orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()
    element = structure.element
    keys = {}
    for name in sorted(structure.keys):
        value = item.get(name)
        if value is None and element is not None:
            value = element.child(name).default
        if value is not None:
            keys[name] = value
    return "k:" + orjson.dumps(keys).decode()


def applied_fields(value: Any, structure: Structure) -> FieldSet:
    """The fields of an applied configuration, which its manager will own."""
    found: set[Path] = set()
    _collect(value, structure, (), found)
    return frozenset(found)


def unlike_fields(before: Any, after: Any, structure: Structure) -> tuple[dict[Path, Any], dict[Path, Any]]:
    """The fields of two objects with their values, without the parts that are equal, and without the server's own.

    A map or an item of a list only counts as present.
    """
    structures: dict[json_diff.Path, Structure] = {(): structure}

    def parts(path: json_diff.Path, one: Any, other: Any) -> json_diff.Parts | None:
        if path:
            structures[path] = structures[path[:-1]].child(str(path[-1]))
        is_granular = one and other and type(one) is type(other) is dict and structures[path].shape in _MAPS
        return json_diff.fields_of(one, other) if is_granular else None

    old: dict[Path, Any] = {}
    new: dict[Path, Any] = {}
    for path, *values in json_diff.changes(before, after, parts):
        for value, found in zip(values, (old, new), strict=True):
            if not path:
                _flatten(value, structure, (), found)
            elif value is not json_diff.MISSING:
                here = tuple(f"f:{name}" for name in path[:-1])
                _flatten_parts(_parts({path[-1]: value}, structures[path[:-1]]), here, found)
    before, after = ({path: value for path, value in each.items() if not _is_servers(path)} for each in (old, new))
    return before, after


def _collect(value: Any, structure: Structure, path: Path, found: set[Path]) -> None:
    parts = _parts(value, structure)
    if not parts and path:
        found.add(path)
    for name, inner, inner_structure, is_entry in parts:
        here = (*path, name)
        if is_entry:
            found.add(here)
        _collect(inner, inner_structure, here, found)


def _flatten(value: Any, structure: Structure, path: Path, found: dict[Path, Any]) -> None:
    parts = _parts(value, structure)
    if path and not parts:
        found[path] = value
    elif path and structure.shape in _COLLECTIONS:
        found[path] = _EMPTY
    _flatten_parts(parts, path, found)


def _flatten_parts(parts: Iterable[_Part], path: Path, found: dict[Path, Any]) -> None:
    for name, inner, inner_structure, is_entry in parts:
        here = (*path, name)
        if is_entry:
            found[here] = _EMPTY
        _flatten(inner, inner_structure, here, found)


_Part = tuple[str, Any, Structure, bool]
"""Path element, value, structure, and whether it is an entry, not a declared field."""


def _parts(value: Any, structure: Structure) -> list[_Part]:
    if isinstance(value, dict) and structure.shape in _MAPS:
        declared = structure.fields if structure.shape is Shape.STRUCT else {}
        return [(f"f:{name}", inner, structure.child(name), name not in declared) for name, inner in value.items()]
    element = structure.element
    if isinstance(value, list) and element is not None and structure.shape in (Shape.LIST_MAP, Shape.LIST_SET):
        return [(item_key(item, structure), item, element, True) for item in value]
    return []


def to_fields_v1(fields: FieldSet) -> dict[str, Any]:
    """Convert to the wire form."""
    root: dict[str, Any] = {}
    for path in sorted(fields):
        node = root
        for step in path:
            inner = node.get(step)
            if inner is None:
                inner = node[step] = {}
            elif not inner:  # a field of which parts follow: it came just before them
                inner["."] = {}
            node = inner
    return root


def from_fields_v1(node: Mapping[str, Any]) -> FieldSet:
    """Read the wire form."""
    found: set[Path] = set()
    _read(node, (), found)
    return frozenset(found)


def _read(node: Mapping[str, Any], path: Path, found: set[Path]) -> None:
    for name, inner in node.items():
        if name == ".":
            found.add(path)
        elif inner:
            _read(inner, (*path, name), found)
        else:
            found.add((*path, name))


def display(path: Path) -> str:
    """Format a path for people: ``.spec.containers[name="a"].image``."""
    text = ""
    for step in path:
        kind, _, rest = step.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            keys = orjson.loads(rest)
            text += "[" + ",".join(f"{name}={orjson.dumps(value).decode()}" for name, value in keys.items()) + "]"
        else:
            text += f"[={rest}]"
    return text

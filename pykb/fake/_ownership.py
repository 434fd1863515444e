"""Tracks the owners of fields, after an update and after an apply.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (KEP-555)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pykb.client.errors import ApiError
from pykb.client.structure import Structure
from pykb.fake._fields import (
    FieldSet,
    Path,
    applied_fields,
    display,
    from_fields_v1,
    to_fields_v1,
    unlike_fields,
)
from pykb.fake._http import cause, refuse
from pykb.fake._merge import merge_applied, remove_fields

Owner = tuple[str, str, str, str]
"""Manager, operation, apiVersion, subresource."""

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


@dataclass(frozen=True)
class FieldConflict:
    """A field that another manager owns with another value."""

    owner: Owner
    path: str


@dataclass(frozen=True)
class Applied:
    """The result of an apply: the object, or the conflicts."""

    obj: dict[str, Any]
    conflicts: list[FieldConflict] = field(default_factory=list)


def record_update(
    old: Mapping[str, Any] | None, new: dict[str, Any], owner: Owner, structure: Structure, now: str
) -> None:
    """Set the owners of ``new`` after ``owner`` has changed ``old`` to it. ``new`` starts with the previous owners."""
    owners = _owners(new)
    before, after = _own_fields(old or {}, new, structure)
    changed = frozenset(path for path, value in after.items() if path not in before or before[path] != value)
    gone = frozenset(before) - frozenset(after)
    for other in list(owners):
        owners[other] = owners[other] - gone - (changed if other != owner else frozenset())
    mine = (owners.get(owner, frozenset()) | changed) - gone
    owners[owner] = mine
    _store(new, owners, _times(new), owner if changed or gone else None, now)


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
) -> Applied:
    """Apply a configuration to the live object."""
    owners = _owners(live)
    mine = owners.get(owner, frozenset())
    others = {other: fields for other, fields in owners.items() if other != owner}
    wanted = frozenset(path for path in applied_fields(config, structure) if not _is_servers(path))
    base = dict(live or {})
    merged: dict[str, Any] = merge_applied(base, config, structure)
    changed = _changed(base, merged, structure)
    conflicts = list(_conflicts(others, changed & wanted))
    if conflicts and not force:
        return Applied({}, conflicts)
    dropped = mine - wanted
    if dropped:
        merged = remove_fields(merged, structure, dropped, wanted.union(*others.values()))
    owners |= {other: fields - changed for other, fields in others.items()} | {owner: wanted}
    unchanged = mine == wanted and not changed and not dropped
    _store(merged, owners, _times(live), None if unchanged else owner, now)
    return Applied(merged)


def _changed(base: Mapping[str, Any], merged: Mapping[str, Any], structure: Structure) -> FieldSet:
    """The fields that both objects have, with different values."""
    before, after = _own_fields(base, merged, structure)
    return frozenset(path for path, value in after.items() if path in before and before[path] != value)


def _conflicts(others: Mapping[Owner, FieldSet], contested: FieldSet) -> Iterator[FieldConflict]:
    for other, fields in sorted(others.items()):
        for path in sorted(fields & contested, key=lambda path: (len(path), path)):
            yield FieldConflict(other, display(path))


def conflict_error(conflicts: list[FieldConflict], *, version: str = "") -> ApiError:
    """Make the error for conflicts of an apply, with the server's message.

    Args:
        conflicts: The fields that others own.
        version: The API version of the applied configuration, if it is not that of the object.
    """
    causes: list[dict[str, str]] = []
    paths: dict[str, list[str]] = {}
    for conflict in conflicts:
        manager, operation, api_version, subresource = conflict.owner
        who = f'"{manager}"' + (f' with subresource "{subresource}"' if subresource else "")
        who += f" using {version or api_version}" if operation == "Update" else ""
        causes.append(cause(conflict.path, "FieldManagerConflict", f"conflict with {who}"))
        paths.setdefault(who, []).append(conflict.path)
    if len(conflicts) == 1:
        text = f"conflict: {causes[0]['message']}: {conflicts[0].path}"
    else:
        listed = (f"conflicts with {who}:" + "".join(f"\n- {path}" for path in paths[who]) for who in sorted(paths))
        text = "conflicts: " + "\n".join(listed)
    return refuse(409, "Conflict", f"Apply failed with {len(conflicts)} {text}", {"causes": causes})


def _owners(obj: Mapping[str, Any] | None) -> dict[Owner, FieldSet]:
    entries = ((obj or {}).get("metadata") or {}).get("managedFields") or ()
    return {_owner(entry): from_fields_v1(entry.get("fieldsV1") or {}) for entry in entries}


def _owner(entry: Mapping[str, Any]) -> Owner:
    return (
        entry.get("manager", ""),
        entry.get("operation", ""),
        entry.get("apiVersion", ""),
        entry.get("subresource", ""),
    )


def _times(obj: Mapping[str, Any] | None) -> dict[Owner, str]:
    entries = ((obj or {}).get("metadata") or {}).get("managedFields") or ()
    return {_owner(entry): entry.get("time", "") for entry in entries}


def _own_fields(
    old: Mapping[str, Any], new: Mapping[str, Any], structure: Structure
) -> tuple[dict[Path, Any], dict[Path, Any]]:
    before, after = (
        {path: value for path, value in fields.items() if not _is_servers(path)}
        for fields in unlike_fields(old, new, structure)
    )
    return before, after


def _is_servers(path: Path) -> bool:
    return path[:1] in _SERVERS or path[:2] in _SERVERS


def _store(
    obj: dict[str, Any], owners: Mapping[Owner, FieldSet], times: Mapping[Owner, str], touched: Owner | None, now: str
) -> None:
    entries = []
    for owner, fields in owners.items():
        if not fields:
            continue
        manager, operation, api_version, subresource = owner
        entry: dict[str, Any] = {"manager": manager, "operation": operation, "apiVersion": api_version}
        if subresource != "scale":
            entry["time"] = now if owner == touched else times.get(owner, now)
        entry["fieldsType"] = "FieldsV1"
        entry["fieldsV1"] = to_fields_v1(fields)
        if subresource:
            entry["subresource"] = subresource
        entries.append(entry)
    entries.sort(key=lambda entry: (entry["operation"], entry.get("time", ""), entry["manager"], entry["apiVersion"]))
    obj["metadata"] = {**(obj.get("metadata") or {}), "managedFields": entries}
    if not entries:
        del obj["metadata"]["managedFields"]

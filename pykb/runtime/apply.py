"""Bringing an object to what is wanted, with the fewest writes: create or update, create or patch, apply, status."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any

from pykb.api.object import Object
from pykb.runtime.applied import contains, memory_of
from pykb.runtime.client.client import Client
from pykb.runtime.client.codec import (
    AnyObject,
    AnyObjectT,
    gvk_of,
    key_of,
    replace_content,
    resource_version_of,
    to_wire,
    uid_of,
)
from pykb.runtime.client.patches import MergeFrom, MergePatch, merge_diff
from pykb.runtime.fieldset import holds_exactly

Mutate = Callable[[], None] | Callable[[], Awaitable[None]]
"""Brings the object to what is wanted; called once, after the object was read."""


_WITHOUT_EFFECT = "(without effect)"
"""Under this name, which no field manager has, writes that changed nothing are remembered."""

_BOOKKEEPING = ("resourceVersion", "managedFields")


class OperationResult(StrEnum):
    """What was done."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    UPDATED = "updated"


async def create_or_update(client: Client, obj: AnyObjectT, mutate: Mutate) -> tuple[AnyObjectT, OperationResult]:
    """Create an object, or bring the one that is there to what is wanted.

    ::

        deployment = Deployment(metadata=ObjectMeta(name=foo.spec.deployment_name, namespace=foo.metadata.namespace))

        def want() -> None:
            set_controller_reference(foo, deployment)
            ...

        _, result = await create_or_update(client, deployment, want)

    ``obj`` needs nothing but its name; it becomes the object that is there before ``mutate`` is called. Nothing is sent
    when ``mutate`` changed nothing. Where ``mutate`` drops what the server fills in by default, that is found out
    once: a write that changed nothing is reported as unchanged, and is not sent again while neither side changes.

    Raises:
        AlreadyExists: Another client created it at the same moment; a cached read may not have seen it yet.
        Conflict: It changed between reading and writing.
        ValueError: ``mutate`` changed its name or namespace.
        ApiError: The server refused.
    """
    before = await _read(client, obj, mutate)
    if before is None:
        return await client.create(obj), OperationResult.CREATED
    if to_wire(obj) == before:
        return obj, OperationResult.UNCHANGED
    return obj, await _bring(client, obj, before, lambda: client.update(obj))


async def create_or_patch(client: Client, obj: AnyObjectT, mutate: Mutate) -> tuple[AnyObjectT, OperationResult]:
    """As :func:`create_or_update`, sending only what changed, so that it does not conflict with other writers.

    The status is left alone: :func:`patch_status` writes that.

    Raises:
        AlreadyExists: Another client created it at the same moment; a cached read may not have seen it yet.
        ValueError: ``mutate`` changed its name or namespace.
        ApiError: The server refused.
    """
    before = await _read(client, obj, mutate)
    if before is None:
        return await client.create(obj), OperationResult.CREATED
    patch = MergeFrom(before, None, optimistic_lock=False)
    if patch.body_for(obj) is None:
        return obj, OperationResult.UNCHANGED
    return obj, await _bring(client, obj, before, lambda: client.patch(obj, patch))


async def ensure_applied(
    client: Client, obj: AnyObjectT, *, field_manager: str | None = None, force: bool = True
) -> tuple[AnyObjectT, OperationResult]:
    """Apply an object (server-side) unless the cluster already holds what it wants; afterwards it is what is stored.

    What is there is read first, from the cache where the kind is watched. Nothing is sent when every field that ``obj``
    sets has this value already and this manager owns those fields and no others; what the server or other managers
    added does not count. A cache knows of no owners: there, each process applies once, and then on drift. (A quantity
    that the server spells otherwise, ``1000m`` for ``1``, is applied each time; the server then finds that nothing
    changes.)

    Args:
        client: The client.
        obj: What is wanted, and nothing else.
        field_manager: Who wants it; the client's own manager when ``None``.
        force: Whether fields that other managers own are taken over, as a controller does.

    Raises:
        Conflict: Another manager owns a field, and ``force`` is not set.
        ApiError: The server refused.
    """
    found = await _find(client, obj)
    manager = field_manager or client.options.field_manager
    desired = to_wire(obj)
    if found is not None and _is_applied(client, found, desired, manager):
        replace_content(obj, found)
        return obj, OperationResult.UNCHANGED
    await client.apply(obj, field_manager=manager, force=force)
    memory, uid = memory_of(client), uid_of(obj)
    # What was created a moment ago may not have reached the cache yet.
    unseen = found is None and memory.is_last(uid, manager, desired)
    if not client.options.dry_run:
        memory.remember(uid, manager, desired)
    if found is None:
        return obj, OperationResult.UNCHANGED if unseen else OperationResult.CREATED
    return obj, _result(found, obj)


async def patch_status(
    client: Client, obj: AnyObjectT, before: AnyObjectT, *, optimistic_lock: bool = False
) -> OperationResult:
    """Write the status as a merge patch of what changed in it since ``before``; nothing when nothing did.

    ::

        before = copy.deepcopy(machine)
        machine.status.phase = "Running"
        await patch_status(client, machine, before)

    Args:
        client: The client.
        obj: The object with its new status; afterwards it is what is stored.
        before: The object as it was read.
        optimistic_lock: Whether to refuse when the object changed since; needed where two writers share a list.

    Raises:
        NotFound: The object is gone, or its kind has no status subresource.
        Conflict: The object changed since, and ``optimistic_lock`` is set.
        ApiError: The server refused.
    """
    old, new = to_wire(before), to_wire(obj)
    change = merge_diff({"status": old.get("status") or {}}, {"status": new.get("status") or {}})
    if not change:
        return OperationResult.UNCHANGED
    if optimistic_lock:
        change["metadata"] = {"resourceVersion": (old.get("metadata") or {}).get("resourceVersion")}
    await client.status.patch(obj, MergePatch(change))
    return OperationResult.UPDATED


async def _read(client: Client, obj: AnyObject, mutate: Mutate) -> dict[str, Any] | None:
    """Make ``obj`` the object that is there, and mutate it; gives what was there."""
    found = await _find(client, obj)
    if found is not None:
        replace_content(obj, found)
    before = copy.deepcopy(to_wire(obj))
    key = key_of(obj)
    outcome = mutate()
    if inspect.isawaitable(outcome):
        await outcome
    if key_of(obj) != key:
        raise ValueError(f"`mutate` must not rename the object: it was `{key}`, and is `{key_of(obj)}`")
    return None if found is None else before


async def _bring(
    client: Client, obj: AnyObject, before: dict[str, Any], write: Callable[[], Awaitable[object]]
) -> OperationResult:
    """Write, unless the same change of the same object was found to change nothing before: defaults were dropped."""
    memory, uid = memory_of(client), str(before["metadata"].get("uid"))
    change = _change(before, to_wire(obj))
    if memory.is_last(uid, _WITHOUT_EFFECT, change):
        replace_content(obj, before)
        return OperationResult.UNCHANGED
    await write()
    result = _result(before, obj)
    if result is OperationResult.UNCHANGED and not client.options.dry_run:
        memory.remember(uid, _WITHOUT_EFFECT, change)
    return result


def _change(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What decides whether a write has an effect: both objects, without what others write all the time."""
    same_status = before.get("status") == after.get("status")

    def content(wire: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in wire.items() if not (same_status and name == "status")}
        kept["metadata"] = {name: value for name, value in wire["metadata"].items() if name not in _BOOKKEEPING}
        return kept

    return {"before": content(before), "after": content(after)}


async def _find(client: Client, obj: AnyObject) -> dict[str, Any] | None:
    kind = type(obj) if isinstance(obj, Object) else gvk_of(obj)
    found = await client.find(kind, key_of(obj))
    return None if found is None else to_wire(found)


def _is_applied(client: Client, found: dict[str, Any], desired: dict[str, Any], manager: str) -> bool:
    if found["metadata"].get("managedFields"):
        return holds_exactly(found, desired, manager)
    return memory_of(client).is_last(found["metadata"]["uid"], manager, desired) and contains(found, desired)


def _result(before: dict[str, Any], obj: AnyObject) -> OperationResult:
    # The server keeps the version of an object that a write did not change.
    same = resource_version_of(before) == resource_version_of(obj)
    return OperationResult.UNCHANGED if same else OperationResult.UPDATED

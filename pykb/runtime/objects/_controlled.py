"""Finds, checks and deletes the objects that an owner controls.

A name does not say who controls an object. Nothing here writes or deletes an object unless its
controller has the uid of the given owner. The ``resourceVersion`` ensures that the object written
is the one that was checked.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar, overload

from pykb.api.meta.v1 import OwnerReference
from pykb.api.object import Object
from pykb.api.unstructured import Unstructured
from pykb.meta.gvk import GroupVersion, GroupVersionKind, NamespacedName
from pykb.runtime.cache.store import OWNER_INDEX
from pykb.runtime.client.client import Client
from pykb.runtime.client.codec import (
    AnyObject,
    Key,
    Kind,
    gvk_of,
    is_deleted,
    key_of,
    namespace_of,
    resource_version_of,
    to_wire,
    uid_of,
)
from pykb.runtime.client.options import Propagation
from pykb.runtime.errors import Conflict, NotFound
from pykb.runtime.objects.owner import AlreadyOwned, NotControlled, controller_of, is_controlled_by, same_owner

ObjectT = TypeVar("ObjectT", bound=Object)

ATTEMPTS = 5
"""How often a changing object is read again before the whole reconcile is retried."""


@overload
async def list_controlled(client: Client, kind: type[ObjectT], *, owner: AnyObject) -> list[ObjectT]: ...
@overload
async def list_controlled(client: Client, kind: GroupVersionKind, *, owner: AnyObject) -> list[Unstructured]: ...
async def list_controlled(client: Client, kind: Any, *, owner: AnyObject) -> list[Any]:
    """Return the objects of a kind that ``owner`` controls.

    A kind that the controller ``owns`` is read from the cache, by an index. For any other kind, all
    objects in the owner's namespace are listed.

    Raises:
        ApiError: The server refused.
    """
    namespace = namespace_of(owner) or None
    fields = {OWNER_INDEX: uid_of(owner)} if await client.is_cached(kind, namespace=namespace) else None
    found = await client.list(kind, namespace=namespace, fields=fields)
    return [obj for obj in found if is_controlled_by(obj, owner)]


async def ensure_deleted(
    client: Client, kind: Kind, key: Key, *, owner: AnyObject, propagation: Propagation | None = None
) -> bool:
    """Delete an object if ``owner`` controls it.

    The object is first read where the client reads its kind. Before the deletion, the object and
    its owner are read from the server, so that an outdated copy does not cause a deletion.

    Returns:
        Whether the object is gone. Finalizers and grace periods can delay that. A controller that
        ``owns`` the kind gets an event when the object is gone.

    Raises:
        Conflict: The owner has changed since it was read. Read it again.
        ApiError: The server refused.
    """
    gvk = gvk_of(kind)
    found = await client.find(gvk, key)
    if found is None or not is_controlled_by(found, owner):
        return True
    for _ in range(ATTEMPTS):
        found = await client.live.find(gvk, key)
        if found is None or not is_controlled_by(found, owner):
            return True
        if is_deleted(found):
            return False
        await _check_unchanged(client, owner)
        try:
            await client.delete(
                found, uid=uid_of(found), resource_version=resource_version_of(found), propagation=propagation
            )
        except (Conflict, NotFound):
            continue
        if client.options.dry_run:
            return True
    return False


async def prune(
    client: Client, kind: Kind, *, owner: AnyObject, keep: Collection[str] = (), propagation: Propagation | None = None
) -> list[str]:
    """Delete the objects of a kind that ``owner`` controls, except those named in ``keep``.

    Call it after the desired objects were made. It deletes objects that an earlier spec requested
    under other names, even if the process was restarted in between.

    Returns:
        The names of the objects that were or are being deleted.

    Raises:
        Conflict: The owner has changed since it was read. Read it again.
        ApiError: The server refused.
    """
    gvk = gvk_of(kind)
    # Untyped, so that objects that do not fit their class are deleted too.
    stale = [obj for obj in await list_controlled(client, gvk, owner=owner) if obj.key.name not in keep]
    for obj in stale:
        await ensure_deleted(client, gvk, obj.key, owner=owner, propagation=propagation)
    return [obj.key.name for obj in stale]


async def check_controlled(client: Client, found: dict[str, Any], owner: OwnerReference, *, adopt: bool) -> None:
    """Refuse an existing object of the desired name if the owner does not control it.

    Args:
        client: The client.
        found: The object as it was read.
        owner: The object that is to control it.
        adopt: Whether to take an object that has no controller, or whose controller was a former
            owner of the same name.

    Raises:
        AlreadyOwned: Another object controls it.
        NotControlled: It has no controller.
    """
    current = controller_of(found)
    if current is not None and current.uid == owner.uid:
        return
    kind, key = gvk_of(found).kind, key_of(found)
    free = current is None or same_owner(current, owner)
    if adopt and free and await _lives(client, owner, key.namespace):
        return
    if current is None:
        raise NotControlled(kind, key, owner)
    raise AlreadyOwned(kind, key, owner, current)


async def _lives(client: Client, owner: OwnerReference, namespace: str) -> bool:
    """Whether the owner still exists. An object adopted by a deleted owner would be garbage-collected."""
    kind = GroupVersion.parse(owner.api_version).with_kind(owner.kind)
    found = await client.live.find(kind, NamespacedName(namespace, owner.name))
    return found is not None and uid_of(found) == owner.uid and not is_deleted(found)


async def _check_unchanged(client: Client, owner: AnyObject) -> None:
    """Refuse to delete if the owner's spec has changed."""
    current = await client.live.find(gvk_of(owner), key_of(owner))
    known = to_wire(owner)["metadata"]
    if current is None or any(current.metadata.get(name) != known.get(name) for name in ("uid", "generation")):
        message = f"{gvk_of(owner).kind} `{key_of(owner)}` has changed since it was read"
        raise Conflict(409, "Conflict", message)

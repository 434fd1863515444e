"""Owner references: a dependent is deleted with its owner and triggers the owner's reconcile.

A name does not say who controls an object. Nothing here writes or deletes an object unless its
controller has the uid of the given owner. The ``resourceVersion`` ensures that the object written
is the one that was checked.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pykb.api.meta.v1 import OwnerReference
from pykb.api.object import Object
from pykb.client.client import Client
from pykb.client.codec import (
    AnyObject,
    Key,
    Kind,
    ReadKind,
    ReadT,
    gvk_of,
    is_deleted,
    key_of,
    kind_of,
    metadata_list,
    namespace_of,
    resource_version_of,
    set_metadata_list,
    to_wire,
    uid_of,
)
from pykb.client.connection import OWNER_INDEX
from pykb.client.errors import Conflict, NotFound
from pykb.client.options import Propagation
from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersion, NamespacedName

_FIELD = ("owner_references", "ownerReferences")

ATTEMPTS = 5
"""How often a changing object is read again before the whole reconcile is retried."""


class NotControlled(PykbError):  # noqa: N818 - as its kin
    """An object of the desired name exists, and the owner does not control it.

    ::

        before = copy.deepcopy(machine.status)
        try:
            await ensure_applied(client, deployment_of(machine), owner=machine)
        except NotControlled as error:
            found = set_condition(machine.status.conditions, "Ready", False, reason="NameTaken", message=str(error))
            machine.status.conditions = found
            await patch_status(client, machine, before)

    Attributes:
        kind: The kind of the object.
        obj: Its namespace and name.
        owner: The object that was to control it.
    """

    def __init__(self, kind: str, obj: NamespacedName, owner: OwnerReference) -> None:
        super().__init__(f"{kind} `{obj}` already exists and is not controlled by {owner.kind} `{owner.name}`")
        self.kind = kind
        self.obj = obj
        self.owner = owner

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.kind, self.obj, self.owner))


class AlreadyOwned(NotControlled):
    """Another object controls this one. An object has at most one controller.

    Attributes:
        controller: The object that controls it.
    """

    def __init__(self, kind: str, obj: NamespacedName, owner: OwnerReference, controller: OwnerReference) -> None:
        super().__init__(kind, obj, owner)
        self.controller = controller

    def __str__(self) -> str:
        former = _same_owner(self.controller, self.owner)
        who = f"{self.controller.kind} `{self.controller.name}`"
        return f"{self.kind} `{self.obj}` is already controlled by {f'a former {who}' if former else who}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.kind, self.obj, self.owner, self.controller))


class CrossNamespaceOwner(PykbError):  # noqa: N818
    """An owner must be in the namespace of its dependent: otherwise the garbage collector would delete that object."""


def set_controller_reference(owner: AnyObject, obj: AnyObject, *, block_owner_deletion: bool = True) -> None:
    """Make ``owner`` the controller of ``obj``, in memory only.

    ::

        deployment = deployment_of(machine)
        set_controller_reference(machine, deployment)
        await client.create(deployment)
        assert is_controlled_by(deployment, machine)

    Args:
        owner: An object that was read from the server, and so has a ``uid``.
        obj: The object to be owned.
        block_owner_deletion: Whether a foreground deletion of the owner waits until ``obj`` is
            gone. If the OwnerReferencesPermissionEnforcement admission plugin is on, this requires
            ``update`` on the owner's ``finalizers``.

    Raises:
        AlreadyOwned: Another object controls it.
        CrossNamespaceOwner: The owner is in another namespace.
        ValueError: The owner has no ``uid``, because it was never stored.
    """
    reference = _reference(owner, obj, controller=True, block=block_owner_deletion)
    current = controller_of(obj)
    if current is not None and current.uid != reference.uid and not _same_owner(current, reference):
        raise AlreadyOwned(gvk_of(obj).kind, key_of(obj), reference, current)
    _upsert(obj, reference)


def set_owner_reference(owner: AnyObject, obj: AnyObject, *, block_owner_deletion: bool = False) -> None:
    """Make ``owner`` an owner of ``obj``, but not its controller, in memory only.

    ::

        patch = merge_from(config, optimistic_lock=True)
        set_owner_reference(machine, config)  # it is deleted with the last of its owners
        await client.patch(config, patch)

    Raises:
        CrossNamespaceOwner: The owner is in another namespace.
        ValueError: The owner has no ``uid``, because it was never stored.
    """
    _upsert(obj, _reference(owner, obj, controller=None, block=block_owner_deletion or None))


def remove_owner_reference(owner: AnyObject, obj: AnyObject) -> bool:
    """Remove ``owner`` from the owners of ``obj``, in memory only. Return whether it was one.

    ::

        patch = merge_from(config, optimistic_lock=True)
        if remove_owner_reference(machine, config):
            await client.patch(config, patch)
    """
    uid = uid_of(owner)
    references = owner_references(obj)
    kept = [reference for reference in references if reference.uid != uid]
    if len(kept) == len(references):
        return False
    _store(obj, kept)
    return True


def controller_of(obj: AnyObject) -> OwnerReference | None:
    """Return the reference to the object that controls ``obj``, or ``None``.

    ::

        controller = controller_of(pod)
        if controller is not None and controller.kind == "ReplicaSet":
            print(f"{pod.metadata.name} is a replica of {controller.name}")
    """
    return next((reference for reference in owner_references(obj) if reference.controller), None)


def is_controlled_by(obj: AnyObject, owner: AnyObject) -> bool:
    """Whether ``owner`` controls ``obj``. A former owner of the same name does not count.

    ::

        pods = await client.list(Pod, namespace=machine.metadata.namespace, labels="app=web")
        mine = [pod for pod in pods if is_controlled_by(pod, machine)]
    """
    controller = controller_of(obj)
    return controller is not None and controller.uid == uid_of(owner)


def owner_references(obj: AnyObject) -> list[OwnerReference]:
    """Return a copy of the owner references of ``obj``."""
    found = metadata_list(obj, *_FIELD)
    return found if isinstance(obj, Object) else list(map(OwnerReference.from_wire, found))


def _reference(owner: AnyObject, obj: AnyObject, *, controller: bool | None, block: bool | None) -> OwnerReference:
    gvk, where, uid = gvk_of(owner), key_of(owner), uid_of(owner)
    if not uid:
        raise ValueError(f"{gvk.kind} `{where}` has no `uid`: only an object that exists can own another")
    namespace = namespace_of(obj)
    if where.namespace and where.namespace != namespace:
        place = f"namespace `{namespace}`" if namespace else "no namespace"
        raise CrossNamespaceOwner(f"{gvk.kind} `{where}` cannot own a {gvk_of(obj).kind} in {place}")
    return OwnerReference(
        api_version=gvk.api_version,
        kind=gvk.kind,
        name=where.name,
        uid=uid,
        controller=controller,
        block_owner_deletion=block,
    )


def _upsert(obj: AnyObject, reference: OwnerReference) -> None:
    references = owner_references(obj)
    for index, existing in enumerate(references):
        if existing.uid == reference.uid or _same_owner(existing, reference):
            references[index] = reference
            break
    else:
        references.append(reference)
    _store(obj, references)


def _same_owner(left: OwnerReference, right: OwnerReference) -> bool:
    """Whether both name the same owner, even if it was deleted and created again.

    The versions may differ: the owner's kind may have been upgraded since.
    """
    groups = [GroupVersion.parse(reference.api_version).group for reference in (left, right)]
    return groups[0] == groups[1] and (left.kind, left.name) == (right.kind, right.name)


def _store(obj: AnyObject, references: list[OwnerReference]) -> None:
    typed = isinstance(obj, Object)
    set_metadata_list(obj, *_FIELD, references if typed else [reference.to_wire() for reference in references])


async def list_controlled(client: Client, kind: ReadKind[ReadT], *, owner: AnyObject) -> list[ReadT]:
    """Return the objects of a kind that ``owner`` controls.

    ::

        jobs = await list_controlled(client, Job, owner=machine)
        failed = [job for job in jobs if job.status and is_condition_true(job.status.conditions, "Failed")]

    A kind that the controller ``owns`` is read from the cache, by an index. For any other kind, all
    objects in the owner's namespace are listed.

    Raises:
        ApiError: The server refused.
    """
    namespace = namespace_of(owner) or None
    fields = {OWNER_INDEX: uid_of(owner)} if await client.is_cached(kind_of(kind), namespace=namespace) else None
    found = await client.list(kind, namespace=namespace, fields=fields)
    return [obj for obj in found if is_controlled_by(obj, owner)]


async def ensure_deleted(
    client: Client, kind: Kind, key: Key, *, owner: AnyObject, propagation: Propagation | None = None
) -> bool:
    """Delete an object if ``owner`` controls it.

    ::

        if machine.status.phase == "Stopped":
            await ensure_deleted(client, Deployment, machine, owner=machine)  # of the same name

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

    ::

        await ensure_applied(client, deployment_of(machine), owner=machine)
        await prune(client, Deployment, owner=machine, keep=[machine.spec.deployment_name])

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


async def check_controlled(client: Client, stored: dict[str, Any], owner: OwnerReference, *, adopt: bool) -> None:
    """Refuse an existing object of the desired name if the owner does not control it.

    Args:
        client: The client.
        stored: The object as it was read.
        owner: The object that is to control it.
        adopt: Whether to take an object that has no controller, or whose controller was a former
            owner of the same name.

    Raises:
        AlreadyOwned: Another object controls it.
        NotControlled: It has no controller.
    """
    current = controller_of(stored)
    if current is not None and current.uid == owner.uid:
        return
    kind, key = gvk_of(stored).kind, key_of(stored)
    free = current is None or _same_owner(current, owner)
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

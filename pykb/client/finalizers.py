"""Adds and removes finalizers, in memory and in the cluster."""

from __future__ import annotations

import logging

from pykb.client.client import Client
from pykb.client.codec import AnyObject, AnyObjectT, key_of, metadata_list, set_metadata_list
from pykb.client.errors import Invalid, NotFound
from pykb.client.patches import MergeFrom, merge_from

logger = logging.getLogger(__name__)

_FIELD = ("finalizers", "finalizers")


def has_finalizer(obj: AnyObject, name: str) -> bool:
    """Whether the object carries a finalizer.

    ::

        if machine.metadata.deletion_timestamp is not None and has_finalizer(machine, FINALIZER):
            await self.delete_disk(machine)
            await release_finalizer(client, machine, FINALIZER)
    """
    return name in finalizers(obj)


def add_finalizer(obj: AnyObject, name: str) -> bool:
    """Add a finalizer to the object in memory. Return whether it was missing. Nothing is sent.

    ::

        machine = VirtulMachine(metadata=ObjectMeta(name="a", namespace="default"), spec=VirtulMachineSpec())
        add_finalizer(machine, "infra.example.com/disk")
        await client.create(machine)
    """
    present = finalizers(obj)
    if name in present:
        return False
    set_metadata_list(obj, *_FIELD, [*present, name])
    return True


def remove_finalizer(obj: AnyObject, name: str) -> bool:
    """Remove a finalizer from the object in memory. Return whether it was present. Nothing is sent.

    ::

        patch = merge_from(machine, optimistic_lock=True)
        if remove_finalizer(machine, "infra.example.com/disk"):
            await client.patch(machine, patch)
    """
    present = finalizers(obj)
    if name not in present:
        return False
    set_metadata_list(obj, *_FIELD, [other for other in present if other != name])
    return True


async def ensure_finalizer(client: Client, obj: AnyObjectT, name: str) -> bool:
    """Add a finalizer to the object in the cluster if it is missing. Return whether it was missing.

    Call it before you make anything that the finalizer cleans up. An object being deleted accepts
    no new finalizers.

    ::

        await ensure_finalizer(client, machine, "infra.example.com/disk")

    Raises:
        Conflict: The object has changed since it was read. Read it again.
        ApiError: The server refused.
    """
    patch = merge_from(
        obj, optimistic_lock=True
    )  # a merge patch replaces the whole list, and must not remove others' finalizers
    if not add_finalizer(obj, name):
        return False
    await client.patch(obj, patch)
    return True


async def release_finalizer(client: Client, obj: AnyObjectT, name: str) -> bool:
    """Remove a finalizer from the object in the cluster. Return whether it was present.

    ::

        if machine.metadata.deletion_timestamp is not None:
            await self.delete_disk(machine)
            await release_finalizer(client, machine, "infra.example.com/disk")
            return Result()

    Without its last finalizer, a deleted object is gone. It is not an error if the object is gone
    already.

    Raises:
        Conflict: The object has changed since it was read. Read it again.
        Invalid: The object lacks a field that its definition requires. The log names the remedy.
        ApiError: The server refused.
    """
    patch = merge_from(obj, optimistic_lock=True)
    return remove_finalizer(obj, name) and await let_go(client, obj, patch)


async def let_go(client: Client, obj: AnyObject, patch: MergeFrom) -> bool:
    """Send the removal of finalizers. Return whether the object still existed.

    Only metadata is sent. Since Kubernetes 1.30, the server then ignores other invalid fields of
    the object, except missing required fields at its root.
    """
    try:
        await client.patch(obj, patch)
    except NotFound:
        return False
    except Invalid as error:
        remedy = "make the field optional in the definition or give it a default, or set it in the object"
        shown = {"object": str(key_of(obj)), "error": str(error), "help": remedy}
        logger.error("finalizer cannot be removed: the object breaks its definition", extra=shown)  # noqa: TRY400 - it is raised
        raise
    return True


def finalizers(obj: AnyObject) -> list[str]:
    """Return a copy of the object's finalizers."""
    return metadata_list(obj, *_FIELD)

"""Finalizers: names in an object's metadata that keep it, once deleted, until each has been taken away.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/
"""

from __future__ import annotations

import logging

from pykb.api.object import Object
from pykb.api.unstructured import Unstructured
from pykb.runtime.client.client import Client
from pykb.runtime.client.codec import AnyObject, AnyObjectT, key_of, untyped_metadata
from pykb.runtime.client.patches import MergeFrom, merge_from
from pykb.runtime.errors import Invalid, NotFound

logger = logging.getLogger(__name__)


def has_finalizer(obj: AnyObject, name: str) -> bool:
    """Whether the object carries a finalizer."""
    return name in finalizers(obj)


def add_finalizer(obj: AnyObject, name: str) -> bool:
    """Put a finalizer on the object in memory; tells whether it was not there. Nothing is sent."""
    present = finalizers(obj)
    if name in present:
        return False
    _store(obj, [*present, name])
    return True


def remove_finalizer(obj: AnyObject, name: str) -> bool:
    """Take a finalizer off the object in memory; tells whether it was there. Nothing is sent."""
    present = finalizers(obj)
    if name not in present:
        return False
    _store(obj, [other for other in present if other != name])
    return True


async def ensure_finalizer(client: Client, obj: AnyObjectT, name: str) -> bool:
    """Put a finalizer on the object in the cluster, unless it is there; tells whether that was needed.

    Do this before anything is made that the finalizer cleans up. An object that is being deleted takes no new one.

    Raises:
        Conflict: The object has changed since it was read; read it again.
        ApiError: The server refused.
    """
    patch = merge_from(
        obj, optimistic_lock=True
    )  # a merge patch replaces the list: others' finalizers must not get lost
    if not add_finalizer(obj, name):
        return False
    await client.patch(obj, patch)
    return True


async def release_finalizer(client: Client, obj: AnyObjectT, name: str) -> bool:
    """Take a finalizer off the object in the cluster, if it is there; tells whether it was.

    The last one gone, a deleted object is gone too; one that has gone meanwhile is no error.

    Raises:
        Conflict: The object has changed since it was read; read it again.
        Invalid: The definition demands what the object does not have; the log names the remedy.
        ApiError: The server refused.
    """
    patch = merge_from(obj, optimistic_lock=True)
    return remove_finalizer(obj, name) and await let_go(client, obj, patch)


async def let_go(client: Client, obj: AnyObject, patch: MergeFrom) -> bool:
    """Send that finalizers were taken off; tells whether the object was still there.

    Nothing but metadata is sent. Since Kubernetes 1.30 the server does not mind then what else is invalid in the
    object, but for what is demanded at its root.
    """
    try:
        await client.patch(obj, patch)
    except NotFound:
        return False
    except Invalid as error:
        remedy = "make the field optional in the definition or give it a default, or set it in the object"
        shown = {"object": str(key_of(obj)), "error": str(error), "help": remedy}
        logger.error("object cannot be let go: it breaks its definition", extra=shown)  # noqa: TRY400 - it is raised
        raise
    return True


def finalizers(obj: AnyObject) -> list[str]:
    """The finalizers of the object; changing the list changes nothing else."""
    if isinstance(obj, Object):
        return list(getattr(obj.metadata, "finalizers", None) or ())
    return list(untyped_metadata(obj).get("finalizers") or ())


def _store(obj: AnyObject, names: list[str]) -> None:
    if isinstance(obj, Object):
        obj.metadata.finalizers = names or None
        return
    metadata = obj.metadata if isinstance(obj, Unstructured) else obj.setdefault("metadata", {})
    if names:
        metadata["finalizers"] = names
    else:
        metadata.pop("finalizers", None)

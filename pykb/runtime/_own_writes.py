"""Notes what reconciles write, and lets a request wait until the caches hold what its last reconcile wrote.

The answer to a write comes a moment before its event reaches the cache. Another event, such as that
of a child created just before, would wake the reconciler in this moment. It would read the state
from before its own write, and write again. So the request waits, and no worker waits with it. The
same applies to what it has deleted.

A conflict means that the cache lacks the write of somebody else. A retry that reads the same state
conflicts again, so it waits in the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from pykb.meta.gvk import GroupVersionKind, NamespacedName
from pykb.runtime._logging import ReconcileContext, current_reconcile
from pykb.runtime.clock import Clock

if TYPE_CHECKING:
    from pykb.runtime.client.connection import CacheReader
    from pykb.runtime.controller.causes import ReconcileRecord

LIMIT = timedelta(seconds=5)
"""How long a request waits. A watch that broke off takes longer to return, and must not stop the work."""


_MOST_WRITES = 4096


class Write(NamedTuple):
    """A write of a reconcile, under the name of its field manager.

    The answer to a write without an effect has the version of an earlier write, perhaps by somebody
    else. So a version is a reconcile's own only if the field manager is the same.
    """

    by: ReconcileContext
    field_manager: str


class Ledger:
    """Which reconcile made which version of an object, for the last writes of a process that were recorded."""

    def __init__(self) -> None:
        self._writes: dict[tuple[str, str, str, str], Write] = {}

    def note(self, kind: str, metadata: dict[str, Any], write: Write, *, deleted: bool = False) -> None:
        """Note a write. A deletion is known by the uid of its object."""
        self._writes[_version(kind, metadata, deleted=deleted)] = write
        if len(self._writes) > _MOST_WRITES:
            del self._writes[next(iter(self._writes))]

    def find(self, obj: dict[str, Any], *, deleted: bool) -> Write | None:
        """The write whose answer had this version of an object, or that deleted it."""
        return self._writes.get(_version(obj.get("kind", ""), obj["metadata"], deleted=deleted))


def _version(kind: str, metadata: dict[str, Any], *, deleted: bool) -> tuple[str, str, str, str]:
    version = metadata.get("uid" if deleted else "resourceVersion") or "-"
    return kind, metadata.get("namespace", ""), metadata.get("name", ""), version


class Recording(NamedTuple):
    """Where a reconcile's writes are noted. If there is a record, so are its requests.

    Attributes:
        ledger: The writes of the process.
        record: What a listener gets.
        known: The objects of the answers, by kind, namespace and name.
    """

    ledger: Ledger
    record: ReconcileRecord | None
    known: dict[tuple[str, str, str], dict[str, Any]]


def note_write(
    cache: CacheReader | None, gvk: GroupVersionKind, stored: dict[str, Any], query: Iterable[tuple[str, str]] = ()
) -> None:
    """Note what a server answered to a write of the running reconcile, if there is one."""
    context = current_reconcile.get()
    if context is None:
        return
    context.wrote = True
    metadata = stored.get("metadata") or {}
    version, name = metadata.get("resourceVersion"), metadata.get("name")
    if not version or not name:
        return
    if context.recording is not None:
        context.recording.ledger.note(gvk.kind, metadata, Write(context, dict(query).get("fieldManager", "")))
    if cache is None:
        return
    key = NamespacedName(metadata.get("namespace", ""), name)
    unseen = cache.when_seen(gvk, key, version, is_gone=_is_gone(metadata))
    if unseen is not None:
        context.unseen.append(unseen)


def note_conflict(cache: CacheReader | None, gvk: GroupVersionKind, key: NamespacedName, version: str) -> None:
    """Note that an object has changed since the running reconcile, if there is one, read this version of it."""
    context = current_reconcile.get()
    if context is None or cache is None or not version.isdecimal():
        return
    unseen = cache.when_seen(gvk, key, str(int(version) + 1))
    if unseen is not None:
        context.unseen.append(unseen)


def note_deletion(
    cache: CacheReader | None, gvk: GroupVersionKind, key: NamespacedName, answer: dict[str, Any]
) -> None:
    """Note a deletion by the running reconcile, if there is one. The answer is the object, or a status with its uid."""
    context = current_reconcile.get()
    if context is None:
        return
    context.wrote = True
    stored = answer.get("metadata") or {}
    uid = stored.get("uid") or (answer.get("details") or {}).get("uid")
    if context.recording is not None:
        metadata = {"namespace": key.namespace, "name": key.name, "uid": uid}
        context.recording.ledger.note(gvk.kind, metadata, Write(context, ""), deleted=True)
    if cache is None or not uid:
        return
    unseen = cache.when_deleted(gvk, key, uid, stored.get("resourceVersion", ""))
    if unseen is not None:
        context.unseen.append(unseen)


def _is_gone(metadata: dict[str, Any]) -> bool:
    """Whether this write has removed the last finalizer of a deleted object, and with it the object."""
    return "deletionTimestamp" in metadata and not metadata.get("finalizers")


def when_all_seen(unseen: list[asyncio.Future[None]], clock: Clock, then: Callable[[], None]) -> None:
    """Call ``then`` once, when the caches hold all that was written, or after :data:`LIMIT`."""
    left = set(unseen)

    def give_up() -> None:
        for future in tuple(left):
            future.cancel()

    def seen(future: asyncio.Future[None]) -> None:
        left.discard(future)
        if not left:
            timer.cancel()
            then()

    timer = clock.call_at(clock.now() + LIMIT.total_seconds(), give_up)
    for future in unseen:
        future.add_done_callback(seen)

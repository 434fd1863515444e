"""The running reconcile: who it is, and what it has written.

A request waits until the caches hold what its last reconcile wrote.

The answer to a write comes a moment before its event reaches the cache. Another event, such as that
of a child created just before, would wake the reconciler in this moment. It would read the state
from before its own write, and write again. So the request waits, and no worker waits with it. The
same applies to what it has deleted.

A conflict means that the cache lacks the write of somebody else. A retry that reads the same state
conflicts again, so it waits in the same way.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from asyncio import Future
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pykb.api.safe_text import error_text
from pykb.client.clock import Clock
from pykb.client.guard import is_end, outside_task
from pykb.client.task import current_witness
from pykb.meta.gvk import GroupVersionKind, NamespacedName

if TYPE_CHECKING:
    from pykb.client.connection import CacheReader, Call
    from pykb.runtime.records.causes import ReconcileId, WebhookRecord

LIMIT = timedelta(seconds=5)
"""How long a request waits. A watch that broke off takes longer to return, and must not stop the work."""


_MOST_WRITES = 4096


LogFields = Callable[[], Mapping[str, object]]
"""Returns additional fields for a record when the record is written."""


class ReconcileContext:
    """The identity of one reconcile. Its id is generated on first use, since most are never used."""

    __slots__ = ("_fields", "_id", "controller", "not_awaited", "recording", "request", "unseen", "wrote")

    def __init__(self, controller: str, reconcile_id: str, request: object, fields: LogFields | None = None) -> None:
        """Store the object's identity. An empty ``reconcile_id`` means a new one."""
        self.controller = controller
        self.request = request
        self._id = reconcile_id
        self._fields = fields
        self.not_awaited = ""
        """Coroutines that it called and did not await; see :mod:`pykb.runtime._awaiting`."""
        self.unseen: list[Future[None]] = []
        """Each is done when the cache has one of its writes."""
        self.wrote = False
        """Whether it sent a write that succeeded."""
        self.recording: Recording | None = None
        """Set if somebody listens."""

    @property
    def reconcile_id(self) -> str:
        """The unique id of this call."""
        if not self._id:
            self._id = str(uuid.uuid4())
        return self._id

    @property
    def fields(self) -> Mapping[str, object]:
        """The fields that the controller's author adds. If their function fails, a field holds the error instead."""
        if self._fields is None:
            return {}
        try:
            found: object = outside_task(self._fields)
            if not isinstance(found, Mapping):
                raise TypeError(f"`log_fields` must return a mapping, got `{type(found).__name__}`")  # noqa: TRY301
        except BaseException as error:
            if is_end(error):
                raise
            return {"logFieldsError": error_text(error)}
        return found

    # -- what the client tells it, as the witness of its task

    @property
    def wants_requests(self) -> bool:
        """Whether there is a record, which lists all requests."""
        return self.recording is not None and self.recording.sent is not None

    async def sent(
        self, answer: Awaitable[dict[str, Any]], call: Call, gvk: GroupVersionKind, cache: CacheReader | None
    ) -> dict[str, Any]:
        """Await the answer to a request, and add the request to the record."""
        if self.recording is None or self.recording.sent is None:
            return await answer
        return await self.recording.sent(answer, call, gvk, cache)

    def stored(
        self,
        cache: CacheReader | None,
        gvk: GroupVersionKind,
        obj: dict[str, Any],
        query: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Note what a server answered to a write."""
        self.wrote = True
        metadata = obj.get("metadata") or {}
        version, name = metadata.get("resourceVersion"), metadata.get("name")
        if not version or not name:
            return
        if self.recording is not None:
            self.recording.ledger.note(gvk.kind, metadata, Write(self, dict(query).get("fieldManager", "")))
        if cache is None:
            return
        key = NamespacedName(metadata.get("namespace", ""), name)
        self._hold_until(cache.when_seen(gvk, key, version, is_gone=_is_gone(metadata)))

    def conflicted(self, cache: CacheReader | None, gvk: GroupVersionKind, key: NamespacedName, version: str) -> None:
        """Note that an object has changed since the reconcile read this version of it."""
        if cache is None or not version.isdecimal():
            return
        self._hold_until(cache.when_seen(gvk, key, str(int(version) + 1)))

    def deleted(
        self, cache: CacheReader | None, gvk: GroupVersionKind, key: NamespacedName, answer: dict[str, Any]
    ) -> None:
        """Note a deletion. The answer is the object, or a status with its uid."""
        self.wrote = True
        stored = answer.get("metadata") or {}
        uid = stored.get("uid") or (answer.get("details") or {}).get("uid")
        if self.recording is not None:
            metadata = {"namespace": key.namespace, "name": key.name, "uid": uid}
            self.recording.ledger.note(gvk.kind, metadata, Write(self, ""), deleted=True)
        if cache is None or not uid:
            return
        self._hold_until(cache.when_deleted(gvk, key, uid, stored.get("resourceVersion", "")))

    def _hold_until(self, seen: Future[None] | None) -> None:
        if seen is not None:
            self.unseen.append(seen)


reconciles = logging.getLogger("pykb.runtime.reconciles")
"""Gets the lines about reconciles."""

current_reconcile = cast("ContextVar[ReconcileContext | None]", current_witness)
"""The running reconcile. Only controllers set a witness."""


current_webhook: ContextVar[WebhookRecord | None] = ContextVar("webhook", default=None)
"""The record of the webhook call that is being answered, if somebody listens."""

Sent = Callable[[Awaitable[dict[str, Any]], "Call", GroupVersionKind, "CacheReader | None"], Awaitable[dict[str, Any]]]


class Write(NamedTuple):
    """A write of a reconcile, under the name of its field manager.

    The answer to a write without an effect has the version of an earlier write, perhaps by somebody
    else. So a version is a reconcile's own only if the field manager is the same.
    """

    by: ReconcileContext
    field_manager: str


class Ledger:
    """Which reconcile made which version of an object, for the last writes of a process that were recorded.

    Attributes:
        sending: The reconciles whose requests the API server handles now, by the trace parents of these.
    """

    def __init__(self) -> None:
        self.sending: dict[str, ReconcileId] = {}
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
    """Where a reconcile's writes and requests are noted.

    Attributes:
        ledger: The writes of the process.
        sent: Awaits the answer to a request and adds the request to the record, if there is one.
    """

    ledger: Ledger
    sent: Sent | None


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

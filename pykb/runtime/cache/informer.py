"""Informers. Each holds one mirror of a kind, shared by everyone who reads it (by a lister) or handles its changes."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar

from pykb.api.safe_text import error_text, without_values
from pykb.client.clock import Clock, SystemClock
from pykb.client.codec import alone, readable
from pykb.client.connection import OWNER_INDEX
from pykb.client.guard import is_end, outside_task
from pykb.client.json_text import storable
from pykb.client.listwatch import ListWatch, WatchTarget
from pykb.client.selectors import Labels, as_selector
from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersionKind, NamespacedName
from pykb.runtime.cache._options import InformerOptions, guarded
from pykb.runtime.cache.event import Event, EventType
from pykb.runtime.cache.reflector import SILENT, TURN, Reflector, Sink
from pykb.runtime.cache.store import Store, Stored, version_of

logger = logging.getLogger(__name__)

T = TypeVar("T")

EventSink = Callable[[Event[Any]], None]

SYNC_TIMEOUT = timedelta(minutes=2)


class Lister(Generic[T]):
    """Reads objects of one kind from memory, without waiting. It returns copies, which the caller may change."""

    def __init__(self, store: Store, parse: Callable[[dict[str, Any]], T]) -> None:
        self._store = store
        self._parse = parse

    def get(self, name: str, *, namespace: str = "") -> T | None:
        """Return one object, or ``None`` when it is not in the cache.

        An object that is being deleted is read as far as it fits its class.

        Raises:
            UnreadableObject: The object does not fit its class and is not being deleted.
        """
        raw = self._store.get(NamespacedName(namespace, name))
        return None if raw is None else alone(self._parse, raw)

    def list(
        self,
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> list[T]:
        """Return the matching objects, sorted by namespace and name. Objects that do not fit their class are left out.

        Args:
            namespace: Only objects in this namespace.
            labels: A selector's text, exact labels, or a selector.
            fields: The required value for each index name.

        Raises:
            KeyError: A field has no index.
            ValueError: The text is not a label selector.
        """
        chosen = self._store.select(namespace=namespace, labels=as_selector(labels), fields=fields)
        return readable(self._parse, chosen)[0]

    def owned_by(self, uid: str, *, namespace: str | None = None) -> Sequence[T]:
        """Return the objects that have an owner with this uid."""
        return self.list(namespace=namespace, fields={OWNER_INDEX: uid})


class CacheSyncTimeout(PykbError):  # noqa: N818 - says what happened, as `TimeoutError`s of others do
    """The first list of a kind did not arrive in time."""


class Part(Protocol):
    """Decides which objects of a kind are mirrored. This may change while the mirror runs."""

    def knows(self, key: NamespacedName) -> bool:
        """Whether an object that is not mirrored does not exist."""

    async def run(self, source: ListWatch, targets: Sequence[WatchTarget]) -> None:
        """Run the reflectors, made by :meth:`Informer.reflect`, until cancelled."""

    def may_see(self, key: NamespacedName) -> bool:
        """Whether the mirror will see the next version of an object."""


class Registration:
    """The registration of a handler with an informer."""

    def __init__(self, informer: Informer[Any], sink: EventSink) -> None:
        self._informer = informer
        self.sink = sink

    def remove(self) -> None:
        """Stop calling the handler."""
        self._informer.registrations.discard(self)


class Informer(Generic[T]):
    """Mirrors a kind and calls handlers for every change, with the object before and after.

    ::

        pods = manager.cache.informer(Pod)
        await pods.wait_for_sync()
        pods.add_handler(lambda event: print(event.type, event.name))
        pods.lister.list(namespace="default", labels="app=web")
    """

    def __init__(
        self,
        gvk: GroupVersionKind,
        parse: Callable[[dict[str, Any]], T],
        options: InformerOptions | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self.gvk = gvk
        self.function_failures = 0
        """How many calls of its transform, its indexers and its handlers have failed."""
        self._clock: Clock = clock or SystemClock()
        self.options = guarded(options or InformerOptions(), gvk, self._clock, self.function_failed)
        self.store = Store(self.options.indexers)
        self.registrations: set[Registration] = set()
        self.problem: str | None = None
        self.failures = 0
        """How many lists or watches have ended with an error."""
        self.part: Part | None = None
        """What is mirrored, if that is not always everything. Set it before :meth:`run`."""
        self.users: set[object] = set()
        """The sources of controllers that watch it. Its cache removes it after the last of them."""
        self.is_kept = False
        """Whether the program has asked for it, so that it stays without users."""
        self.removed = False
        """Whether its cache has removed it."""
        self._parse = parse
        self._unsynced: set[WatchTarget] | None = None
        self._synced = asyncio.Event()
        self._reflectors: list[Reflector] = []
        self._selects = self.options.selects
        self._awaited: dict[NamespacedName, list[tuple[float, asyncio.Future[None]]]] = {}

    # -- for its users

    @property
    def lister(self) -> Lister[T]:
        """Reads from the mirror."""
        return Lister(self.store, self._parse)

    def add_handler(self, sink: EventSink) -> Registration:
        """Call a handler for each change. Every object already known comes first, as a creation marked ``initial``."""
        registration = Registration(self, sink)
        self.registrations.add(registration)
        for key in self.store.all_keys():
            self._introduce(key, registration)
        return registration

    async def listen(self, sink: EventSink) -> Registration:
        """Like :meth:`add_handler`, but lets other tasks run in between, so a change may come before a known object."""
        registration = Registration(self, sink)
        self.registrations.add(registration)
        try:
            for number, key in enumerate(self.store.all_keys(), start=1):
                self._introduce(key, registration)
                if number % TURN == 0:
                    await asyncio.sleep(0)
        except BaseException:
            registration.remove()
            raise
        return registration

    @property
    def has_synced(self) -> bool:
        """Whether the first list of every namespace is complete."""
        return self._synced.is_set()

    @property
    def silent_for(self) -> timedelta:
        """The longest time for which one of its watches has been silent."""
        return max((reflector.silent_for for reflector in self._reflectors), default=timedelta())

    async def wait_for_sync(self, timeout: timedelta = SYNC_TIMEOUT) -> None:  # noqa: ASYNC109 - part of the contract
        """Wait for the first list.

        Raises:
            CacheSyncTimeout: The list did not arrive in time. The message contains the last error.
            RuntimeError: The informer was removed from its cache.
        """
        if not self._synced.is_set():
            try:
                async with asyncio.timeout(timeout.total_seconds()):
                    await self._synced.wait()
            except TimeoutError:
                raise self.not_listed(timeout) from None
        if self.removed:
            raise RuntimeError(f"the informer of {self.gvk} was removed")

    def not_listed(self, timeout: timedelta) -> CacheSyncTimeout:
        """The error of a list that did not arrive in time."""
        problem = f": {self.problem}" if self.problem else ""
        return CacheSyncTimeout(f"no list of {self.gvk} arrived within {timeout.total_seconds():g} s{problem}")

    def when_seen(self, key: NamespacedName, version: str, *, is_gone: bool = False) -> asyncio.Future[None] | None:
        """Return a future that is done when the mirror has an object at this version, a later one, or its deletion.

        ``None`` if it has it already, or may never have it because it mirrors a selection. ``is_gone`` says that the
        write has removed the object. The event of that may have come before, and the API server answers with the
        version before the removal. A selection loses what it has, too.
        """
        stored = self.store.peek(key)
        if (
            (stored is None if is_gone else self._selects)
            or not version.isdecimal()
            or (self.part is not None and not self.part.may_see(key))
            or (stored and _moment(version_of(stored.resource_version)) >= _moment(int(version), removed=is_gone))
        ):
            return None
        return self._await(key, _moment(int(version), removed=is_gone))

    def when_deleted(self, key: NamespacedName, uid: str, version: str) -> asyncio.Future[None] | None:
        """Return a future that is done when the mirror has the deletion of the object with this uid.

        That is its removal. An object that stays for a while (finalizers, a graceful period) has a version with the
        deletion. ``None`` if the mirror does not have the object.
        """
        stored = self.store.peek(key)
        if stored is None or stored.load()["metadata"].get("uid") != uid:
            return None
        return self.when_seen(key, version) if version else self._await(key, _REMOVAL)

    # -- for the cache that runs it

    async def run(self, source: ListWatch, targets: Sequence[WatchTarget]) -> None:
        """Mirror until cancelled."""
        self._unsynced, self._reflectors = set(), []
        async with asyncio.TaskGroup() as tasks:
            if self.part is not None:
                self._synced.set()  # each part has a list of its own
                tasks.create_task(self.part.run(source, targets))
            else:
                for target in targets:
                    tasks.create_task(self.reflect(target, source, self).run())
            tasks.create_task(self._notice_silence())
            if self.options.resync is not None:
                tasks.create_task(self._resync(self.options.resync))

    def close(self) -> None:
        """Free the mirror after the cache has removed it. Whoever waits for it stops to wait."""
        self.removed = True
        self.store.close()
        self.registrations.clear()
        self._synced.set()
        for waiting in list(self._awaited.values()):
            for _, future in waiting:
                if not future.done():
                    future.set_result(None)

    # -- for its part

    def reflect(self, target: WatchTarget, source: ListWatch, sink: Sink) -> Reflector:
        """Make a reflector, to be run by the caller."""
        assert self._unsynced is not None  # noqa: S101 - it runs
        self._unsynced.add(target)
        reflector = Reflector(target, source, sink, clock=self._clock)
        self._reflectors.append(reflector)
        return reflector

    def stop_reflecting(self, target: WatchTarget, reflector: Reflector) -> None:
        """Forget a reflector that ends before the informer does."""
        self._reflectors.remove(reflector)
        if self._unsynced is not None:
            self._unsynced.discard(target)

    def drop(self, key: NamespacedName) -> None:
        """Remove an object that another replica mirrors from now on. No handler is called."""
        self.store.remove(key)
        if self._awaited:
            self._saw(key, None)

    def introduce(self, key: NamespacedName) -> None:
        """Call all handlers for a known object, as if it were new."""
        for registration in tuple(self.registrations):
            self._introduce(key, registration)

    def saw(self, key: NamespacedName, obj: dict[str, Any]) -> None:
        """Note that the server has sent an object that is not mirrored."""
        if self._awaited:
            self._saw(key, obj)

    # -- for its reflectors

    def upsert(self, key: NamespacedName, obj: dict[str, Any], *, listed: bool) -> None:
        """Store an object that was created or changed."""
        self._identify(obj)
        if self._awaited:
            self._saw(key, obj)
        managed = obj["metadata"].get("managedFields") or ()
        if self.options.transform is not None:
            obj = self.options.transform(obj)
        try:
            old = self.store.put(key, obj)
        except TypeError:  # it has no JSON form: it is nested too deeply, or has large numbers
            obj = storable(obj)
            old = self.store.put(key, obj)
        if not self.registrations:
            return
        if old is not None and listed and old.resource_version != obj["metadata"].get("resourceVersion", ""):
            old = self._same(old, obj)
        if old is None:
            initial = listed and self._unsynced != set()
            event = Event(EventType.CREATE, obj, parse=self._parse, initial=initial, managed_fields=managed)
        else:
            event = self._update(obj, old, managed)
        self._tell(self.registrations, event)

    def _update(self, obj: dict[str, Any], old: Stored, managed_fields: Sequence[Any] = ()) -> Event[T]:
        return Event(
            EventType.UPDATE,
            obj,
            parse=self._parse,
            load_old=old.load,
            old_resource_version=old.resource_version,
            managed_fields=managed_fields,
        )

    def _same(self, old: Stored, obj: dict[str, Any]) -> Stored | None:
        """The object before, unless a list shows another one of its name: then its deletion was missed."""
        before = old.load()
        if before["metadata"].get("uid") == obj["metadata"].get("uid"):
            return old
        self._tell(self.registrations, Event(EventType.DELETE, before, parse=self._parse))
        return None

    def remove(self, key: NamespacedName, obj: dict[str, Any] | None) -> None:
        """Remove an object that was deleted."""
        if self._awaited:
            self._saw(key, obj, removed=True)
        old = self.store.remove(key)
        if old is None:
            return
        if obj is None:
            obj = old.load()
        else:
            self._identify(obj)
            if self.options.transform is not None:
                obj = self.options.transform(obj)
        self._tell(self.registrations, Event(EventType.DELETE, obj, parse=self._parse))

    def known(self, namespace: str | None) -> list[NamespacedName]:
        """The keys the mirror holds."""
        return self.store.all_keys(namespace)

    def synced(self, target: WatchTarget) -> None:
        """A list is complete."""
        self.problem = None
        if self._unsynced is not None:
            self._unsynced.discard(target)
            if not self._unsynced:
                self._synced.set()

    def function_failed(self) -> None:
        """A function of the program failed on an object."""
        self.function_failures += 1

    def failed(self, target: WatchTarget, problem: str) -> None:
        """A stream ended with an error."""
        self.problem = f"{target}: {problem}"
        self.failures += 1

    # -- inside

    def _introduce(self, key: NamespacedName, registration: Registration) -> None:
        obj = self.store.get(key)
        if obj is not None:
            self._tell((registration,), Event(EventType.CREATE, obj, parse=self._parse, initial=True))

    def _saw(self, key: NamespacedName, obj: dict[str, Any] | None, *, removed: bool = False) -> None:
        """Set the futures that wait for this version; all of them, if the object vanished at an unknown one."""
        found = None
        if obj is not None:
            found = _moment(version_of(obj["metadata"].get("resourceVersion", "")), removed=removed)
        for wanted, future in self._awaited.get(key, ()):
            if (found is None or found >= wanted or (removed and wanted == _REMOVAL)) and not future.done():
                future.set_result(None)

    def _await(self, key: NamespacedName, wanted: float) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._awaited.setdefault(key, []).append((wanted, future))
        future.add_done_callback(lambda _: self._forget(key))
        return future

    def _forget(self, key: NamespacedName) -> None:
        left = [(wanted, future) for wanted, future in self._awaited.pop(key, ()) if not future.done()]
        if left:
            self._awaited[key] = left

    def _identify(self, obj: dict[str, Any]) -> None:
        # Lists of built-in kinds leave it out. In lists of metadata only, the server calls each
        # object `PartialObjectMetadata`, a kind that cannot be read or written.
        if obj.get("kind") != self.gvk.kind or "apiVersion" not in obj:
            obj["apiVersion"], obj["kind"] = self.gvk.api_version, self.gvk.kind

    def _tell(self, registrations: Iterable[Registration], event: Event[Any]) -> None:
        for registration in tuple(registrations):
            try:
                outside_task(registration.sink, event)
            except BaseException as error:  # one handler's bug must not keep events from the others
                if is_end(error):
                    raise
                self.function_failed()
                shown = {"event": repr(event), "error": error_text(error)}
                logger.error("event handler failed", extra=shown, exc_info=without_values(error))  # noqa: TRY400 - no values

    async def _notice_silence(self) -> None:
        while True:
            pauses = [reflector.notice_silence() for reflector in self._reflectors]
            await self._clock.sleep(min(pauses, default=SILENT))

    async def _resync(self, period: timedelta) -> None:
        while True:
            await self._clock.sleep(period)
            for number, key in enumerate(self.store.all_keys(), start=1):
                if number % TURN == 0:
                    await asyncio.sleep(0)
                stored = self.store.peek(key)
                if stored is not None:
                    self._tell(self.registrations, self._update(stored.load(), stored))
            await self._synced.wait()


_REMOVAL = math.inf
"""In place of a moment: the next removal, whatever its version. The API server does not tell it."""


def _moment(version: int, *, removed: bool = False) -> int:
    """A place in the history of an object: its removal comes after the write of the same version."""
    return 2 * version + removed

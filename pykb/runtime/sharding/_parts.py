"""The parts of the mirrors that a member needs: the objects of its ranges.

There are three ways, by what a kind is used for and by what the API server can do:

* each range has a list and a watch of its own, and the server sends only its objects;
* one list and watch brings all objects, and those of other ranges are dropped before they are
  stored. A range that is added needs a new list;
* everything is mirrored, since somebody reads or watches the kind as a whole.

In all of them, the client computes the range of each object itself. A server that ignores the
selector costs traffic, and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum, auto
from typing import Any

from pykb.client.connection import OWNER_INDEX
from pykb.client.ending import end_tasks, until_cancelled
from pykb.client.listwatch import ListWatch, WatchTarget
from pykb.client.ranges import Ranges, ShardBy
from pykb.meta.gvk import NamespacedName
from pykb.runtime.cache.informer import SYNC_TIMEOUT, Informer
from pykb.runtime.cache.reflector import TURN
from pykb.runtime.cache.store import owner_uids, version_of

logger = logging.getLogger(__name__)


_REMEMBERED = 1000
"""How many former roots of a kind are kept. More only while their reconciles are awaited."""


class Way(Enum):
    """How the objects of a part come."""

    SERVER = auto()
    CLIENT = auto()
    WHOLE = auto()


@dataclass(frozen=True, slots=True)
class Use:
    """What sharded controllers use a kind for.

    Attributes:
        root: They reconcile its objects.
        owned: Its objects belong to roots.
        whole: Somebody reads or watches all of its objects.
    """

    root: bool = False
    owned: bool = False
    whole: bool = False


class FormerRoots:
    """The deleted roots of a kind, by name. Their last reconciles may not have ended."""

    def __init__(self) -> None:
        self._ranges: dict[NamespacedName, dict[str, int]] = {}
        self.awaited: list[Callable[[NamespacedName], bool]] = []
        """Say whether a controller still has a request for a name."""

    def __contains__(self, key: NamespacedName) -> bool:
        return key in self._ranges

    def of(self, key: NamespacedName) -> Mapping[str, int]:
        """The ranges of the former roots of a name, by uid."""
        return self._ranges.get(key, {})

    def note(self, key: NamespacedName, uid: str, number: int) -> None:
        """Remember a root of a range that is gone. Call it before the handlers ask for its reconcile."""
        # Until they are reconciled, also those before it: the next one can be in a range of another replica.
        before = self._ranges.get(key, {}) if self._is_awaited(key) else {}
        self._ranges[key] = {**before, uid: number}
        if len(self._ranges) > _REMEMBERED:
            self._ranges = {
                name: found for name, found in self._ranges.items() if name == key or self._is_awaited(name)
            }

    def _is_awaited(self, key: NamespacedName) -> bool:
        return any(has(key) for has in self.awaited)


class ShardPart:
    """The part of one kind. The objects of a range are in it after :meth:`widen`, and gone after :meth:`narrow`."""

    def __init__(
        self,
        informer: Informer[Any],
        ranges: Ranges,
        use: Use,
        dropped: Callable[[], None],
        sync_timeout: timedelta = SYNC_TIMEOUT,
    ) -> None:
        """Make an empty part.

        Args:
            informer: The mirror.
            ranges: The ranges.
            use: What the kind is used for.
            dropped: Called for each object of another range that the server has sent.
            sync_timeout: How long to wait for the first list.
        """
        self._informer = informer
        self._ranges = ranges
        self.use = use
        self._dropped = dropped
        self._sync_timeout = sync_timeout
        self._was_listed = False
        self._kept: set[int] = set()
        self._complete: set[int] = set()
        self._source: ListWatch | None = None
        self._targets: Sequence[WatchTarget] = ()
        self._runs = asyncio.Event()
        self._tasks: asyncio.TaskGroup | None = None
        self.streams: dict[WatchTarget, _Stream] = {}
        self._changing = asyncio.Lock()
        self.server_filters = False
        """Whether the API server honours a ``shardSelector``. Set it before the first range is added."""
        self.index: dict[NamespacedName, int] = {}
        """The range of each mirrored root."""
        self.former = FormerRoots()
        self.running: Counter[NamespacedName] = Counter()
        """How many controllers reconcile a root now."""
        self.roots: Mapping[tuple[str, str], ShardPart] = {}
        """The parts of possible owners, by group and kind."""
        self._announced: set[int] = set()

    @property
    def way(self) -> Way:
        """How the objects come."""
        if self.use.whole:
            return Way.WHOLE
        by_own_field = self._ranges.by is ShardBy.NAMESPACE or not self.use.owned
        return Way.SERVER if self.server_filters and by_own_field else Way.CLIENT

    # -- for the informer

    def knows(self, key: NamespacedName) -> bool:
        """Whether an object that is not mirrored does not exist."""
        # What was deleted may be there again, in a range of another replica. That is not for its last reconcile.
        if self.use.whole or (key in self.former and key in self.running):
            return True
        by_name = self._ranges.by is ShardBy.NAMESPACE  # else only the uid, or the owner, says where it belongs
        return by_name and not self._complete.isdisjoint(self._numbers_of_stored(key))

    def may_see(self, key: NamespacedName) -> bool:
        """Whether the mirror will see the next version of an object."""
        if self.way is not Way.SERVER:
            return True  # all objects come, and some are dropped
        if self._ranges.by is ShardBy.NAMESPACE:
            return not self._kept.isdisjoint(self._numbers_of_stored(key))
        return key in self._informer.store  # only the uid says it of others

    async def run(self, source: ListWatch, targets: Sequence[WatchTarget]) -> None:
        """Run the reflectors until cancelled."""
        self._source, self._targets = source, targets
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._runs.set()
            if self.use.whole:
                self._start(targets)
            await until_cancelled()

    # -- for the gate

    def works_on(self, key: NamespacedName) -> bool:
        """Whether a root exists, and is in a range of this replica."""
        return self.index.get(key) in self._kept

    def has_children(self, uid: str) -> bool:
        """Whether an owner has objects of this kind."""
        return self.use.owned and any(self._informer.store.select(fields={OWNER_INDEX: uid}))

    # -- moving

    async def widen(self, numbers: frozenset[int]) -> None:
        """Add ranges. Return when all their objects are mirrored.

        Raises:
            CacheSyncTimeout: No list of the kind has ever arrived in time.
        """
        await self._runs.wait()
        async with self._changing:
            self._kept |= numbers
        # One list after the other. At the same time, all of their pages would be in memory.
        for some in [frozenset({number}) for number in sorted(numbers)] if self.way is Way.SERVER else [numbers]:
            async with self._changing:
                match self.way:
                    case Way.SERVER:
                        for number in some & self._kept:  # it may have been given up meanwhile
                            self._start((self._of(target, number) for target in self._targets), number)
                    case Way.CLIENT:
                        await self._stop(self._targets)
                        self._start(self._targets)
            await self._listed(some)
        self._complete |= numbers & self._kept

    def announce(self, numbers: frozenset[int]) -> None:
        """Call the handlers for the roots of some ranges, as if they were new."""
        for key in [key for key, number in self.index.items() if number in numbers]:
            self._informer.introduce(key)

    async def announce_orphans(self, numbers: frozenset[int]) -> None:
        """Call the handlers for children whose root is gone: it was deleted while no replica had its range.

        Args:
            numbers: The ranges of the roots, which are mirrored.
        """
        self._announced |= numbers & self._kept
        for position, key in enumerate(self._informer.store.all_keys(), start=1):
            if position % TURN == 0:
                await asyncio.sleep(0)
            if numbers.isdisjoint(self._numbers_of_stored(key)):
                continue
            if self._is_orphan(key, self._informer.store.get(key) or {"metadata": {}}, numbers):
                self._informer.introduce(key)

    async def narrow(self, number: int) -> None:
        """Remove a range. No handler is called for its objects."""
        await self._runs.wait()
        async with self._changing:
            self._kept.discard(number)
            self._complete.discard(number)
            self._announced.discard(number)
            match self.way:
                case Way.WHOLE:
                    return
                case Way.SERVER:
                    await self._stop([self._of(target, number) for target in self._targets])
                case Way.CLIENT if not self._kept:
                    await self._stop(self._targets)
            for position, key in enumerate(self._informer.store.all_keys(), start=1):
                if not self._kept.intersection(self._numbers_of_stored(key)):
                    self.index.pop(key, None)
                    self._informer.drop(key)
                if position % (TURN * TURN) == 0:
                    await asyncio.sleep(0)

    # -- for its streams

    def upsert(self, key: NamespacedName, obj: dict[str, Any], number: int | None, *, listed: bool) -> None:
        """Mirror an object if it belongs to a range of this part, and to the range that the server was asked for."""
        own = self._ranges.of_object(obj["metadata"]) if self._needs_own else None
        if number not in (None, own):
            self._dropped()
            self._filter_is_gone()
            return
        numbers = self._numbers(obj, own)
        if self.use.root and own is not None and (own in self._kept or self.use.whole):
            if self.index.get(key, own) != own:  # there are two roots of this name, and one is gone
                if self._has_newer(key, obj):
                    return
                self.remove(key, None)
            self.index[key] = own
        if self.use.whole or self._kept.intersection(numbers):
            known = self._informer.store.peek(key) if listed else None
            if known is None or known.resource_version != obj["metadata"].get("resourceVersion"):
                if not self._announced.isdisjoint(numbers):
                    self._is_orphan(key, obj, self._announced)
                self._informer.upsert(key, obj, listed=listed)
            return
        self._informer.saw(key, obj)
        if key in self.index:  # a new root of this name
            self.remove(key, None)
        elif key in self._informer.store:  # it has another owner: the previous one is woken
            self._informer.upsert(key, obj, listed=listed)
            self._informer.drop(key)
        else:
            self._dropped()

    def remove(self, key: NamespacedName, obj: dict[str, Any] | None) -> None:
        """Remove an object that was deleted."""
        if key in self.index:
            self._note_deletion(key, obj)
        self._informer.remove(key, obj)

    def known(self, namespace: str | None, number: int | None) -> list[NamespacedName]:
        """The mirrored keys of a namespace, and of a range."""
        keys = self._informer.store.all_keys(namespace)
        return keys if number is None else [key for key in keys if number in self._numbers_of_stored(key)]

    def holds(self, key: NamespacedName, number: int | None) -> bool:
        """Whether the mirrored object of this name is in a range. There may be a newer one in another range."""
        return number is None or number in self._numbers_of_stored(key)

    # -- inside

    def _has_newer(self, key: NamespacedName, obj: dict[str, Any]) -> bool:
        """Whether a late event is of a former root. Nothing orders the events of two watches."""
        stored = self._informer.store.peek(key)
        version = obj["metadata"].get("resourceVersion", "")
        return stored is not None and version_of(stored.resource_version) > version_of(version)

    def _note_deletion(self, key: NamespacedName, obj: dict[str, Any] | None) -> None:
        number = self.index.pop(key)
        if number in self._kept:  # else another replica cleans up
            obj = obj or self._informer.store.get(key) or {"metadata": {}}
            self.former.note(key, obj["metadata"].get("uid", ""), number)

    def _is_orphan(self, key: NamespacedName, obj: dict[str, Any], numbers: Collection[int]) -> bool:
        """Whether an owner in some ranges is gone. Remembers it, so that this replica cleans up after it."""
        found = False
        for owner in obj["metadata"].get("ownerReferences") or ():
            part = self.roots.get((owner["apiVersion"].rpartition("/")[0], owner["kind"]))
            # A cluster-scoped root has no namespace. Which of the names is meant does not matter here.
            names = [NamespacedName(namespace, owner["name"]) for namespace in (key.namespace, "")]
            if part is None or any(map(part.works_on, names)):
                continue
            number = self._ranges.of_object({"uid": owner["uid"], "namespace": key.namespace})
            if number in numbers:
                found = True
                for name in names:
                    part.former.note(name, owner["uid"], number)
        return found

    async def _listed(self, numbers: frozenset[int]) -> None:
        limit = self._sync_timeout
        try:
            async with asyncio.timeout(None if self._was_listed else limit.total_seconds()):
                # Another change can replace a stream before its list is complete.
                while waiting := await self._unlisted(numbers):
                    await asyncio.gather(*(stream.progress.wait() for stream in waiting))
        except TimeoutError:
            raise self._informer.not_listed(limit) from None
        self._was_listed = True

    async def _unlisted(self, numbers: frozenset[int]) -> list[_Stream]:
        async with self._changing:  # a change stops streams before it starts others
            return [one for one in self.streams.values() if not one.is_listed and one.concerns(numbers)]

    def _filter_is_gone(self) -> None:
        """The server was restarted without its filter. Then one stream must do: each brings everything."""
        if self.server_filters and self._tasks is not None:
            self.server_filters = False
            logger.warning(
                "the API server no longer filters by shard: it sends all objects to each replica",
                extra={"kind": self._informer.gvk.kind},
            )
            self._tasks.create_task(self._join_streams())

    async def _join_streams(self) -> None:
        async with self._changing:
            await self._stop(tuple(self.streams))
            if self._kept:
                self._start(self._targets)

    @property
    def _needs_own(self) -> bool:
        return self.use.root or self._ranges.by is ShardBy.NAMESPACE

    def _numbers(self, obj: dict[str, Any], own: int | None) -> set[int]:
        numbers = set() if own is None else {own}
        if self.use.owned and self._ranges.by is ShardBy.UID:
            numbers |= {self._ranges.of(uid) for uid in owner_uids(obj)}
        return numbers

    def _numbers_of_stored(self, key: NamespacedName) -> set[int]:
        if self._ranges.by is ShardBy.NAMESPACE:
            return {self._ranges.of_object({"namespace": key.namespace})}
        numbers = {self.index[key]} if key in self.index else set()
        stored = self._informer.store.peek(key)
        if self.use.owned and stored is not None:
            numbers |= {self._ranges.of(uid) for uid in stored.values[0]}  # the store's own index comes first
        return numbers

    def _of(self, target: WatchTarget, number: int) -> WatchTarget:
        return replace(target, shard=self._ranges.selector(number))

    def _start(self, targets: Iterable[WatchTarget], number: int | None = None) -> None:
        assert self._tasks is not None and self._source is not None  # noqa: PT018, S101 - it runs
        for target in targets:
            if target not in self.streams:
                stream = self.streams[target] = _Stream(self, self._informer, number)
                stream.task = self._tasks.create_task(stream.run(target, self._source))

    async def _stop(self, targets: Iterable[WatchTarget]) -> None:
        stopped = [self.streams.pop(target) for target in targets if target in self.streams]
        await asyncio.gather(*(stream.stop() for stream in stopped))


@dataclass(slots=True, eq=False)
class _Stream:
    """One list and watch of a part: of one of its ranges, or of all."""

    part: ShardPart
    informer: Informer[Any]
    number: int | None
    task: asyncio.Task[None] | None = None
    is_listed: bool = False
    progress: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the list is complete, or the stream has ended."""

    def concerns(self, numbers: frozenset[int]) -> bool:
        return self.number is None or self.number in numbers

    async def run(self, target: WatchTarget, source: ListWatch) -> None:
        reflector = self.informer.reflect(target, source, self)
        try:
            await reflector.run()
        finally:
            self.informer.stop_reflecting(target, reflector)
            self.progress.set()

    async def stop(self) -> None:
        if self.task is not None:
            await end_tasks(self.task)
            self.progress.set()  # also if it had not begun

    # -- as a sink

    def upsert(self, key: NamespacedName, obj: dict[str, Any], *, listed: bool) -> None:
        self.part.upsert(key, obj, self.number, listed=listed)

    def remove(self, key: NamespacedName, obj: dict[str, Any] | None) -> None:
        if self.part.holds(key, self.number):
            self.part.remove(key, obj)

    def known(self, namespace: str | None) -> list[NamespacedName]:
        return self.part.known(namespace, self.number)

    def synced(self, target: WatchTarget) -> None:
        self.informer.synced(target)
        self.is_listed = True
        self.progress.set()

    def failed(self, target: WatchTarget, problem: str) -> None:
        self.informer.failed(target, problem)

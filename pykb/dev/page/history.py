"""What the page shows: the last records of the manager, its restarts and the objects of the cluster. All is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from pykb.runtime.records.lines import NOT_TOLD

MOST_RECORDS = 5000
MOST_RECORDS_OF_AN_OBJECT = 200
MOST_BYTES = 32 * 1024 * 1024
_MOST_RUNNING = 1000
_MOST_RESTARTS = 200
_MOST_RECENT = 5000
"""Events that a page that was away can catch up with."""

_MOST_KINDS = 50

_LONGEST_LINE = 1024 * 1024


@contextlib.asynccontextmanager
async def received(history: History, path: Path) -> AsyncIterator[None]:
    """Take the records that managers send to a Unix socket at this path."""
    managers: dict[asyncio.StreamWriter, asyncio.Task[Any] | None] = {}

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        managers[writer] = asyncio.current_task()
        try:
            while line := await _line_of(reader):
                history.record(line)
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()
            del managers[writer]

    server = await asyncio.start_unix_server(take, path, limit=_LONGEST_LINE)
    try:
        yield
    finally:
        server.close()
        ending = [task for task in managers.values() if task is not None]
        for writer in managers:
            writer.transport.abort()
        await asyncio.gather(*ending, return_exceptions=True)


async def _line_of(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:  # a line without an end: what was read of it is forgotten
        return b'{"event": "dropped", "records": 1}'


@dataclass(frozen=True, slots=True)
class Entry:
    """One event for the page.

    Attributes:
        number: Its place in the order of all events.
        event: Its name.
        data: Its JSON.
    """

    number: int
    event: str
    data: bytes

    def encoded(self) -> bytes:
        """As server-sent event. JSON has no line ends."""
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (self.number, self.event.encode(), self.data)


class History:
    """The events. A page that connects gets what is kept, and then each new one.

    Attributes:
        kinds: The API versions and kinds that the records name.
        named: The objects that the records name: kind, namespace and name.
        readers: How many pages read now.
    """

    def __init__(self, **about: str) -> None:
        """Begin without events. ``about`` is told to each page."""
        self.kinds: dict[tuple[str, str], None] = {}
        self.named: dict[tuple[str, str, str], None] = {}
        self.readers = 0
        self._about = about
        self._number = 0
        self._records: OrderedDict[int, tuple[Entry, tuple[str, str]]] = OrderedDict()
        self._by_object: dict[tuple[str, str], deque[int]] = {}
        self._running: dict[str, Entry] = {}
        self._restarts: deque[Entry] = deque(maxlen=_MOST_RESTARTS)
        self._explored: Entry | None = None
        self._objects: dict[str, Entry] = {}
        self._recent: deque[Entry] = deque()
        self._size = self._recent_size = self._running_size = 0
        self._dropped = 0
        self._more = asyncio.Event()

    def record(self, line: bytes) -> None:
        """Keep a record of the manager. A line that is none is left out."""
        try:
            told = orjson.loads(line)
            event = told.pop("event")
            identity, key = str(told.get("id", "")), (str(told.get("controller", "")), str(told.get("request", "")))
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        match event:
            case "started" if identity:
                self._end(identity)
                entry = self._running[identity] = self._add(event, told)
                self._running_size += len(entry.data)
                while len(self._running) > _MOST_RUNNING or self._running_size > MOST_BYTES:
                    self._end(next(iter(self._running)))
            case "ended" if identity:
                self._end(identity)
                self._keep(self._add(event, told), key)
                self._note_kinds(told)
            case "dropped" if isinstance(told.get("records"), int):
                self._dropped += told["records"]
                self._add(event, {"records": told["records"]})

    def restarted(self, told: Mapping[str, Any]) -> None:
        """Keep that the manager has started or ended. What ran then never ends."""
        self._running.clear()
        self._running_size = 0
        self._restarts.append(self._add("manager", told))

    def explored(self, told: Mapping[str, Any]) -> None:
        """Keep what the explorer says, in place of what it said before."""
        self._explored = self._add("findings", told)

    def show(self, uid: str, told: Mapping[str, Any]) -> None:
        """Keep an object in place of its last version."""
        self._objects[uid] = self._add("object", told)

    def gone(self, uid: str) -> None:
        """Forget an object."""
        self._objects.pop(uid, None)
        self._add("gone", {"uid": uid})

    async def follow(self, after: int | None = None) -> AsyncGenerator[list[Entry], None]:
        """Yield all events that are kept, or those after one that a page has, and then each new one."""
        self.readers += 1
        try:
            while True:
                if after is None or not self._number - len(self._recent) <= after <= self._number:
                    after = self._number
                    yield [*self._kept()]
                missing = self._number - after  # the numbers of recent events have no gaps
                new = [*islice(self._recent, len(self._recent) - missing, None)] if missing else []
                if new:
                    after = new[-1].number
                    yield new
                else:
                    more = self._more
                    await more.wait()
        finally:
            self.readers -= 1

    def _kept(self) -> Iterable[Entry]:
        about = {**self._about, "dropped": self._dropped, "now": time.time()}
        begin = Entry(self._number, "reset", orjson.dumps(about))
        records = (entry for entry, _ in self._records.values())
        explored = [self._explored] if self._explored is not None else []
        every = chain(explored, self._restarts, records, self._objects.values(), self._running.values())
        yield begin
        yield from sorted(every, key=lambda entry: entry.number)
        yield Entry(self._number, "ready", b"{}")

    def _add(self, event: str, told: Mapping[str, Any]) -> Entry:
        self._number += 1
        entry = Entry(self._number, event, orjson.dumps(told))
        self._recent.append(entry)
        self._recent_size += len(entry.data)
        while len(self._recent) > _MOST_RECENT or self._recent_size > MOST_BYTES:
            self._recent_size -= len(self._recent.popleft().data)
        more, self._more = self._more, asyncio.Event()
        more.set()
        return entry

    def _end(self, identity: str) -> None:
        if (entry := self._running.pop(identity, None)) is not None:
            self._running_size -= len(entry.data)

    def _keep(self, entry: Entry, key: tuple[str, str]) -> None:
        self._records[entry.number] = entry, key
        numbers = self._by_object.setdefault(key, deque())
        numbers.append(entry.number)
        self._size += len(entry.data)
        if len(numbers) > MOST_RECORDS_OF_AN_OBJECT:
            self._forget(numbers[0])
        while len(self._records) > MOST_RECORDS or self._size > MOST_BYTES:
            self._forget(next(iter(self._records)))

    def _forget(self, number: int) -> None:
        entry, key = self._records.pop(number)
        self._size -= len(entry.data)
        self._dropped += 1
        numbers = self._by_object[key]
        numbers.popleft()
        if not numbers:
            del self._by_object[key]

    def _note_kinds(self, told: Mapping[str, Any]) -> None:
        with contextlib.suppress(KeyError, TypeError, AttributeError):  # a record of somebody else
            for each in (*told["sent"], *told["causes"]):
                found = each["object"]
                if found and found["kind"] and found["kind"] not in NOT_TOLD and len(self.kinds) < _MOST_KINDS:
                    self.kinds[str(found["apiVersion"]), str(found["kind"])] = None
                    self.named[str(found["kind"]), str(found["namespace"]), str(found["name"])] = None
            while len(self.named) > MOST_RECORDS:
                del self.named[next(iter(self.named))]

"""What the page shows: the last records of the manager, its restarts and the objects of the cluster. All is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson

from pykb.dev.page._events import DROPPED, FROM_MANAGER, LONGEST_LINE, read_event
from pykb.meta.names import SUBDOMAIN_LENGTH
from pykb.runtime.records.lines import NOT_TOLD

K = TypeVar("K", bound=Hashable)

MOST_RECORDS = 5000
MOST_RECORDS_OF_AN_OBJECT = 200
MOST_BYTES = 32 * 1024 * 1024
_MOST_RUNNING = 1000
_MOST_RESTARTS = 200
_MOST_RECENT = 5000
"""Events that a page that was away can catch up with."""

MOST_OBJECTS = 5000
_CHUNK = 64 * 1024
_MOST_KINDS = 50


@contextlib.asynccontextmanager
async def received(history: History, path: Path) -> AsyncIterator[None]:
    """Take the records that managers send to a Unix socket at this path."""
    managers: dict[asyncio.StreamWriter, asyncio.Task[Any] | None] = {}

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        managers[writer] = asyncio.current_task()
        try:
            await take(history, _chunks(reader))
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()
            del managers[writer]

    server = await asyncio.start_unix_server(connected, path)
    try:
        yield
    finally:
        server.close()
        ending = [task for task in managers.values() if task is not None]
        for writer in managers:
            writer.transport.abort()
        await asyncio.gather(*ending, return_exceptions=True)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while chunk := await reader.read(_CHUNK):
        yield chunk


async def take(history: History, chunks: AsyncIterator[bytes], silence: timedelta | None = None) -> None:
    """Take the records of a stream of lines, until it ends or is silent for so long."""
    limit = silence.total_seconds() if silence is not None else None
    rest, skips = b"", False
    while True:
        try:
            async with asyncio.timeout(limit):
                chunk = await anext(chunks)
        except (StopAsyncIteration, TimeoutError):
            return
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if not skips:
                with contextlib.suppress(ValueError):
                    history.record(line)
            skips = False
        if len(rest) > LONGEST_LINE:
            if not skips:
                history.record(DROPPED)
            rest, skips = b"", True


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

    def line(self) -> bytes:
        """As a line of JSON, in the form in which managers send them."""
        return b'{"event":"%s",%s\n' % (self.event.encode(), self.data[1:])


class _Kept(Generic[K]):
    """Entries by a key, the oldest first: no more than a number of them, and no more than :data:`MOST_BYTES`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[K, Entry] = OrderedDict()
        self._size = 0

    def put(self, key: K, entry: Entry) -> None:
        self.pop(key)
        self._entries[key] = entry
        self._size += len(entry.data)
        while len(self._entries) > self._most or self._size > MOST_BYTES:
            self.pop(next(iter(self._entries)))

    def pop(self, key: K) -> None:
        if (entry := self._entries.pop(key, None)) is not None:
            self._size -= len(entry.data)

    def clear(self) -> None:
        self._entries.clear()
        self._size = 0

    def all(self) -> Collection[Entry]:
        return self._entries.values()

    def last(self, number: int) -> list[Entry]:
        return [*islice(reversed(self._entries.values()), number)][::-1]


class History:
    """The events. A page that connects gets what is kept, and then each new one.

    Attributes:
        kinds: The API versions and kinds that the records name.
        named: The objects that the records name: kind, namespace and name.
        readers: How many pages read now.
        write: Called with each new event, before it is kept.
        until: When the last event of a recording was; 0 if more events come.
    """

    def __init__(self, *, project: str = "", cluster: str = "", source: str = "", editor: str = "") -> None:
        """Begin without events.

        Args:
            project: The name of the project.
            cluster: The cluster of the manager.
            source: Where the records come from, if not from this program's own manager.
            editor: The address that opens a file in the user's editor, with ``{path}`` and ``{line}``. Empty if the
                code is not on this machine. A recording does not have it.
        """
        self.kinds: dict[tuple[str, str], None] = {}
        self.named: dict[tuple[str, str, str], None] = {}
        self.readers = 0
        self.write: Callable[[Entry], None] | None = None
        self.until = 0.0
        self._about = {"project": project, "cluster": cluster, "source": source}
        self._editor = editor
        self._number = 0
        self._records: OrderedDict[int, tuple[Entry, tuple[str, str]]] = OrderedDict()
        self._by_object: dict[tuple[str, str], deque[int]] = {}
        self._size = 0
        self._running = _Kept[str](_MOST_RUNNING)
        self._restarts = _Kept[int](_MOST_RESTARTS)
        self._objects = _Kept[str](MOST_OBJECTS)
        self._recent = _Kept[int](_MOST_RECENT)
        self._explored: Entry | None = None
        self._dropped = 0
        self._more = asyncio.Event()

    def record(self, line: bytes) -> None:
        """Keep a record of the manager.

        Raises:
            ValueError: The line is not one. The message says what is wrong.
        """
        self.add(*read_event(line, FROM_MANAGER))

    def add(self, event: str, told: Mapping[str, Any]) -> None:
        """Keep an event, which has the shape of its name."""
        match event:
            case "started":
                self._running.put(told["id"], self._add(event, told))
            case "ended":
                self._running.pop(told["id"])
                self._keep(self._add(event, told), (told["controller"], told["request"]))
                self._note_kinds(told)
            case "webhook":
                self._keep(self._add(event, told), (told["path"], orjson.dumps(told["object"]).decode()))
            case "dropped":
                self._dropped += int(told["records"])
                self._add(event, told)
            case "manager":
                if told["state"] != "waiting":  # what ran then never ends
                    self._running.clear()
                entry = self._add(event, told)
                self._restarts.put(entry.number, entry)
            case "findings":
                self._explored = self._add(event, told)
            case "object":
                self._objects.put(told["uid"], self._add(event, told))
            case "gone":
                self._objects.pop(told["uid"])
                self._add(event, told)
            case "about":
                self._about = {key: told[key] for key in self._about}
                self._add(event, told)

    def drawn(self) -> str:
        """The explorer's page with a drawing of each finding, as HTML. Empty if there is none."""
        return orjson.loads(self._explored.data)["html"] if self._explored is not None else ""

    def end(self, recording: str, until: float) -> None:
        """Say that this is what a recording has, whose last event was at this time."""
        of = f" of {self._about['source']}" if self._about["source"] else ""
        self._about["source"] = f"recording {recording}{of}"
        self.until = until

    async def follow(self, after: int | None = None) -> AsyncGenerator[list[Entry], None]:
        """Yield all events that are kept, or those after one that a page has, and then each new one."""
        self.readers += 1
        try:
            while True:
                if after is None or not self._number - len(self._recent.all()) <= after <= self._number:
                    after = self._number
                    yield [self._reset(), *self._kept(), Entry(self._number, "ready", b"{}")]
                missing = self._number - after  # the numbers of recent events have no gaps
                new = self._recent.last(missing)
                if new:
                    after = new[-1].number
                    yield new
                else:
                    more = self._more
                    await more.wait()
        finally:
            self.readers -= 1

    @property
    def is_followed(self) -> bool:
        """Whether a page reads it, or a file gets it."""
        return self.readers > 0 or self.write is not None

    def _reset(self) -> Entry:
        told: dict[str, object] = {**self._about, "editor": self._editor, "dropped": self._dropped}
        told |= {"now": self.until or time.time(), "isOver": self.until > 0}
        return Entry(self._number, "reset", orjson.dumps(told))

    def snapshot(self) -> Iterable[Entry]:
        """All that another history needs to become like this one."""
        yield Entry(0, "about", orjson.dumps(self._about))
        yield Entry(0, "dropped", orjson.dumps({"records": self._dropped}))
        yield from self._kept()

    def _kept(self) -> Iterable[Entry]:
        """All that is kept, in the order in which it happened."""
        records = (entry for entry, _ in self._records.values())
        explored = [self._explored] if self._explored is not None else []
        every = chain(explored, self._restarts.all(), records, self._objects.all(), self._running.all())
        return sorted(every, key=lambda entry: entry.number)

    def _add(self, event: str, told: Mapping[str, Any]) -> Entry:
        self._number += 1
        entry = Entry(self._number, event, orjson.dumps(told))
        self._recent.put(entry.number, entry)
        if self.write is not None:
            self.write(entry)
        more, self._more = self._more, asyncio.Event()
        more.set()
        return entry

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
        for each in (*told["sent"], *told["causes"]):
            found = each["object"]
            if found and found["kind"] and found["kind"] not in NOT_TOLD and len(self.kinds) < _MOST_KINDS:
                self.kinds[found["apiVersion"], found["kind"]] = None
                if len(found["name"]) <= SUBDOMAIN_LENGTH:
                    self.named[found["kind"], found["namespace"], found["name"]] = None
        while len(self.named) > MOST_RECORDS:
            del self.named[next(iter(self.named))]

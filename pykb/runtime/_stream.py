"""Sends a record of each reconcile and webhook call to `pykb dev` or `pykb inspect`, as a line of JSON.

`pykb dev`, which starts the manager, listens on a Unix socket and passes its path in ``PYKB_RECORDS``. `pykb inspect`
reads the endpoint of a manager in a cluster. A program that does not read, or is gone, neither stops nor delays the
manager: what it does not take in time is dropped, and counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Self

import orjson

from pykb.api.safe_text import error_text, safe_text
from pykb.client.guard import running_loop
from pykb.runtime._logging import message_of
from pykb.runtime.records.causes import (
    FieldChange,
    ObjectId,
    ReconcileCause,
    ReconcileId,
    ReconcileListener,
    ReconcileRecord,
    SentRequest,
    WebhookListener,
    WebhookRecord,
)
from pykb.runtime.records.context import current_reconcile, current_webhook, reconciles
from pykb.runtime.records.lines import own_line_of, own_traceback

_MOST_WAITING = 4 * 1024 * 1024
"""Bytes that wait for the reader."""

MOST_READERS = 8
LASTS = timedelta(minutes=30)
"""How long somebody follows the records before they have to show again that they may."""

_ALIVE = timedelta(seconds=15)
_BATCH = 64 * 1024

LARGEST = 256 * 1024
"""The most bytes of a record. A larger one goes without its logs and changes."""

_MOST_SENT = 200
_MOST_LOGS = 50
_MOST_CHANGES = 100
_LONGEST_VALUE = 2000
_FEW_CHANGES = 20
_MOST_RUNNING = 1000
"""Reconciles and calls whose log lines are kept until they end."""


class _Waiting:
    """Lines that wait for one reader. What does not fit is dropped, and counted."""

    def __init__(self) -> None:
        self.lines: deque[bytes] = deque()
        self._size = 0
        self._dropped = 0

    def put(self, line: bytes) -> None:
        if self._size + len(line) > _MOST_WAITING:
            self._dropped += 1
            return
        if self._dropped:
            self._append(orjson.dumps({"event": "dropped", "records": self._dropped}))
            self._dropped = 0
        self._append(line)

    def take(self) -> bytes:
        """The first line, or what is left of it."""
        line = self.lines.popleft()
        self._size -= len(line)
        return line

    def take_some(self) -> bytes:
        """The first lines, about as many as fit into one write."""
        some = bytearray()
        while self.lines and len(some) < _BATCH:
            some += self.take()
        return bytes(some)

    def put_back(self, rest: bytes) -> None:
        self.lines.appendleft(rest)
        self._size += len(rest)

    def _append(self, line: bytes) -> None:
        self.lines.append(line + b"\n")
        self._size += len(line) + 1


class _Records(ReconcileListener, WebhookListener, ABC):
    """Writes the records as lines, for whoever reads them."""

    def __init__(self) -> None:
        self._logs = _Logs()

    @property
    @abstractmethod
    def is_read(self) -> bool:
        """Whether somebody reads them."""

    @abstractmethod
    def send(self, line: bytes) -> None:
        """Send a line."""

    def watch_logs(self) -> None:
        """Send the log lines of reconciles and of webhook calls with them."""
        logging.getLogger().addHandler(self._logs)

    def leave_logs(self) -> None:
        """Keep no more log lines."""
        logging.getLogger().removeHandler(self._logs)
        self._logs.forget()

    def started(self, record: ReconcileRecord) -> None:
        """Send that a reconcile runs."""
        self._logs.begin(record.id.id)
        self._send({"event": "started", **_beginning(record, time.time())})

    def ended(self, record: ReconcileRecord) -> None:
        """Send what a reconcile did."""
        result = record.result
        told = {
            "event": "ended",
            **_beginning(record, time.time() - record.seconds),
            "seconds": record.seconds,
            "outcome": "error" if record.error is not None else "ok" if result is not None else "cancelled",
            "requeueAfter": _seconds(result.requeue_after if result is not None else None),
            "error": _error(record.error),
            "failures": record.failures,
            "nextTry": _seconds(record.next_try),
            "sent": [_sent(each) for each in record.sent[:_MOST_SENT]],
            "moreSent": max(0, len(record.sent) - _MOST_SENT),
            **self._logs.end(record.id.id),
        }
        self._send(told)

    def called(self, record: WebhookRecord) -> None:
        """Begin to keep the log lines of a call."""
        self._logs.begin(record.id)

    def answered(self, record: WebhookRecord) -> None:
        """Send what a webhook was asked, and what it answered."""
        told = {
            "event": "webhook",
            "id": record.id,
            "type": record.type,
            "path": record.path,
            "at": time.time() - record.seconds,
            "seconds": record.seconds,
            "object": _object(record.object),
            "objects": record.objects,
            "operation": record.operation,
            "subresource": record.subresource,
            "user": record.user,
            "dryRun": record.dry_run,
            "sentBy": None if record.sent_by is None else _identity(record.sent_by),
            "before": record.before,
            "after": record.after,
            "changes": _changes(record.changes),
            "allowed": record.allowed,
            "message": record.message,
            "fields": [{"field": field, "message": message} for field, message in record.fields],
            "warnings": record.warnings,
            "error": _error(record.error),
            **self._logs.end(record.id),
        }
        self._send(told)

    def _send(self, told: dict[str, Any]) -> None:
        if not self.is_read:
            return
        line = _encoded(told)
        self.send(line if len(line) <= LARGEST else _encoded(_reduced(told)))


class RecordStream(_Records):
    """Sends the records to a socket.

    Args:
        connection: A connected socket. It is closed when the other side is gone.
    """

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        connection.setblocking(False)
        self._connection: socket.socket | None = connection
        self._waiting = _Waiting()
        self._is_full = False

    @classmethod
    def connected(cls, path: str) -> Self | None:
        """Connect to a socket. ``None`` if nobody listens there."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(path)
        except (OSError, ValueError):
            connection.close()
            return None
        return cls(connection)

    @property
    def is_read(self) -> bool:
        """Whether the connection is open."""
        return self._connection is not None

    def send(self, line: bytes) -> None:
        """Send a line, or let it wait."""
        self._flush()
        self._waiting.put(line)
        self._flush()

    def close(self) -> None:
        """Close the connection."""
        self.leave_logs()
        self._follow(is_full=False)
        connection, self._connection = self._connection, None
        self._waiting = _Waiting()
        if connection is not None:
            connection.close()

    def _follow(self, *, is_full: bool) -> None:
        """Let the event loop send what waits when the reader takes it."""
        loop = running_loop()
        if loop is None or self._connection is None or is_full is self._is_full:
            return
        self._is_full = is_full
        if is_full:
            loop.add_writer(self._connection, self._flush)
        else:
            loop.remove_writer(self._connection)

    def _flush(self) -> None:
        """Send what the reader takes at once. The rest goes when it reads on."""
        while self._waiting.lines and self._connection is not None:
            line = self._waiting.take()
            try:
                taken = self._connection.send(line)
            except BlockingIOError:
                taken = 0
            except OSError:
                self.close()
                return
            if taken < len(line):
                self._waiting.put_back(line[taken:])
                self._follow(is_full=True)
                return
        self._follow(is_full=False)


class RecordFeed(_Records):
    """Gives the records to whoever follows them. Records are made only while somebody does.

    Args:
        listen: Begins to pass records to this feed.
        leave: Ends that.
    """

    def __init__(self, listen: Callable[[_Records], None], leave: Callable[[_Records], None]) -> None:
        super().__init__()
        self._listen = listen
        self._leave = leave
        self._readers: list[tuple[_Waiting, asyncio.Event]] = []

    @property
    def is_read(self) -> bool:
        """Whether somebody follows."""
        return bool(self._readers)

    @property
    def is_full(self) -> bool:
        """Whether as many follow as may."""
        return len(self._readers) >= MOST_READERS

    def send(self, line: bytes) -> None:
        """Let a line wait for each reader."""
        for waiting, more in self._readers:
            waiting.put(line)
            more.set()

    async def follow(self) -> AsyncGenerator[bytes, None]:
        """Yield the records from now on, as whole lines. An empty line says that there are none for a while.

        It ends after :data:`LASTS`.
        """
        reader = waiting, more = _Waiting(), asyncio.Event()
        if not self._readers:
            self.watch_logs()
            self._listen(self)
        self._readers.append(reader)
        loop = asyncio.get_running_loop()
        end = loop.time() + LASTS.total_seconds()
        try:
            while loop.time() < end:
                yield waiting.take_some() or b"\n"
                if not waiting.lines:
                    more.clear()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(more.wait(), _ALIVE.total_seconds())
        finally:
            self._readers.remove(reader)
            if not self._readers:
                self._leave(self)
                self.leave_logs()


class _Logs(logging.Handler):
    """Keeps the log lines of the reconciles and webhook calls that run."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: dict[str, tuple[list[dict[str, Any]], list[int]]] = {}

    def begin(self, identity: str) -> None:
        """Keep the lines of a reconcile or a call from now on."""
        self._lines[identity] = ([], [0])
        if len(self._lines) > _MOST_RUNNING:
            del self._lines[next(iter(self._lines))]

    def end(self, identity: str) -> dict[str, Any]:
        """The lines of a reconcile or a call, and how many more there were."""
        lines, [more] = self._lines.pop(identity, ([], [0]))
        return {"logs": lines, "moreLogs": more}

    def forget(self) -> None:
        """Forget the lines of what runs now."""
        self._lines.clear()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, if a reconcile or a webhook has written it."""
        call, context = current_webhook.get(), current_reconcile.get()
        identity = call.id if call is not None else context.reconcile_id if context is not None else ""
        if record.name == reconciles.name or (kept := self._lines.get(identity)) is None:
            return
        lines, more = kept
        if len(lines) < _MOST_LOGS:
            level = record.levelname.lower()
            lines.append({"at": record.created, "level": level, "message": message_of(record)})
        else:
            more[0] += 1


def _beginning(record: ReconcileRecord, at: float) -> dict[str, Any]:
    return {
        **_identity(record.id),
        "object": _object(record.object),
        "at": at,
        "causes": [_cause(each) for each in record.causes],
        "moreCauses": record.more_causes,
        "queued": record.queued,
    }


def _cause(cause: ReconcileCause) -> dict[str, Any]:
    writer = cause.written_by
    return {
        "kind": str(cause.kind),
        "event": None if cause.event is None else str(cause.event),
        "object": _object(cause.object),
        "changes": _changes(cause.changes),
        "fieldManager": cause.field_manager,
        "writtenBy": None if writer is None else _identity(writer),
    }


def _identity(identity: ReconcileId) -> dict[str, str]:
    return {"id": identity.id, "controller": identity.controller, "request": safe_text(identity.request)}


def _object(identity: ObjectId | None) -> dict[str, str] | None:
    if identity is None:
        return None
    api_version, kind, namespace, name = identity
    return {"apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name}


def _changes(changes: Sequence[FieldChange]) -> list[dict[str, Any]]:
    return [
        {"path": each.path[:_LONGEST_VALUE], "before": _short(each.before), "after": _short(each.after)}
        for each in changes[:_MOST_CHANGES]
    ]


def _short(value: Any) -> Any:
    """A value that is not too long to be shown; a long one as the beginning of its text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = _encoded(value).decode()
    return value if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _sent(sent: SentRequest) -> dict[str, Any]:
    return {
        "method": sent.method,
        "object": _object(sent.object),
        "subresource": sent.subresource,
        "changes": _changes(sent.changes),
        "dryRun": sent.dry_run,
        "error": sent.error,
        "seconds": sent.seconds,
        "place": {"path": sent.path, "line": int(sent.place.rpartition(":")[2])} if sent.path else None,
    }


def _error(error: BaseException | None) -> dict[str, Any] | None:
    if error is None:
        return None
    line = own_line_of(error)
    return {
        "type": type(error).__name__,
        "message": error_text(error),
        "place": {"path": line[0], "line": line[1]} if line else None,
        "traceback": own_traceback(error),
    }


def _encoded(value: Any) -> bytes:
    return orjson.dumps(value, default=safe_text, option=orjson.OPT_NON_STR_KEYS)


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


def _reduced(told: Mapping[str, Any]) -> dict[str, Any]:
    """A record without what makes one large."""
    if told["event"] == "webhook":
        less = {"before": None, "after": None, "changes": told["changes"][:_FEW_CHANGES]}
        return {**told, **less, "logs": [], "isReduced": True}
    causes = [{**each, "changes": []} for each in told["causes"][:20]]
    sent = [{**each, "changes": []} for each in told.get("sent", [])]
    return {**told, "causes": causes, "sent": sent, "logs": [], "isReduced": True}

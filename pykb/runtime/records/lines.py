"""Tells a reconcile in one line: why it ran, what it sent and wrote, how it ended, and where in the program.

`pykb dev` and the explorer print these lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import secrets
import sys
import sysconfig
import traceback
from collections.abc import Awaitable, Hashable, Iterator
from datetime import timedelta
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from pykb.api.safe_text import LONGEST_TRACE, error_text, safe_trace, without_values
from pykb.client.bridge import waiting_thread
from pykb.client.clock import Clock
from pykb.client.connection import CacheReader, Call, Route, is_dry_run, parse_path
from pykb.client.json_text import writable
from pykb.client.task import reset, trace_parent
from pykb.diagnostics.render import visible
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.cache.event import EventType
from pykb.runtime.records.causes import (
    CauseKind,
    FieldChange,
    ObjectId,
    ReconcileCause,
    ReconcileListener,
    ReconcileRecord,
    SentRequest,
    changes_between,
)
from pykb.runtime.records.context import Ledger, reconciles
from pykb.runtime.requests.reconcile import SAYS_ENOUGH

_WITHOUT_EVENT = {
    CauseKind.RETRY: "the last reconcile failed",
    CauseKind.REQUEUE_AFTER: "it asked to come back",
    CauseKind.PROGRAM: "the program asked for it",
}
_DONE = {"POST": "creates", "PUT": "updates", "PATCH": "patches", "DELETE": "deletes"}
NOT_TOLD = {"Event", "Lease"}
"""Kinds that say what an operator does. They are not what it does."""

_MOST_WRITES = 4
_LONGEST = 600
"""The characters of a line without its end."""

_LONGEST_MESSAGE = 300
"""The characters of an error's message. It comes from outside, as names do."""

_MOST_REQUESTS = 4096
"""Requests whose last line is remembered."""

QUIET = timedelta(seconds=1)
"""For how long a line is not printed again for the same request."""


def shortened(text: str, longest: int = _LONGEST_MESSAGE) -> str:
    """A text from outside, on one line and not too long."""
    text = visible(" ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def because(record: ReconcileRecord) -> str:
    """The last event that woke a reconcile, or else the last cause; empty if no causes were noted."""
    every = sorted(record.causes, key=lambda cause: cause.kind is CauseKind.EVENT)
    return _told(every[-1], record) if every else ""


def _told(cause: ReconcileCause, record: ReconcileRecord) -> str:
    if cause.object is None or cause.event is None:
        return _WITHOUT_EVENT[cause.kind]
    what = f"{cause.object.kind} {cause.object.name}"
    if cause.kind is CauseKind.INITIAL:
        return f"it found {what} when it started"
    if cause.kind is CauseKind.RESYNC:
        return f"{what} was looked at again"
    if cause.event is EventType.GENERIC:
        return f"of an event of {what}"
    if cause.event is not EventType.UPDATE:
        return f"{what} was {cause.event}d"
    if not cause.changes:
        return f"{what} was written, without a change"
    did = _done_to(what, cause)
    writer = cause.written_by
    if writer is None:
        return f"somebody else {did}"
    if (writer.controller, writer.request) == (record.id.controller, record.id.request):
        return f"it {did} itself"
    if writer.controller == record.id.controller:
        return f"it {did} itself, for {writer.request}"
    return f"the controller {writer.controller} {did}"


def _done_to(what: str, cause: ReconcileCause) -> str:
    if any(each.path == "metadata.deletionTimestamp" for each in cause.changes):
        return f"asked to delete {what}"
    changed = sorted(cause.changes, key=lambda each: each.path.startswith("metadata."))
    first, *more = [f"`{each.path}`" for each in changed]
    fields = f"{first} and {len(more)} more field{'s' * (len(more) > 1)}" if more else first
    return f"changed {fields} of {what}"


def line_of(record: ReconcileRecord) -> str:
    """One line for a reconcile. It has no control characters."""
    why = f", because {because(record)}" if record.causes else ""
    return f"{shortened(f'{_subject(record)}{why}: {_written(record)}', _LONGEST)}; {end_of(record)}"


def _subject(record: ReconcileRecord) -> str:
    return f"{record.id.controller} {record.id.request}"


def end_of(record: ReconcileRecord) -> str:
    """How a reconcile ended, and when it runs again."""
    error = record.error
    if error is not None:
        return f"fails with {shortened(error_text(error))}{_in_brackets(place_of(error))}, {_next_try(record)}"
    if record.result is None:
        return "cancelled"
    done = f"done in {_span(timedelta(seconds=record.seconds))}"
    after = record.result.requeue_after
    return f"{done}, again in {_span(after)}" if after else done


def place_of(error: BaseException) -> str:
    """The last line of the program's own code in a traceback, such as ``vm_controller.py:31``; empty without one."""
    own = own_line_of(error)
    return _named(*own) if own else ""


def own_line_of(error: BaseException) -> tuple[str, int] | None:
    """The file and the number of the last line of the program's own code in a traceback."""
    own = [(file, line) for file, line, _ in _own_frames(error.__traceback__)]
    return own[-1] if own else None


def _own_line(frame: FrameType | None, thread: int | None = None) -> tuple[str, int] | None:
    """The innermost line of the program's own code in a stack, or in that of a thread, which waits for an answer."""
    at = frame if thread is None else sys._current_frames().get(thread)  # noqa: SLF001
    while at is not None and not _is_own(at.f_code.co_filename):
        at = at.f_back
    return (at.f_code.co_filename, at.f_lineno) if at is not None else None


def own_traceback(error: BaseException) -> str:
    """A traceback of the program's own lines. It has all lines if none is its own."""
    told = traceback.TracebackException.from_exception(without_values(error), compact=True)
    seen: set[int] = set()
    waiting: list[traceback.TracebackException | None] = [told]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        own = [frame for frame in each.stack if _is_own(frame.filename)]
        if own:
            each.stack[:] = own
        waiting += [each.__cause__, each.__context__, *(each.exceptions or ())]
    return safe_trace("".join(told.format()).rstrip(), LONGEST_TRACE)


def _written(record: ReconcileRecord) -> str:
    writes = [each for each in record.sent if each.method in _DONE and each.object.kind not in NOT_TOLD]
    told = [_write(each) for each in writes[:_MOST_WRITES]]
    if len(writes) > _MOST_WRITES:
        told.append(f"{len(writes) - _MOST_WRITES} more writes")
    return ", ".join(told) or "writes nothing"


def _write(sent: SentRequest) -> str:
    what = f"{sent.object.kind} {sent.object.name}".rstrip()
    if sent.subresource:
        what = f"the {sent.subresource} of {what}"
    more = f" and {len(sent.changes) - 1} more" if len(sent.changes) > 1 else ""
    changes = f" [{sent.changes[0]}{more}]" if sent.changes else ""
    failed = f" in vain: {sent.error.partition(':')[0]}" if sent.error else ""
    dry = " as a dry run" if sent.dry_run else ""
    return f"{_DONE[sent.method]} {what}{dry}{changes}{_in_brackets(sent.place)}{failed}"


def _next_try(record: ReconcileRecord) -> str:
    if record.next_try is None:
        return "not tried again"
    return f"failure {record.failures}, next try in {_span(record.next_try)}"


def _span(time: timedelta) -> str:
    seconds = time.total_seconds()
    if seconds < 0.001:
        return "under 1 ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds / 60:.3g} min"


def _in_brackets(place: str) -> str:
    return f" ({place})" if place else ""


def _named(file: str, line: int) -> str:
    return f"{os.path.basename(file)}:{line}"  # noqa: PTH119 - as code objects have it


def _own_frames(trace: TracebackType | None) -> Iterator[tuple[str, int, str]]:
    for frame, line in traceback.walk_tb(trace):
        if _is_own(frame.f_code.co_filename):
            yield frame.f_code.co_filename, line, frame.f_code.co_name


@functools.cache
def _is_own(file: str) -> bool:
    """Whether a file is the program's own: neither pykb's, nor Python's, nor an installed package's."""
    path = os.path.realpath(file)
    foreign = [os.path.realpath(Path(__file__).parents[2]), *map(os.path.realpath, set(sysconfig.get_paths().values()))]
    is_installed = "/site-packages/" in path or any(path.startswith(f"{folder}{os.sep}") for folder in foreign)
    return not file.startswith("<") and not is_installed


class ReconcileLines(ReconcileListener):
    """Logs a line for each reconcile, in place of the controller's logs of errors.

    A line that says the same as the last one of its request is left out if that is less than :data:`QUIET` ago. The
    next one says how many there were. The traceback of an error is logged once.

    Args:
        clock: The clock of the controllers.
    """

    logs_errors = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: dict[Hashable, tuple[str, float, int]] = {}
        """By request: what its last line said, when, and how many were left out since."""
        self._traced: set[Hashable] = set()

    def ended(self, record: ReconcileRecord) -> None:
        """Log a line."""
        error, key, now = record.error, (record.id.controller, record.id.request), self._clock.now()
        said = f"{because(record)} {_written(record)}" if error is None else f"{error_text(error)} {place_of(error)}"
        last, at, left_out = self._last.pop(key, ("", -QUIET.total_seconds(), 0))
        is_last = error is not None and record.next_try is None
        if said == last and not is_last and now - at < QUIET.total_seconds():
            self._last[key] = (said, at, left_out + 1)
            return
        self._last[key] = (said, now, 0)
        if len(self._last) > _MOST_REQUESTS:
            del self._last[next(iter(self._last))]
        if error is not None and said == last:
            reconciles.error("%s", shortened(f"{_subject(record)}: same error, {_next_try(record)}"))
        elif error is not None:
            reconciles.error("%s", line_of(record) + self._trace_of(error))
        else:
            again = f" ({left_out} more such reconciles before)" if left_out and said == last else ""
            reconciles.info("%s", line_of(record) + again)

    def _trace_of(self, error: BaseException) -> str:
        """The traceback of an error after a line end, unless it was logged or the message says enough."""
        key = (type(error), *[(file, line) for file, line, _ in _own_frames(error.__traceback__)][-1:])
        if isinstance(error, SAYS_ENOUGH) or key in self._traced:
            return ""
        self._traced.add(key)
        return f"\n{own_traceback(error)}"


Known = dict[tuple[str, str, str], dict[str, Any]]
"""The objects of the answers, by kind, namespace and name."""


async def recorded(
    answering: Awaitable[dict[str, Any]],
    call: Call,
    gvk: GroupVersionKind,
    cache: CacheReader | None,
    record: ReconcileRecord,
    known: Known,
    ledger: Ledger,
) -> dict[str, Any]:
    """Await the answer to a request, and add the request to the record."""
    line = _own_line(sys._getframe(1), waiting_thread.get())  # noqa: SLF001
    place, path = (_named(*line), line[0]) if line else ("", "")
    route = parse_path(call.path) or Route(gvk.group_version, "")
    loop = asyncio.get_running_loop()
    began, name, error = loop.time(), route.name, ""
    changes: tuple[FieldChange, ...] = ()
    trace = f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-00"
    ledger.sending[trace] = record.id
    token = trace_parent.set(trace)
    try:
        answer = await answering
        if answer.get("kind") == gvk.kind and "metadata" in answer:
            name = answer["metadata"].get("name", "")
            changes = await _changes(known, call, cache, gvk, answer)
    except BaseException as raised:
        error = error_text(raised)
        raise
    else:
        return answer
    finally:
        reset(trace_parent, token)
        del ledger.sending[trace]
        target = ObjectId(gvk.api_version, gvk.kind, route.namespace, name)
        sent = SentRequest(
            call.method, target, route.subresource, changes, is_dry_run(call), error, loop.time() - began, place, path
        )
        record.sent.append(sent)


async def _changes(
    known: Known, call: Call, cache: CacheReader | None, gvk: GroupVersionKind, answer: dict[str, Any]
) -> tuple[FieldChange, ...]:
    """What a write changed in the object that the reconcile knew: from an answer, or from the cache."""
    answer = writable(answer)  # not nested too deeply to be compared
    namespace, name = answer["metadata"].get("namespace", ""), answer["metadata"].get("name", "")
    before = known.get((gvk.kind, namespace, name))
    if not is_dry_run(call):
        known[gvk.kind, namespace, name] = answer
    if call.method not in ("PUT", "PATCH"):
        return ()
    if before is None and cache is not None and cache.has(gvk, namespace):
        # A reconcile does not wait for its record, if the first list is not here yet.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                before = await cache.get(gvk, namespace, name)
    return changes_between(before, answer) if before is not None else ()

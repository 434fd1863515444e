"""Watches for hot loops, and records why reconciles run and what they send, for listeners and for that watch.

Nothing is recorded unless somebody listens or an object is suspected of a hot loop. The work queue then
passes each request that is added to :meth:`Recorder.added`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pykb.client.clock import Clock, Timer
from pykb.client.tracing import spans
from pykb.meta.gvk import NamespacedName
from pykb.runtime._lasting import Lasting
from pykb.runtime.cache.event import Event, EventType
from pykb.runtime.records.context import Ledger, ReconcileContext, Recording, Sent

if TYPE_CHECKING:
    from pykb.meta.gvk import GroupVersionKind
    from pykb.runtime.records._webhooks import WebhookRecorder
    from pykb.runtime.records.causes import (
        FieldChange,
        ObjectId,
        ReconcileCause,
        ReconcileListener,
        ReconcileRecord,
        WebhookListener,
    )
    from pykb.runtime.requests.queue import WorkQueue
    from pykb.runtime.requests.reconcile import Result

    _Moves = dict[tuple[ObjectId, str], FieldChange]
    """Fields of objects, each with its last change."""

logger = logging.getLogger(__name__)

SUSPICIOUS = 5
"""Reconciles in a row that wrote, after which the events of an object are looked at."""

STEPS = 30
"""Steps of a hot loop."""

PERIOD = timedelta(minutes=1)
"""How long the last write of an object is remembered at least. At most twice as long."""


@dataclass(slots=True)
class _Suspect:
    """An object whose reconciles write again and again.

    Attributes:
        steps: The steps in a row.
        moving: The fields that all of them changed, with the last change.
        has_failed: Whether its last reconcile failed.
        is_fresh: Whether it was written in this period.
    """

    steps: int = 0
    moving: _Moves = field(default_factory=dict)
    has_failed: bool = False
    is_fresh: bool = True


class HotLoops:
    """Finds hot loops of one controller: its own writes wake the reconciler again and again.

    A step of a loop is a reconcile that nothing but its own writes woke, and that wrote again. The rule:
    :data:`STEPS` steps in a row that all changed the same field of the same object.

    * **Sound reconcilers are not reported.** After its own write, a sound reconciler finds nothing to do:
      one successful reconcile without a write ends the row. So does everything else that wakes it: a
      change by somebody else, a ``requeue_after`` that is due, a resync. Only a retry is ignored, since a
      conflict with a child's controller is part of many loops.
    * **Writes without an effect are not steps.** Many reconcilers apply everything each time. The API
      server sends no event for an object that stays the same.
    * **Steps may be slow.** They need not come at once, since a reconcile can take seconds. A row is
      forgotten when the object was not written for one to two :data:`PERIOD`.
    * **Work in steps is not reported.** Phases, or children that are created one by one, do not change the
      same field so often without a wait for somebody else.
    * **An answer is not somebody else's change.** The controller of a child (of a Deployment, say) writes
      its status and metadata after each change of its spec. That does not end the row, unless it changes
      the field in question.
    * **Two programs that fight are not reported.** Each is woken by the other's write. Their field
      managers are in the causes of the reconciles.

    The watch is always on. It counts reconciles in a row that wrote; only after :data:`SUSPICIOUS` of them
    it looks at events. Both are kept only for objects that were written lately.

    Args:
        clock: The controller's clock.
        watching: Called with whether there are suspects.
        counted: Called for each hot loop, and again after each further :data:`STEPS` steps of it.
    """

    def __init__(self, clock: Clock, watching: Callable[[bool], None], counted: Callable[[], None]) -> None:
        self._clock = clock
        self._watching = watching
        self._counted = counted
        self.suspects: dict[Hashable, _Suspect] = {}
        self._young: dict[Hashable, int] = {}
        self._old: dict[Hashable, int] = {}
        self._lasting = Lasting(clock)
        self._timer: Timer | None = None

    def wrote(self, request: Hashable) -> None:
        """A reconcile ended that had written."""
        suspect = self.suspects.get(request)
        if suspect is not None:
            suspect.is_fresh = True
            return
        count = self._young.pop(request, 0) or self._old.pop(request, 0)
        if count + 1 < SUSPICIOUS:
            self._young[request] = count + 1
        else:
            self.suspects[request] = _Suspect()
            self._watching(True)
        if self._timer is None:
            self._timer = self._clock.call_at(self._clock.now() + PERIOD.total_seconds(), self._turn)

    def settled(self, request: Hashable) -> None:
        """A reconcile ended that had not written."""
        if self._timer is None:
            return  # nothing is remembered
        for counts in (self._young, self._old, self.suspects):
            counts.pop(request, None)

    def failed(self, request: Hashable) -> None:
        """A reconcile ended with an error."""
        suspect = self.suspects.get(request)
        if suspect is not None:
            suspect.has_failed = True

    def woken(self, request: Hashable, own: Sequence[Event[Any]], others: Sequence[Event[Any]] | None) -> None:
        """A reconcile of a suspect starts.

        Args:
            request: Its request.
            own: The events that its own writes caused.
            others: The other events. ``None`` if something else woke it.
        """
        suspect = self.suspects[request]
        moved = _moved(own) if others is not None and (own or suspect.moving) else {}
        moving = suspect.moving or moved
        has_failed, suspect.has_failed = suspect.has_failed, False
        if others is None or not all(_is_answer(event, moving, request) for event in others):
            suspect.steps, suspect.moving = 0, {}
        elif own:
            self._step(request, suspect, moved)
        elif others and not has_failed:  # the last writes had no effect, or their events would be here
            suspect.steps, suspect.moving = 0, {}

    def _step(self, request: Hashable, suspect: _Suspect, moved: _Moves) -> None:
        same = {key: moved[key] for key in suspect.moving if key in moved}
        suspect.steps = suspect.steps + 1 if same else 1
        suspect.moving = same or moved
        if suspect.steps % STEPS == 0:
            self._counted()
            self._report(request, suspect)

    def _report(self, request: Hashable, suspect: _Suspect) -> None:
        if not self._lasting.is_due(request):
            return
        from pykb.runtime.records.causes import shown

        (target, path), change = min(suspect.moving.items())
        fields: dict[str, object] = {"object": str(target), "field": path, "times": suspect.steps}
        if path:
            fields |= {"before": shown(change.before), "after": shown(change.after)}
        logger.warning("hot loop: the reconciler's own writes wake it again and again", extra=fields)

    def _turn(self) -> None:
        """Forget what was not written lately."""
        self._timer = None
        self._old, self._young = self._young, {}
        self.suspects = {request: each for request, each in self.suspects.items() if each.is_fresh}
        for suspect in self.suspects.values():
            suspect.is_fresh = False
        if not self.suspects:
            self._watching(False)
        if self._old or self.suspects:
            self._timer = self._clock.call_at(self._clock.now() + PERIOD.total_seconds(), self._turn)


def _moved(events: Sequence[Event[Any]]) -> _Moves:
    from pykb.runtime.records.causes import FieldChange, ObjectId, changes_between

    moved: _Moves = {}
    for event in events:
        target = ObjectId.of(event.raw)
        changes = changes_between(event.raw_old, event.raw)
        # A creation, a deletion, or a change of what is not mirrored.
        for change in changes or (FieldChange("", None, None),):
            moved[target, change.path] = change
    return moved


def _is_answer(event: Event[Any], moving: _Moves, request: Hashable) -> bool:
    """Whether somebody else's event is the answer to a step: a child's controller wrote its status or metadata."""
    from pykb.runtime.records.causes import ObjectId

    target, owners = ObjectId.of(event.raw), event.raw["metadata"].get("ownerReferences") or ()
    if event.type is not EventType.UPDATE or all(target != known for known, _ in moving):
        return False
    if all(owner["name"] != getattr(request, "name", None) for owner in owners):
        return False
    paths = [path for _, path in _moved((event,))]
    return all(path.startswith(("status", "metadata")) and (target, path) not in moving for path in paths)


MOST_CAUSES = 16
"""Causes that are kept for one request. Others are counted."""

waking: ContextVar[Event[Any] | None] = ContextVar("waking", default=None)
"""The event that is being handled, while somebody records."""


class _Waking(NamedTuple):
    """One addition of a request: its kind unless an event decides it, when it is due, and its event."""

    kind: str
    due: float
    event: Event[Any] | None


@dataclass(slots=True)
class _Waiting:
    """The additions of one request since its last reconcile started."""

    wakings: list[_Waking] = field(default_factory=list)
    left_out: int = 0

    def add(self, found: _Waking) -> None:
        if found.event is not None and any(each.event is found.event for each in self.wakings):
            return  # an event may concern a request twice, as its old and its new owner
        if len(self.wakings) < MOST_CAUSES:
            self.wakings.append(found)
        else:
            self.left_out += 1


class Recorder:
    """Records the reconciles of one controller.

    Args:
        queue: The controller's queue. It gets :meth:`added` when recording begins.
        clock: The controller's clock.
        counted: Called for each hot loop.
    """

    def __init__(self, queue: WorkQueue[Any], clock: Clock, counted: Callable[[], None]) -> None:
        self._queue = queue
        self._clock = clock
        self._loops = HotLoops(clock, self._watch, counted)
        self._listeners: list[ReconcileListener] = []
        self._needs_details = False
        self.logs_errors = False
        """Whether a listener logs the errors of reconciles."""
        self._waiting: dict[Hashable, _Waiting] = {}
        self._running: dict[Hashable, ReconcileRecord] = {}
        self.ledger = Ledger()
        """The writes of this process. Controllers of one manager share it."""
        self.kind: GroupVersionKind | None = None
        """The kind of the objects that the requests name."""

    def listen(self, listener: ReconcileListener) -> None:
        """Tell a listener of each reconcile from now on."""
        self._listeners.append(listener)
        self._needs_details = self._needs_details or listener.needs_details
        self.logs_errors = self.logs_errors or listener.logs_errors
        self._queue.tracker = self.added

    def leave(self, listener: ReconcileListener) -> None:
        """Tell a listener of no further reconcile."""
        self._listeners.remove(listener)
        self._needs_details = any(each.needs_details for each in self._listeners)
        self.logs_errors = any(each.logs_errors for each in self._listeners)
        self._watch(bool(self._loops.suspects))

    def added(self, request: Hashable, after: timedelta, /, *, limited: bool) -> None:
        """A request was added to the queue."""
        if not self._needs_details and request not in self._loops.suspects:
            return
        if limited and (record := self._running.get(request)) is not None:
            record.next_try = after
        delay = max(0.0, after.total_seconds())
        kind = "retry" if limited else "requeue_after" if delay else "program"
        found = _Waking(kind, self._clock.now() + delay, waking.get())
        self._waiting.setdefault(request, _Waiting()).add(found)

    def dropped(self, request: Hashable) -> None:
        """A request is another replica's."""
        self._waiting.pop(request, None)

    def begin(self, context: ReconcileContext) -> None:
        """A reconcile starts."""
        waiting = self._waiting.pop(context.request, None) or _Waiting()
        now = self._clock.now()
        due = [each for each in waiting.wakings if each.due <= now]
        is_suspect = context.request in self._loops.suspects
        if is_suspect and due:
            self._judge(context, due, complete=not waiting.left_out)
        record: ReconcileRecord | None = None
        if self._listeners:
            record = self._running[context.request] = self._record(
                context, due if self._needs_details else [], waiting.left_out
            )
            self._tell("started", record)
        if self._needs_details or is_suspect:
            noting = self._noting(record) if record and self._needs_details else None
            context.recording = Recording(self.ledger, noting)

    def end(
        self, context: ReconcileContext, result: Result | None, error: BaseException | None, seconds: float
    ) -> None:
        """A reconcile ended."""
        if context.wrote:
            self._loops.wrote(context.request)
        elif error is None:
            self._loops.settled(context.request)
        if error is not None:
            self._loops.failed(context.request)
        if (record := self._running.pop(context.request, None)) is not None:
            record.result, record.error, record.seconds = result, error, seconds
            record.failures = self._queue.failures(context.request)
            record.queued = self._queue.depth
            self._tell("ended", record)

    def _watch(self, suspects: bool) -> None:
        if suspects or self._listeners:
            self._queue.tracker = self.added
        else:
            self._queue.tracker = None
            self._waiting.clear()

    def _judge(self, context: ReconcileContext, due: list[_Waking], *, complete: bool) -> None:
        own: list[Event[Any]] = []
        others: list[Event[Any]] = []
        for each in due:
            if each.event is None:
                complete = complete and each.kind == "retry"
                continue
            writer = self._writer_of(each.event)
            mine = writer is not None and (writer.controller, writer.request) == (context.controller, context.request)
            (own if mine else others).append(each.event)
        self._loops.woken(context.request, own, others if complete else None)

    def _record(self, context: ReconcileContext, due: list[_Waking], left_out: int) -> ReconcileRecord:
        from pykb.runtime.records.causes import ObjectId, ReconcileId, ReconcileRecord

        request, kind = context.request, self.kind
        record = ReconcileRecord(
            ReconcileId(context.controller, context.request, context.reconcile_id),
            tuple(self._cause(each) for each in due),
            left_out,
            queued=self._queue.depth,
        )
        if kind is not None and isinstance(request, NamespacedName):
            record.object = ObjectId(kind.api_version, kind.kind, request.namespace, request.name)
        return record

    def _noting(self, record: ReconcileRecord) -> Sent:
        from pykb.runtime.records.lines import recorded

        return partial(recorded, record=record, known={}, ledger=self.ledger)

    def _cause(self, found: _Waking) -> ReconcileCause:
        from pykb.runtime.records import causes

        event = found.event
        if event is None:
            return causes.ReconcileCause(causes.CauseKind(found.kind))
        target = causes.ObjectId.of(event.raw)
        if event.initial:
            return causes.ReconcileCause(causes.CauseKind.INITIAL, event.type, target)
        if event.unchanged:
            return causes.ReconcileCause(causes.CauseKind.RESYNC, event.type, target)
        changes = causes.changes_between(event.raw_old, event.raw)
        manager = causes.field_manager_of(event.managed_fields, changes)
        writer = self._writer_of(event, manager)
        return causes.ReconcileCause(
            causes.CauseKind.EVENT,
            event.type,
            target,
            changes,
            manager,
            None if writer is None else causes.ReconcileId(writer.controller, writer.request, writer.reconcile_id),
        )

    def _writer_of(self, event: Event[Any], manager: str | None = None) -> ReconcileContext | None:
        """The reconcile of this process that made an event. ``manager`` is its field manager, if it is known."""
        write = self.ledger.find(event.raw, deleted=event.type is EventType.DELETE)
        if write is None:
            return None
        if manager is None:
            from pykb.runtime.records.causes import changes_between, field_manager_of

            manager = field_manager_of(event.managed_fields, changes_between(event.raw_old, event.raw))
        return write.by if not manager or manager == write.field_manager else None

    def _tell(self, what: str, record: ReconcileRecord | None) -> None:
        from pykb.runtime.records.causes import tell

        tell(self._listeners, what, record)


class Recorders:
    """The recorders of a manager. They know each other's writes."""

    def __init__(self) -> None:
        self._ledger = Ledger()
        self._recorders: list[Recorder] = []
        self._listeners: list[ReconcileListener] = []
        self._webhook_listeners: list[WebhookListener] = []

    def add(self, recorder: Recorder) -> None:
        """Add the recorder of a controller."""
        recorder.ledger = self._ledger
        self._recorders.append(recorder)
        for listener in self._listeners:
            recorder.listen(listener)

    def remove(self, recorder: Recorder) -> None:
        """Forget the recorder of a controller."""
        self._recorders.remove(recorder)

    def listen(self, listener: ReconcileListener | WebhookListener) -> None:
        """Tell a listener of each reconcile or of each call of a webhook from now on."""
        from pykb.runtime.records.causes import ReconcileListener, WebhookListener

        if isinstance(listener, WebhookListener):
            self._webhook_listeners.append(listener)
        if isinstance(listener, ReconcileListener):
            self._listeners.append(listener)
            for recorder in self._recorders:
                recorder.listen(listener)

    def leave(self, listener: ReconcileListener | WebhookListener) -> None:
        """Tell a listener of nothing more."""
        from pykb.runtime.records.causes import ReconcileListener, WebhookListener

        if isinstance(listener, WebhookListener):
            self._webhook_listeners.remove(listener)
        if isinstance(listener, ReconcileListener):
            self._listeners.remove(listener)
            for recorder in self._recorders:
                recorder.leave(listener)

    def of_webhooks(self) -> WebhookRecorder | None:
        """The recorder of the webhooks, if somebody listens to them."""
        if not self._webhook_listeners:
            return None
        from pykb.runtime.records._webhooks import WebhookRecorder

        return WebhookRecorder(self._webhook_listeners, self._ledger)

    def trace(self) -> None:
        """Make spans of reconciles, if the program has set a tracer provider."""
        if (traced := spans()) is not None:
            from pykb.runtime.records._otel import ReconcileSpans

            self.listen(ReconcileSpans(traced))

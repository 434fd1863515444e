"""Finds hot loops: a reconciler whose own writes wake it again and again.

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
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pykb.client.clock import Clock, Timer
from pykb.runtime._lasting import Lasting
from pykb.runtime.cache.event import Event, EventType

if TYPE_CHECKING:
    from pykb.runtime.records.causes import FieldChange, ObjectId

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
    """Watches the reconciles of one controller.

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

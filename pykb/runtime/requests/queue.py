"""The work queue of a controller, with deduplication, delays, priorities and one worker per key.

The invariants (client-go's workqueue and controller-runtime's priority queue are the models):

* a key that was added is handed out at least once afterwards, so nothing is lost;
* two workers never have the same key at once; a key added while it is being worked on is handed out
  once more after :meth:`done`;
* a key added several times while it waits is handed out once, at the earliest of the requested
  times and with the highest of the priorities.

All methods must be called from the event loop's thread.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import deque
from collections.abc import Callable, Hashable
from datetime import timedelta
from itertools import count
from typing import Any, Generic, NamedTuple, Protocol

from typing_extensions import TypeVar  # Python's own has no defaults before 3.13

from pykb.api.safe_text import error_text, without_values
from pykb.client.clock import Clock, SystemClock, Timer
from pykb.client.guard import is_end, outside_task
from pykb.runtime.requests.reconcile import Request
from pykb.runtime.requests.reconcile import RequestT as K

logger = logging.getLogger(__name__)

# Rate limiters, which decide how long a failed key waits before its retry.
#
# The default is controller-runtime's exponential delay per item. client-go's bucket over all items
# (10 per second) is optional, because its debt grows with every failure: after an outage of seconds,
# thousands of objects would wait for minutes. Doubling delays are enough in a long outage: after ten
# minutes each object has been tried seventeen times, and thousands of objects together need a few
# tries per second.


T = TypeVar("T")
ItemT = TypeVar("ItemT", bound=Hashable, default=Hashable)

ItemT_contra = TypeVar("ItemT_contra", bound=Hashable, default=Hashable, contravariant=True)


class RateLimiter(Protocol[ItemT_contra]):
    """Decides delays. :meth:`when` counts a failure, and :meth:`forget` resets the count.

    ::

        class Steady:
            def when(self, item: Hashable) -> timedelta:
                return timedelta(seconds=10)

            def forget(self, item: Hashable) -> None: ...

            def failures(self, item: Hashable) -> int:
                return 0

        ControllerBuilder(manager).for_(VirtulMachine).with_options(rate_limiter=Steady).complete(reconciler)
    """

    def when(self, item: ItemT_contra, /) -> timedelta:
        """Return the delay before the next try of this item, and count one more failure."""

    def forget(self, item: ItemT_contra, /) -> None:
        """Reset the item's failures, after it succeeded or was given up."""

    def failures(self, item: ItemT_contra, /) -> int:
        """How often the item has failed since it was last forgotten."""


class ItemExponentialLimiter:
    """Doubles the delay with each failure of an item, up to a limit.

    ::

        limiter = ItemExponentialLimiter(base=timedelta(seconds=1), limit=timedelta(seconds=3))
        assert [limiter.when("vm").seconds for _ in range(3)] == [1, 2, 3]
    """

    def __init__(
        self,
        *,
        base: timedelta = timedelta(milliseconds=5),
        limit: timedelta = timedelta(seconds=1000),
    ) -> None:
        if base <= timedelta() or limit < base:
            raise ValueError(f"delays must grow from a positive base to a limit, got {base} and {limit}")
        self._base = base
        self._limit = limit
        # After this many doublings the limit is reached. This keeps the shift small however often
        # an item fails.
        self._doublings = (limit // base).bit_length()
        self._failures: dict[Hashable, int] = {}

    def when(self, item: Hashable) -> timedelta:
        """``base * 2^failures``, at most ``limit``."""
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        if failures >= self._doublings:
            return self._limit
        return min(self._base * (1 << failures), self._limit)

    def forget(self, item: Hashable) -> None:
        """Reset the item's failures."""
        self._failures.pop(item, None)

    def failures(self, item: Hashable) -> int:
        """How often the item has failed since it was last forgotten."""
        return self._failures.get(item, 0)


class MaxOfLimiter:
    """Uses the longest delay of several limiters.

    ::

        def patient() -> RateLimiter:
            return MaxOfLimiter(default_rate_limiter(), BucketLimiter(rate=10, burst=100))

        ControllerBuilder(manager).for_(VirtulMachine).with_options(rate_limiter=patient).complete(reconciler)
    """

    def __init__(self, *limiters: RateLimiter) -> None:
        if not limiters:
            raise ValueError("at least one limiter is needed")
        self._limiters = limiters

    def when(self, item: Hashable) -> timedelta:
        """Return the longest delay. Every limiter counts the failure."""
        return max(limiter.when(item) for limiter in self._limiters)

    def forget(self, item: Hashable) -> None:
        """Forget the item in every limiter."""
        for limiter in self._limiters:
            limiter.forget(item)

    def failures(self, item: Hashable) -> int:
        """The largest count of all limiters."""
        return max(limiter.failures(item) for limiter in self._limiters)


class GuardedLimiter(Generic[ItemT]):
    """Asks a limiter of the program. If it fails, the failure is logged, and the default limiter decides."""

    def __init__(self, limiter: RateLimiter[ItemT]) -> None:
        self._limiter = limiter
        self._default = default_rate_limiter()

    def when(self, item: ItemT) -> timedelta:
        """Return the delay before the next try of this item."""
        after = self._default.when(item)
        return self._asked(self._limiter.when, item, timedelta, after)

    def forget(self, item: ItemT) -> None:
        """Reset the item's failures."""
        self._default.forget(item)
        self._asked(self._limiter.forget, item, type(None), None)

    def failures(self, item: ItemT) -> int:
        """How often the item has failed since it was last forgotten."""
        return self._asked(self._limiter.failures, item, int, self._default.failures(item))

    def _asked(self, function: Callable[[ItemT], T], item: ItemT, expected: type[T], otherwise: T) -> T:
        try:
            answer = outside_task(function, item)
            if not isinstance(answer, expected):
                raise TypeError(f"expected `{expected.__name__}`, got `{type(answer).__name__}`")  # noqa: TRY301
        except BaseException as error:
            if is_end(error):
                raise
            shown = {"function": getattr(function, "__qualname__", ""), "error": error_text(error)}
            logger.error("rate limiter failed, the default decides", extra=shown, exc_info=without_values(error))  # noqa: TRY400 - no values
            return otherwise
        return answer


def default_rate_limiter() -> RateLimiter:
    """The default rate limiter of a controller: delays of 5 ms to 1000 s per item."""
    return ItemExponentialLimiter()


LOW_PRIORITY = -100
"""The priority of the initial list, resyncs and updates without a change."""


class QueueShutDown(Exception):  # noqa: N818 - the normal end of a queue, not an error
    """The queue was shut down and hands out no more keys."""


class QueueObserver:
    """Observes a queue. This one does nothing; :mod:`pykb.runtime._metrics` has one that counts."""

    def added(self, priority: int) -> None:
        """A key was added that was not waiting before."""

    def started(self, priority: int, waited: float) -> None:
        """A key was handed out after it was ready for this many seconds."""

    def finished(self, worked: float) -> None:
        """A worker finished a key after this many seconds."""

    def retried(self) -> None:
        """A key was added with a delay from the rate limiter."""

    def handler_failed(self) -> None:
        """A function that maps or filters events for the queue failed."""


class Tracker(Protocol):
    """Notes why keys are added."""

    def __call__(self, key: Any, after: timedelta, /, *, limited: bool) -> None:
        """A key is added, to be handed out after this time. The rate limiter decided the time if ``limited``."""


class Work(NamedTuple, Generic[K]):
    """A key for a worker, with its priority."""

    key: K
    priority: int


class _Entry:
    __slots__ = ("priority", "ready_at", "sequence")

    def __init__(self, priority: int, ready_at: float, sequence: int) -> None:
        self.priority = priority
        self.ready_at = ready_at
        self.sequence = sequence


class WorkQueue(Generic[K]):
    """A work queue. The module's documentation lists its guarantees.

    ::

        controller = ControllerBuilder(manager).for_(VirtulMachine).complete(reconciler)
        controller.queue.add(Request("default", "vm"), after=timedelta(minutes=1))
    """

    def __init__(
        self,
        *,
        request_type: type[Any] = Request,
        rate_limiter: RateLimiter[K] | None = None,
        clock: Clock | None = None,
        observer: QueueObserver | None = None,
    ) -> None:
        self.request_type = request_type
        self._clock: Clock = clock or SystemClock()
        self._limiter: RateLimiter[K] = GuardedLimiter(rate_limiter) if rate_limiter else default_rate_limiter()
        self._observer = observer or QueueObserver()
        self.tracker: Tracker | None = None
        """Told of each addition, if set."""
        self._sequence = count()
        # Every waiting key has one entry here. The heaps may hold outdated tuples besides the valid one: a tuple is
        # valid while its sequence number is the entry's.
        self._entries: dict[K, _Entry] = {}
        self._ready: list[tuple[int, int, K]] = []
        self._delayed: list[tuple[float, int, K]] = []
        self._processing: dict[K, float] = {}
        self._held: set[K] = set()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._timer: Timer | None = None
        self._timer_at = 0.0
        self._expelled: list[Callable[[K], bool]] = []
        self._finished = asyncio.Event()
        self._shut_down = False
        self._idle = asyncio.Event()
        self._idle.set()

    # -- adding

    def add(self, key: K, *, priority: int = 0, after: timedelta = timedelta()) -> None:
        """Add a key, to be handed out after the delay ``after``. Ignored after :meth:`shut_down`."""
        if self.tracker is not None:
            self.tracker(key, after, limited=False)
        self._insert(key, priority, after)

    def _insert(self, key: K, priority: int, after: timedelta) -> None:
        if self._shut_down or (self._expelled and any(matches(key) for matches in self._expelled)):
            return
        delay = after.total_seconds()
        now = self._clock.now()
        ready_at = now + delay if delay > 0 else now
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(priority, ready_at, next(self._sequence))
            self._observer.added(priority)
        elif ready_at < entry.ready_at or priority > entry.priority:
            was_ready = entry.ready_at <= now
            raised = priority > entry.priority
            entry.priority = max(priority, entry.priority)
            entry.ready_at = min(ready_at, entry.ready_at)
            if was_ready and not raised:
                return
            # A new tuple makes the old one outdated. A key that was ready keeps its place within
            # its priority.
            entry.sequence = next(self._sequence)
        else:
            return
        self._place(key, entry, now)

    def add_rate_limited(self, key: K, *, priority: int = 0, at_least: timedelta = timedelta()) -> None:
        """Add a key again, after the delay from the rate limiter, or after ``at_least`` if that is longer."""
        self._observer.retried()
        after = max(self._limiter.when(key), at_least)
        if self.tracker is not None:
            self.tracker(key, after, limited=True)
        self._insert(key, priority, after)

    def handler_failed(self) -> None:
        """Count a failure of a function that maps or filters events."""
        self._observer.handler_failed()

    def forget(self, key: K) -> None:
        """Tell the rate limiter that the key succeeded."""
        self._limiter.forget(key)

    def failures(self, key: K) -> int:
        """How often the key has failed since it was last forgotten."""
        return self._limiter.failures(key)

    # -- working

    async def get(self) -> Work[K]:
        """Wait for a key. The caller must call :meth:`done` for it.

        Raises:
            QueueShutDown: The queue was shut down.
        """
        while True:
            if self._shut_down:
                raise QueueShutDown
            work = self._take()
            if work is not None:
                return work
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                elif self._ready:
                    self._wake()  # this waiter was woken; pass the key on to another one
                raise

    def done(self, key: K, *, hold: bool = False) -> None:
        """Mark a key as finished, whatever the result was.

        Args:
            key: The key.
            hold: Hand it out again only after :meth:`release`. It may be added meanwhile.
        """
        started = self._processing.pop(key)
        now = self._clock.now()
        self._observer.finished(now - started)
        if self._expelled:
            self._finished.set()
        if not self._processing:
            self._idle.set()
        if hold:
            self._held.add(key)
        else:
            self._place_again(key, now)

    def release(self, key: K) -> None:
        """Hand out a held key again, if it was added meanwhile."""
        self._held.discard(key)
        self._place_again(key, self._clock.now())

    # -- ending

    async def expel(self, matches: Callable[[K], bool]) -> None:
        """Drop the keys that match, and return when no worker has one. What is added meanwhile is dropped, too."""
        self._expelled.append(matches)
        try:
            for key in [key for key in self._entries if matches(key)]:
                del self._entries[key]
                self.forget(key)
            while any(matches(key) for key in self._processing):
                self._finished.clear()
                await self._finished.wait()
        finally:
            self._expelled.remove(matches)

    def shut_down(self) -> None:
        """Stop handing out and accepting keys. Workers keep their keys until :meth:`done`."""
        self._shut_down = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiters:
            self._wake()

    async def drained(self) -> None:
        """Wait until no worker has a key."""
        await self._idle.wait()

    # -- looking

    def __len__(self) -> int:
        """How many keys wait, ready or not. Keys with a worker do not count."""
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        """Whether a key waits, or a worker has it."""
        return key in self._entries or self._is_taken(key)

    @property
    def depth(self) -> int:
        """About how many keys could be handed out now. Costs nothing; :meth:`ready_by_priority` counts exactly."""
        return len(self._ready)

    def ready_by_priority(self) -> dict[int, int]:
        """How many keys could be handed out now, by priority (for the depth metric)."""
        now = self._clock.now()
        depth: dict[int, int] = {}
        for entry in list(self._entries.values()):  # a dump of the process reads it from another thread
            if entry.ready_at <= now:
                depth[entry.priority] = depth.get(entry.priority, 0) + 1
        return depth

    def running_since(self) -> list[float]:
        """For how many seconds each key has been with a worker."""
        now = self._clock.now()
        return [now - started for started in self._processing.values()]

    # -- inside

    def _is_taken(self, key: K) -> bool:
        return key in self._processing or key in self._held

    def _place_again(self, key: K, now: float) -> None:
        entry = self._entries.get(key)
        if entry is not None:
            self._place(key, entry, now)

    def _place(self, key: K, entry: _Entry, now: float) -> None:
        if self._is_taken(key):
            return  # `done` or `release` places it
        if entry.ready_at > now:
            heapq.heappush(self._delayed, (entry.ready_at, entry.sequence, key))
            self._prune()
            self._arm()
            return
        heapq.heappush(self._ready, (-entry.priority, entry.sequence, key))
        self._prune()
        if self._waiters:
            self._wake()

    def _take(self) -> Work[K] | None:
        now = self._clock.now()
        if self._delayed and self._delayed[0][0] <= now:
            self._promote()
        while self._ready:
            _, sequence, key = heapq.heappop(self._ready)
            entry = self._entries.get(key)
            if entry is None or entry.sequence != sequence or self._is_taken(key):
                continue
            del self._entries[key]
            self._processing[key] = now
            self._idle.clear()
            self._observer.started(entry.priority, now - entry.ready_at)
            return Work(key, entry.priority)
        return None

    def _promote(self) -> None:
        """Move keys that are due from the delayed to the ready ones."""
        now = self._clock.now()
        while self._delayed and self._delayed[0][0] <= now:
            _, sequence, key = heapq.heappop(self._delayed)
            entry = self._entries.get(key)
            if entry is not None and entry.sequence == sequence and not self._is_taken(key):
                heapq.heappush(self._ready, (-entry.priority, sequence, key))
                if self._waiters:
                    self._wake()
        self._arm()

    def _arm(self) -> None:
        """Keep one timer, for the earliest delayed key."""
        if self._timer is not None:
            if self._delayed and self._timer_at <= self._delayed[0][0]:
                return
            self._timer.cancel()
            self._timer = None
        if self._delayed and not self._shut_down:
            self._timer_at = self._delayed[0][0]
            self._timer = self._clock.call_at(self._timer_at, self._due)

    def _due(self) -> None:
        self._timer = None
        self._promote()

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _prune(self) -> None:
        """Drop outdated tuples before they outnumber the valid ones: a key added repeatedly must not leak memory."""
        limit = 2 * len(self._entries) + 64
        if len(self._ready) > limit:
            self._ready = [item for item in self._ready if self._valid(item[2], item[1])]
            heapq.heapify(self._ready)
        if len(self._delayed) > limit:
            self._delayed = [item for item in self._delayed if self._valid(item[2], item[1])]
            heapq.heapify(self._delayed)

    def _valid(self, key: K, sequence: int) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.sequence == sequence and not self._is_taken(key)

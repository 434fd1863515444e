"""Rate limiters, which decide how long a failed key waits before its retry.

The default is controller-runtime's exponential delay per item. client-go's bucket over all items
(10 per second) is optional, because its debt grows with every failure: after an outage of seconds,
thousands of objects would wait for minutes. Doubling delays are enough in a long outage: after ten
minutes each object has been tried seventeen times, and thousands of objects together need a few
tries per second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from datetime import timedelta
from typing import Generic, Protocol

from typing_extensions import TypeVar  # Python's own has no defaults before 3.13

from pykb.api.safe_text import error_text, without_values
from pykb.client.guard import is_end, outside_task

logger = logging.getLogger(__name__)

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

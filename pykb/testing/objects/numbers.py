"""Random numbers and moments within their limits, often at the edges of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import Any

from pykb.api.time import format_duration, format_micro_time, format_time
from pykb.testing.objects.limits import Limits, NoValueError

_SIZES = {"int32": 31, "int64": 63}
_EXACT_FLOAT = 2**53
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
_LONGEST = timedelta(days=106_751)  # what Go's 64 bits of nanoseconds hold
_SECOND, _MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
_TIMES = (timedelta(0), datetime(2026, 2, 28, 23, 59, 59, tzinfo=UTC) - _EPOCH, timedelta(days=20_000, microseconds=1))
_DURATIONS = (timedelta(0), _SECOND, -_SECOND, _MICROSECOND, timedelta(milliseconds=1500), timedelta(hours=1))


def random_integer(limits: Limits, random: Random) -> int:
    """An integer within its limits.

    Raises:
        NoValueError: There is none.
    """
    bits = _SIZES.get(limits.format, 63)
    low = max([-(2**bits), *_given(limits.ge, math.ceil), *(above + 1 for above in _given(limits.gt, math.floor))])
    high = min([2**bits - 1, *_given(limits.le, math.floor), *(below - 1 for below in _given(limits.lt, math.ceil))])
    step = limits.multiple_of or 1
    if step != 1:
        low, high = max(low, -_EXACT_FLOAT), min(high, _EXACT_FLOAT)
        if step != int(step):
            step = next(step * n for n in range(1, 10_001) if float(step * n).is_integer())
        low, high, step = math.ceil(low / int(step)), math.floor(high / int(step)), int(step)
    if low > high:
        raise NoValueError("no integer is within its limits")
    edges = (low, low + 1, high, high - 1, -1, 0, 1, 2, 80, 2**31 - 1, 2**31)
    allowed = [edge for edge in edges if low <= edge <= high]
    usual = random.randint(max(low, -1000), min(high, 1000)) if low <= 1000 and high >= -1000 else low
    return step * random.choice((*allowed, usual, usual, usual, random.randint(low, high)))


def random_float(limits: Limits, random: Random) -> float:
    """A finite number within its limits.

    Raises:
        NoValueError: There is none.
    """
    least = [float(bound) for bound in (limits.ge, limits.gt) if bound is not None]
    most = [float(bound) for bound in (limits.le, limits.lt) if bound is not None]
    low = max(least) if least else min([-1e9, *(bound - 1e9 for bound in most)])
    high = min(most) if most else max(1e9, low + 1e9)

    def fits(number: float) -> bool:
        return (
            low <= number <= high
            and (limits.gt is None or number > limits.gt)
            and (limits.lt is None or number < limits.lt)
        )

    step = limits.multiple_of
    if step:
        candidates: Iterable[float] = (
            step * random.randint(math.ceil(low / step), max(math.ceil(low / step), math.floor(high / step)))
            for _ in range(100)
        )
        found = next((number for number in candidates if fits(number)), None)
    else:
        edges = [e for e in (low, high, 0.0, 1.0, -1.0, 0.1, 1e-7, 2.5, (low + high) / 2) if fits(e)]
        number = random.uniform(low, high)
        found = random.choice((*edges, *([number] if fits(number) else []))) if edges or fits(number) else None
    if found is None:
        raise NoValueError("no number is within its limits")
    return found


def random_time(limits: Limits, random: Random) -> str:
    """A moment of the wire: metav1.Time has whole seconds, metav1.MicroTime six digits more.

    Raises:
        NoValueError: There is none within its limits.
    """
    unit = _MICROSECOND if limits.microseconds else _SECOND
    bounds = [None if b is None else b - _EPOCH for b in (limits.ge, limits.gt, limits.le, limits.lt)]
    made = _EPOCH + _span(bounds, _FIRST - _EPOCH, _LAST - _EPOCH, unit, _TIMES, random)
    return format_micro_time(made) if limits.microseconds else format_time(made)


def random_duration(limits: Limits, random: Random) -> str:
    """A duration of the wire.

    Raises:
        NoValueError: There is none within its limits.
    """
    bounds = [limits.ge, limits.gt, limits.le, limits.lt]
    return format_duration(_span(bounds, -_LONGEST, _LONGEST, _MICROSECOND, _DURATIONS, random))


def _span(
    bounds: list[Any],
    least: timedelta,
    most: timedelta,
    unit: timedelta,
    edges: tuple[timedelta, ...],
    random: Random,
) -> timedelta:
    """A span of time that is a multiple of a unit and within bounds (ge, gt, le, lt)."""
    ge, gt, le, lt = bounds
    low = max(
        [-(-least // unit), *_given(ge, lambda b: -(-b // unit)), *(n + 1 for n in _given(gt, lambda b: b // unit))]
    )
    high = min([most // unit, *_given(le, lambda b: b // unit), *(n - 1 for n in _given(lt, lambda b: -(-b // unit)))])
    if low > high:
        raise NoValueError("no time is within its limits")
    allowed = [edge // unit for edge in edges if low <= edge // unit <= high]
    second = max(1, _SECOND // unit)
    whole = random.randint(low, high) // second * second
    return unit * random.choice((*allowed, low, high, max(whole, low)))


def random_day(random: Random) -> str:
    """A date of the wire."""
    return date.fromordinal(random.choice((1, 3_652_059, random.randint(1, 3_652_059)))).isoformat()


def random_time_of_day(random: Random) -> str:
    """A time of day of the wire."""
    return time(random.randint(0, 23), random.randint(0, 59), random.randint(0, 59)).isoformat()


def random_quantity(random: Random) -> str | int:
    """A quantity as people and servers write it; sometimes the bare number that the wire may have."""
    number = random.choice((0, 1, 5, 100, 1024, random.randint(0, 100_000)))
    suffix = random.choice(("", "", "m", "k", "M", "G", "Ki", "Mi", "Gi"))
    return random.choice((number, "0.5", ".5", "1e3", "1.5Gi", "-1", "100u", f"{number}{suffix}", f"{number}{suffix}"))


def _given(bound: Any, rounded: Any) -> list[int]:
    return [] if bound is None else [int(rounded(bound))]

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
    low = float(limits.ge if limits.ge is not None else limits.gt if limits.gt is not None else -1e9)
    high = float(limits.le if limits.le is not None else limits.lt if limits.lt is not None else max(1e9, 2 * low))
    low = low if limits.ge is not None or limits.gt is not None else min(low, high - 1e9)

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
    """A moment of the wire: metav1.Time has whole seconds, metav1.MicroTime six digits more."""
    low, high = _FIRST, _LAST
    if (least := limits.ge if limits.ge is not None else limits.gt) is not None:
        low = least + (timedelta(seconds=1) if limits.ge is None else timedelta(0))
    if (most := limits.le if limits.le is not None else limits.lt) is not None:
        high = most - (timedelta(seconds=1) if limits.le is None else timedelta(0))
    seconds = math.floor((high - low).total_seconds())
    if seconds < 0:
        raise NoValueError("no time is within its limits")
    edges = [edge for edge in (_EPOCH, datetime(2026, 2, 28, 23, 59, 59, tzinfo=UTC)) if low <= edge <= high]
    moment = random.choice((low, high, *edges, low + timedelta(seconds=random.randint(0, seconds))))
    if limits.microseconds:
        return format_micro_time(moment.replace(microsecond=random.choice((0, 1, 999_999, 120_000))))
    return format_time(moment + timedelta(seconds=1) if moment.microsecond else moment)


def random_duration(limits: Limits, random: Random) -> str:
    """A duration of the wire."""
    second = timedelta(seconds=1)
    low = limits.ge if limits.ge is not None else limits.gt + second if limits.gt is not None else -_LONGEST
    high = limits.le if limits.le is not None else limits.lt - second if limits.lt is not None else _LONGEST
    if low > high:
        raise NoValueError("no duration is within its limits")
    edges = (timedelta(0), second, -second, timedelta(microseconds=1), timedelta(milliseconds=1500), timedelta(hours=1))
    allowed = [edge for edge in edges if low <= edge <= high]
    between = low + timedelta(seconds=random.randint(0, int((high - low).total_seconds())))
    return format_duration(random.choice((*allowed, low, high, between)))


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

"""Random numbers, moments and texts keep to their limits, whatever these are."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pykb.api.quantity import Quantity
from pykb.api.time import parse_duration, parse_time
from pykb.testing.objects.limits import Limits, NoValueError
from pykb.testing.objects.numbers import (
    random_duration,
    random_float,
    random_integer,
    random_quantity,
    random_time,
)
from pykb.testing.objects.texts import dns_label, label_value, qualified_name, random_text

INTEGERS = st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 20)
FLOATS = st.none() | st.floats(-1e12, 1e12) | st.integers(-20, 20)


@given(INTEGERS, INTEGERS, INTEGERS, INTEGERS, st.sampled_from([None, 1, 2, 7, 10]), st.integers(0, 99))
def test_integers_are_within_their_limits(
    ge: int | None, gt: int | None, le: int | None, lt: int | None, step: int | None, seed: int
) -> None:
    """Or there are none."""
    limits = Limits(ge=ge, gt=gt, le=le, lt=lt, multiple_of=step)
    low = max(x for x in (-(2**63), ge, None if gt is None else gt + 1) if x is not None)
    high = min(x for x in (2**63 - 1, le, None if lt is None else lt - 1) if x is not None)
    try:
        made = random_integer(limits, Random(seed))
    except NoValueError:
        factor = step or 1
        if factor > 1:  # multiples are kept to what a float holds exactly
            low, high = max(low, -(2**53)), min(high, 2**53)
        assert math.ceil(low / factor) > math.floor(high / factor) or low > high
    else:
        assert low <= made <= high
        assert made % (step or 1) == 0


@given(FLOATS, FLOATS, FLOATS, FLOATS, st.integers(0, 99))
def test_floats_are_within_their_limits(
    ge: float | None, gt: float | None, le: float | None, lt: float | None, seed: int
) -> None:
    """Where there is room."""
    low = max((x for x in (ge, gt) if x is not None), default=-math.inf)
    high = min((x for x in (le, lt) if x is not None), default=math.inf)
    assume(low + 1 < high)
    made = random_float(Limits(ge=ge, gt=gt, le=le, lt=lt), Random(seed))
    assert math.isfinite(made)
    assert ge is None or made >= ge
    assert gt is None or made > gt
    assert le is None or made <= le
    assert lt is None or made < lt


@pytest.mark.parametrize("step", [0.5, 0.25, 3.0, 0.1])
def test_multiples_are_what_pydantic_takes_for_them(step: float) -> None:
    """In the arithmetic of floats."""
    adapter = TypeAdapter(float)
    for seed in range(100):
        made = adapter.validate_python(random_float(Limits(ge=-10, le=10, multiple_of=step), Random(seed)))
        assert abs(made / step - round(made / step)) < 1e-9


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.timedeltas(timedelta(days=-719_000), timedelta(days=2_932_000)).map(EPOCH.__add__)


@given(st.none() | MOMENTS, st.none() | MOMENTS, st.booleans(), st.integers(0, 99))
def test_times_are_within_their_limits(ge: datetime | None, le: datetime | None, micro: bool, seed: int) -> None:
    """As they are on the wire, where metav1.Time has whole seconds."""
    assume(ge is None or le is None or le - ge > timedelta(seconds=2))
    made = parse_time(random_time(Limits(ge=ge, le=le, microseconds=micro), Random(seed)))
    assert ge is None or made >= ge
    assert le is None or made <= le


@given(
    st.timedeltas(timedelta(days=-9), timedelta(days=9)), st.timedeltas(timedelta(0), timedelta(9)), st.integers(0, 9)
)
def test_durations_are_within_their_limits(low: timedelta, width: timedelta, seed: int) -> None:
    """Also narrow ones."""
    made = parse_duration(random_duration(Limits(ge=low, le=low + width), Random(seed)))
    assert low <= made <= low + width


@given(st.integers(0, 300), st.none() | st.integers(0, 300), st.integers(0, 99))
def test_texts_are_as_long_as_they_must_be(least: int, more: int | None, seed: int) -> None:
    """And not longer than they may be."""
    most = None if more is None else least + more
    made = random_text(Limits(min_length=least, max_length=most), Random(seed))
    assert least <= len(made)
    assert most is None or len(made) <= most


def test_quantities_are_read() -> None:
    """Texts and bare numbers."""
    made = [random_quantity(Random(seed)) for seed in range(200)]
    assert {type(quantity) for quantity in made} == {str, int}
    assert all(Quantity(quantity) is not None for quantity in made)


@given(st.integers(0, 10_000))
def test_names_are_those_of_kubernetes(seed: int) -> None:
    """DNS labels, keys and values of labels."""
    random = Random(seed)
    label = TypeAdapter(str).validate_python(dns_label(random))
    assert 1 <= len(label) <= 63
    assert label[0].isalnum()
    assert label[-1].isalnum()
    assert len(label_value(random)) <= 63
    assert len(qualified_name(random).rpartition("/")[2]) <= 63


@pytest.mark.parametrize(
    ("make", "limits"),
    [
        (random_integer, Limits(ge=2, le=1)),
        (random_integer, Limits(gt=1, lt=2)),
        (random_integer, Limits(ge=11, le=19, multiple_of=10)),
        (random_float, Limits(ge=2, le=1)),
        (random_float, Limits(gt=1, le=1)),
        (random_time, Limits(ge=datetime(2026, 1, 2, tzinfo=UTC), le=datetime(2026, 1, 1, tzinfo=UTC))),
        (random_duration, Limits(ge=timedelta(2), le=timedelta(1))),
        (random_text, Limits(min_length=3, max_length=2, patterns=("^a*$",))),
    ],
)
def test_limits_that_leave_nothing_are_told(make: object, limits: Limits) -> None:
    """And not gone past."""
    with pytest.raises(NoValueError):
        make(limits, Random(1))  # type: ignore[operator]

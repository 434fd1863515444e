"""Times and durations on the wire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pykb.api import MicroTime, Struct
from pykb.api.time import format_duration, format_time, parse_duration, parse_time


class Holder(Struct):
    at: datetime | None = None
    micro: MicroTime | None = None
    every: timedelta | None = None


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00:00.123456789Z", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00:00+02:00", "2026-01-31T10:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_times_go_out_in_utc_with_whole_seconds(text: str, again: str) -> None:
    """metav1.Time has seconds and Z, whatever came in."""
    assert format_time(parse_time(text)) == again


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-01-31 12:00:00Z",
        "2026-01-31T24:00:00Z",
        "1700000000",
        1700000000,
        datetime(2026, 1, 31),  # noqa: DTZ001 - that it has no zone is the point
        "x",
        True,
    ],
)
def test_what_is_no_time_of_the_api_is_refused(value: object) -> None:
    """No numbers, no dates alone, and never a time without a zone, which would mean another moment elsewhere."""
    with pytest.raises(ValidationError):
        Holder(at=value)  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Holder(micro=value)  # type: ignore[arg-type]


def test_micro_times_keep_their_microseconds() -> None:
    """A Lease's renewTime has six digits, also after an assignment and in another zone."""
    held = Holder()
    held.micro = datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    assert held.to_wire() == {"micro": "2026-01-31T10:00:00.000005Z"}
    assert held.micro == datetime(2026, 1, 31, 10, 0, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h30m", 5400), ("1.5s", 1.5), ("-300ms", -0.3), ("0", 0), ("1h0m0.5s", 3600.5), ("100us", 1e-4), (".5m", 30)],
)
def test_durations_are_read_as_go_reads_them(text: str, seconds: float) -> None:
    """Numbers with units, added up."""
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "1", "1d", "h", "1h 30m", "-", "1.h.", "PT1H", "+-1s"])
def test_other_durations_are_refused(text: str) -> None:
    """Go would refuse them as well."""
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(), "0s"),
        (timedelta(hours=1), "1h0m0s"),
        (timedelta(seconds=90), "1m30s"),
        (timedelta(milliseconds=1500), "1.5s"),
        (timedelta(microseconds=1500), "1.5ms"),
        (timedelta(microseconds=7), "7µs"),
        (timedelta(seconds=-1), "-1s"),
    ],
)
def test_durations_are_written_as_go_writes_them(value: timedelta, text: str) -> None:
    """The text is Go's own, so that a Go program sees no difference."""
    assert format_duration(value) == text


@given(st.timedeltas(timedelta(days=-1000), timedelta(days=1000)))
def test_durations_come_back(value: timedelta) -> None:
    """Writing and reading is the identity."""
    assert parse_duration(format_duration(value)) == value

"""Times and durations in the forms that Kubernetes uses.

Sources: RFC 3339; metav1.Time and metav1.MicroTime in the API conventions; Go's duration format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

# Python 3.14 takes 24:00 for the next day.
_RFC3339 = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt](?!24)\d{2}:\d{2}:\d{2}(?P<fraction>[.,]\d+)?(?:[Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_GO_DURATION = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<unit>ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_MICROSECONDS: dict[str, Decimal | int] = {
    "ns": Decimal("0.001"),
    "us": 1,
    "µs": 1,
    "μs": 1,
    "ms": 10**3,
    "s": 10**6,
    "m": 6 * 10**7,
    "h": 36 * 10**8,
}
_LONGEST = (2**63 - 1) // 1000
"""The longest duration in microseconds. Go counts nanoseconds in 64 bits."""


@lru_cache(maxsize=1024)
def parse_time(text: str) -> datetime:
    """Parse a time in RFC 3339 form.

    Raises:
        ValueError: The text is not in this form, or has no time zone.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time: expected RFC 3339, such as 2026-01-31T12:00:00Z")
    return datetime.fromisoformat(text.upper())


def format_time(value: datetime) -> str:
    """Format a time as metav1.Time: UTC, whole seconds.

    >>> format_time(datetime(2026, 1, 31, 12, 0, 0, 999, tzinfo=UTC))
    '2026-01-31T12:00:00Z'
    """
    # `strftime` takes twice as long, and drops the leading zeros of years before 1000 on some platforms. Go's zero time
    # is in year 1.
    return value.astimezone(UTC).replace(tzinfo=None, microsecond=0).isoformat() + "Z"


def format_micro_time(value: datetime) -> str:
    """Format a time as metav1.MicroTime: UTC, always six decimals."""
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_duration(text: str) -> timedelta:
    """Parse a duration in Go's form, such as ``1h30m``, ``1.5s``, ``-300ms`` or ``0``.

    Fractions of a microsecond are cut off.

    Raises:
        ValueError: The text is not a duration, or the duration is longer than 292 years.
    """
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return timedelta()
    total, end = Decimal(0), 0
    while match := _GO_DURATION.match(rest, end):
        total += Decimal(match["number"]) * _MICROSECONDS[match["unit"]]
        end = match.end()
    if not rest or end != len(rest):
        raise ValueError(f"{text!r} is not a duration: expected numbers with units, such as 1h30m, 1.5s or 300ms")
    if total > _LONGEST:
        raise ValueError(f"{text!r} is too long for a duration: the limit is 292 years")
    return timedelta(microseconds=sign * int(total))


def format_duration(value: timedelta) -> str:
    """Format a duration in Go's form.

    >>> format_duration(timedelta(hours=1, minutes=30)), format_duration(timedelta(milliseconds=1500))
    ('1h30m0s', '1.5s')
    """
    micros = value // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    if micros == 0:
        return "0s"
    if micros < 1000:
        return f"{sign}{micros}µs"
    if micros < 10**6:
        return f"{sign}{_decimal(micros, 3)}ms"
    minutes, rest = divmod(micros, 6 * 10**7)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, 6)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else sign + seconds


def _decimal(number: int, digits: int) -> str:
    whole, fraction = divmod(number, 10**digits)
    return f"{whole}.{fraction:0{digits}d}".rstrip("0").rstrip(".")


class MicroDatetime(datetime):
    """The value of a ``MicroTime`` field: a datetime whose microseconds are sent too."""

    @classmethod
    def of(cls, value: datetime) -> MicroDatetime:
        """Return the same time as a MicroDatetime."""
        return value if isinstance(value, MicroDatetime) else cls.fromisoformat(value.isoformat())


@dataclass(frozen=True, slots=True)
class MicroTimeFormat:
    """Marks a ``datetime`` as metav1.MicroTime."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _validate_micro_time,
            serialization=core_schema.plain_serializer_function_ser_schema(format_micro_time, when_used="json"),
        )


MicroTime = Annotated[datetime, MicroTimeFormat()]
"""metav1.MicroTime, ``renewed: MicroTime | None = None``.

A plain ``datetime`` is metav1.Time, with whole seconds on the wire.
"""


def _validate_micro_time(value: object) -> datetime:
    return MicroDatetime.of(validate_time(value))


def validate_time(value: object) -> datetime:
    """Validate a ``datetime`` field: a datetime with a time zone, or a time in RFC 3339 form.

    Raises:
        ValueError: The value is neither. A datetime without a time zone is refused, since it would
            be another time on another machine.
    """
    if isinstance(value, str):
        return parse_time(value)
    if not isinstance(value, datetime):
        message = "expected a time: a datetime with a time zone, or a string such as 2026-01-31T12:00:00Z"
        raise ValueError(message)  # noqa: TRY004 - Pydantic reports only these
    if value.utcoffset() is None:
        raise ValueError("a time needs a time zone: datetime.now(UTC), not datetime.now()")
    return value


def validate_duration(value: object) -> timedelta:
    """Validate a ``timedelta`` field: a timedelta, or a duration in Go's form."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        return parse_duration(value)
    raise ValueError("expected a duration: a timedelta, or a string such as 1h30m")

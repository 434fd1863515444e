"""A random value of each type that has one JSON value."""

from __future__ import annotations

import base64
import enum
import ipaddress
import pathlib
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

from pykb.api.quantity import Quantity
from pykb.api.wire import encode
from pykb.gen.lower.scalars import lower_scalar
from pykb.testing.objects.limits import Limits, NoValueError
from pykb.testing.objects.numbers import (
    random_day,
    random_duration,
    random_float,
    random_integer,
    random_quantity,
    random_time,
    random_time_of_day,
)
from pykb.testing.objects.texts import dns_label, random_text


def random_scalar(annotation: Any, limits: Limits, random: Random) -> Any:
    """A value of a scalar type or an enum, as on the wire.

    Raises:
        NoValueError: The limits leave none, or the type is not known.
    """
    if isinstance(annotation, type):
        if issubclass(annotation, enum.Enum):
            return encode(random.choice(list(annotation)))
        for base, make in _SCALARS:
            if issubclass(annotation, base):
                return make(limits, random)
    if annotation is None or annotation is type(None):
        return None
    node = lower_scalar(annotation)  # Pydantic's own types, such as URLs
    if node is not None and node.type == "string":
        return random_text(replace(limits, format=str(node.get("format") or "").replace("-", "")), random)
    raise NoValueError(f"values of the type `{getattr(annotation, '__name__', annotation)}` are not known")


def _bytes(limits: Limits, random: Random) -> str:
    least = max(1, limits.min_length)
    most = max(least, min(limits.max_length or least + 8, least + 64))
    return base64.b64encode(random.randbytes(random.choice((least, most, random.randint(least, most))))).decode()


def _decimal(random: Random) -> str:
    return random.choice(("0", "1", "-1", "0.1", "1000000", "3.14159"))


def _address(version: int) -> Callable[[Limits, Random], str]:
    return lambda _, random: random_text(Limits(format=f"ipv{version}"), random)


def _network(version: int) -> Callable[[Limits, Random], str]:
    cls: Any = ipaddress.IPv4Network if version == 4 else ipaddress.IPv6Network
    address, bits = _address(version), 32 if version == 4 else 128
    return lambda limits, random: str(cls(f"{address(limits, random)}/{random.randint(0, bits)}", strict=False))


_SCALARS: tuple[tuple[type, Callable[[Limits, Random], Any]], ...] = (
    (bool, lambda _, random: random.choice((True, False))),
    (Quantity, lambda _, random: random_quantity(random)),
    (str, random_text),
    (int, random_integer),
    (float, random_float),
    (bytes, _bytes),
    (datetime, random_time),
    (date, lambda _, random: random_day(random)),
    (time, lambda _, random: random_time_of_day(random)),
    (timedelta, random_duration),
    (Decimal, lambda _, random: _decimal(random)),
    (UUID, lambda _, random: random_text(Limits(format="uuid"), random)),
    (ipaddress.IPv4Address, _address(4)),
    (ipaddress.IPv6Address, _address(6)),
    (ipaddress.IPv4Network, _network(4)),
    (ipaddress.IPv6Network, _network(6)),
    (pathlib.PurePath, lambda _, random: f"/{dns_label(random)}/{dns_label(random)}"),
)

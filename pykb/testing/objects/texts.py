"""Random texts: plain ones, those of a format, those that match a pattern; lengths are counted in characters."""

from __future__ import annotations

import base64
import string
from collections.abc import Callable
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from random import Random
from uuid import UUID

from pydantic_core import SchemaError, SchemaValidator, core_schema

from pykb.api.regex import to_rust
from pykb.testing.objects.limits import Limits, NoValueError
from pykb.testing.objects.patterns import text_of

TRIES = 200
USUAL_LENGTH = 12
LONGEST = 4096
"""Texts are at most this long, unless they must be longer."""

_LETTERS = string.ascii_lowercase + string.digits
# What programs take for something else, or cut: YAML's other words, white space at the ends, signs beyond ASCII.
_EDGES = ("", " ", "a", "0", "null", "true", "~", "-1", "1e3", " a ", "a\nb", '"', "\\", "ä", "日本", "🙂", "a,b=c")


def random_text(limits: Limits, random: Random) -> str:
    """A text within its limits.

    Raises:
        NoValueError: None was found, or the pattern has parts that no text can be made of.
    """
    most = max(LONGEST, limits.min_length) if limits.max_length is None else limits.max_length
    if limits.min_length > most:
        raise NoValueError("no text is as long as it must be, and not longer than it may be")
    if limits.known and random.random() < 0.9:
        return random.choice(limits.known)
    check = _judge(limits.patterns)
    make = _maker(limits)
    for _ in range(TRIES):
        text = make(random)
        if limits.min_length <= len(text) <= most and check(text):
            return text
    raise NoValueError("no text of this pattern, format and length was found")


def dns_label(random: Random) -> str:
    """A DNS label (RFC 1123): what most names are."""
    length = random.choice((1, 63, random.randint(2, 20)))
    inner = "".join(random.choice(_LETTERS + "-") for _ in range(length - 2))
    ends = [random.choice(_LETTERS) for _ in range(min(length, 2))]
    return inner.join(ends) if length > 1 else ends[0]


def label_value(random: Random) -> str:
    """A value of a label: empty, or a name with dots, underscores and capitals."""
    return random.choice(("", "A.b_c-1", dns_label(random), dns_label(random)))


def qualified_name(random: Random) -> str:
    """A key of a label or an annotation."""
    return f"{random.choice(('', '', 'example.com/', 'a.b.example.org/'))}{dns_label(random)}"


def plain_text(limits: Limits, random: Random) -> str:
    """Any text: an edge, or letters of a length that its limits allow, often the least or the greatest."""
    least, most = limits.min_length, limits.max_length
    if random.random() < 0.3:
        edges = [edge for edge in _EDGES if least <= len(edge) and (most is None or len(edge) <= most)]
        if edges:
            return random.choice(edges)
    longest = least + USUAL_LENGTH if most is None else min(most, max(least, LONGEST))
    usual = random.randint(least, min(longest, least + USUAL_LENGTH))
    length = random.choice((least, longest, usual, usual, usual))
    return "".join(random.choice(_LETTERS) for _ in range(length))


def _maker(limits: Limits) -> Callable[[Random], str]:
    if limits.patterns:
        # Of several patterns one is made and all are checked; the longest says most.
        pattern = max(limits.patterns, key=len)
        return lambda random: text_of(pattern, random)
    made = _FORMATS.get(limits.format)
    if made is not None:
        return made
    return lambda random: plain_text(limits, random)


@cache
def _judge(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    try:
        validators = [SchemaValidator(core_schema.str_schema(pattern=to_rust(pattern))) for pattern in patterns]
    except SchemaError as error:
        raise NoValueError(f"the pattern is not one of the API server's: {error}") from error
    return lambda text: all(validator.isinstance_python(text) for validator in validators)


def _digits(random: Random, count: int, characters: str = string.digits) -> str:
    return "".join(random.choice(characters) for _ in range(count))


def _ipv4(random: Random) -> str:
    return random.choice(("0.0.0.0", "127.0.0.1", "255.255.255.255", str(IPv4Address(random.getrandbits(32)))))  # noqa: S104


def _ipv6(random: Random) -> str:
    return random.choice(("::", "::1", "2001:db8::1", str(IPv6Address(random.getrandbits(128)))))


def _cidr(random: Random) -> str:
    if random.random() < 0.5:
        return f"{_ipv4(random)}/{random.choice((0, 8, 24, 32))}"
    return f"{_ipv6(random)}/{random.choice((0, 64, 128))}"


def _host(random: Random) -> str:
    return ".".join(dns_label(random)[:20].strip("-") or "a" for _ in range(random.randint(1, 3))) + ".example"


def _day(random: Random) -> str:
    return f"{random.randint(1, 9999):04}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"


def _clock(random: Random) -> str:
    return f"{random.randint(0, 23):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}"


def _uuid(version: int | None) -> Callable[[Random], str]:
    return lambda random: str(UUID(int=random.getrandbits(128), version=version or random.choice((3, 4, 5))))


def _byte(random: Random) -> str:
    return base64.b64encode(random.randbytes(random.randint(1, 12))).decode("ascii")


def _one_of(*texts: str) -> Callable[[Random], str]:
    return lambda random: random.choice(texts)


_FORMATS: dict[str, Callable[[Random], str]] = {
    "bsonobjectid": lambda random: _digits(random, 24, string.hexdigits),
    "byte": _byte,
    "cidr": _cidr,
    "creditcard": _one_of("4111111111111111", "378282246310005"),
    "date": _day,
    "datetime": lambda random: f"{_day(random)}T{_clock(random)}Z",
    "duration": lambda random: f"{random.randint(0, 90)}{random.choice(('s', 'm', 'h', 'ms'))}",
    "email": lambda random: f"{dns_label(random)[:20].strip('-') or 'a'}@{_host(random)}",
    "hexcolor": lambda random: f"#{_digits(random, random.choice((3, 6)), string.hexdigits)}",
    "hostname": _host,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "isbn": _one_of("0306406152", "9780306406157"),
    "isbn10": _one_of("0306406152", "080442957X"),
    "isbn13": _one_of("9780306406157"),
    "k8slongname": _host,
    "k8sshortname": dns_label,
    "mac": lambda random: ":".join(_digits(random, 2, string.hexdigits) for _ in range(6)),
    "rgbcolor": lambda random: f"rgb({random.randint(0, 255)},{random.randint(0, 255)},{random.randint(0, 255)})",
    "ssn": lambda random: f"{_digits(random, 3)}-{_digits(random, 2)}-{_digits(random, 4)}",
    "uri": lambda random: f"https://{_host(random)}/{dns_label(random)}",
    "uuid": _uuid(None),
    "uuid3": _uuid(3),
    "uuid4": _uuid(4),
    "uuid5": _uuid(5),
}

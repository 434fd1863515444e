"""String formats as the API server checks them.

The server checks these formats and ignores all others. The list, with the Go function behind each:
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation
Go is more lenient than the RFCs in some places (leading zeros in addresses, durations in words).
This module follows Go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import cache
from ipaddress import AddressValueError, IPv6Address

from pydantic_core import SchemaValidator, core_schema

from pykb.api.time import parse_duration

_UUID = r"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}"
_BYTE_OF_COLOR = r"\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
# Each repetition has one character class, so that matching stays linear in the length of the input.
_EMAIL_CHARACTERS = r"\w!#$%&'*+\-/=?^`{|}~\x80-\U0010ffff"
_EMAIL_WORDS = rf"[{_EMAIL_CHARACTERS}]+(?:\.[{_EMAIL_CHARACTERS}]+)*"
_QUOTED = r'"(?:[^"\\\x00-\x1f\x7f]|\\[\x20-\x7e])*"'
_ADDRESS = rf"(?:{_EMAIL_WORDS}|{_QUOTED})@(?:{_EMAIL_WORDS}|\[[^\[\]\\\x00-\x1f\x7f]*\])"
_PATTERNS = {
    "bsonobjectid": r"[0-9a-fA-F]{24}",
    "byte": r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})",
    "email": rf" ?(?:{_ADDRESS}|(?:[{_EMAIL_CHARACTERS} .]|{_QUOTED})*<{_ADDRESS}>) ?",
    "hexcolor": r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})",
    "k8slongname": rf"(?=.{{1,253}}\Z){_DNS_LABEL}(?:\.{_DNS_LABEL})*",
    "k8sshortname": rf"(?=.{{1,63}}\Z){_DNS_LABEL}",
    "mac": (
        r"[0-9a-fA-F]+|[0-9a-fA-F]{2}(?:(?::[0-9a-fA-F]{2})+|(?:-[0-9a-fA-F]{2})+)"
        r"|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+"
    ),
    "rgbcolor": rf"rgb\({_BYTE_OF_COLOR},{_BYTE_OF_COLOR},{_BYTE_OF_COLOR}\)",
    "ssn": r"(?=.{11}\Z)\d{3}[- ]?\d{2}[- ]?\d{4}",
    "uuid": "(?i)" + _UUID.format(version="[0-9a-f]", variant="[0-9a-f]"),
    "uuid3": "(?i)" + _UUID.format(version="3", variant="[0-9a-f]"),
    "uuid4": "(?i)" + _UUID.format(version="4", variant="[89ab]"),
    "uuid5": "(?i)" + _UUID.format(version="5", variant="[89ab]"),
}
_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_DURATION_PART = re.compile(r"(\d{1,18})\s*([A-Za-zµ]+)", re.ASCII)
_DURATION_UNITS = ({"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"}, ("nano", "micro", "milli", "sec"))
_DURATION_WORDS = (*_DURATION_UNITS[1], "min", "hour", "day", "week")
_HOSTNAME = (
    r"^([a-zA-Z0-9\p{S}\p{L}](-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?"
    r"|([a-zA-Z0-9\p{S}\p{L}]([-a-zA-Z0-9\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$"
)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_AUTHORITY = re.compile(r"(?:[^@\s]*@)?(?:\[[0-9a-fA-F:.%]+\]|[^\s:\[\]<>\"^`{|}\\]*)(?::[0-9]*)?")


@cache
def checker(name: str) -> Callable[[str], bool] | None:
    """Return a function that checks a format, or None if the server does not check it."""
    name = name.replace("-", "")  # date-time is the same as datetime
    if name in _CHECKS:
        return _CHECKS[name]
    if name not in _PATTERNS:
        return None
    match = re.compile(_PATTERNS[name], re.ASCII).fullmatch
    if name == "mac":
        return lambda text: match(text) is not None and len(re.sub(r"[-:.]", "", text)) in (12, 16, 40)
    return lambda text: match(text) is not None


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text.replace("0000-", "2000-", 1))  # year 0 is a leap year, and Python has no year 0
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    day, _, clock = text.lower().partition("t")
    return _is_date(day) and _TIME_OF_DAY.fullmatch(clock) is not None


def _is_duration(text: str) -> bool:
    try:
        parse_duration(text)
    except ValueError:
        units = (match[2].lower() for match in _DURATION_PART.finditer(text))
        return any(unit in _DURATION_UNITS[0] or unit.startswith(_DURATION_WORDS) for unit in units)
    return True


def _is_ipv4_text(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(re.fullmatch(r"[0-9]+", p) is not None and int(p) < 256 for p in parts)


def _is_ipv6_text(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return "%" not in text


def _is_ipv4(text: str) -> bool:
    return _is_ipv4_text(text) or ("." in text and _is_ipv6_text(text))


def _is_cidr(text: str) -> bool:
    address, _, length = text.partition("/")
    if not re.fullmatch(r"[0-9]{1,3}", length):
        return False
    return int(length) <= 32 if _is_ipv4_text(address) else int(length) <= 128 and _is_ipv6_text(address)


@cache
def _hostname_pattern() -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=_HOSTNAME))  # Python's `re` does not support \p{L}


def _is_hostname(text: str) -> bool:
    octets = [len(part.encode()) for part in text.split(".")]
    return sum(octets) + len(octets) - 1 <= 255 and max(octets) < 64 and _hostname_pattern().isinstance_python(text)


def _is_uri(text: str) -> bool:
    if not text or any(ord(char) < 0x20 or char == "\x7f" for char in text):
        return False
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if not rest.startswith("/"):
        return scheme is not None or text == "*"
    rest = rest.partition("?")[0]
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _AUTHORITY.fullmatch(authority) is not None and not _BAD_ESCAPE.search(authority + slash + path)
    return not _BAD_ESCAPE.search(rest)


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((10 if d == "X" else int(d)) * (10 - i) for i, d in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    doubled = [int(d) * (2 if i % 2 else 1) for i, d in enumerate(reversed(digits))]
    return _CARD.fullmatch(digits) is not None and sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


_CHECKS: dict[str, Callable[[str], bool]] = {
    "cidr": _is_cidr,
    "creditcard": _is_credit_card,
    "date": _is_date,
    "datetime": _is_datetime,
    "duration": _is_duration,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6_text,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "uri": _is_uri,
}

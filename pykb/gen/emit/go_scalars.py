"""What go-yaml v2 reads a plain scalar as, and how Go writes a number.

controller-gen writes YAML through go-yaml v2, whose YAML 1.1 resolver differs from PyYAML's in a few places
(``y``, ``0o7``, ``1e3`` are not strings; ``=`` and ``<<`` are). These rules were observed.
A test compares them with the real go-yaml.
"""

from __future__ import annotations

import datetime as dt
import math
import re

_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_POINT_FIRST = re.compile(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?\Z")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?\Z")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_LONGEST_INTEGER = 21
_BASES = {"o": 8, "x": 16, "b": 2}
_BASED = re.compile(r"([-+]?)0([0-7]+|[oO][0-7]+|[xX][0-9a-fA-F]+|[bB][01]+)\Z")
_SIGN_INSIDE = re.compile(r"0b[-+][01]+\Z")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?"
    r"(?:Z|[-+](?:[01][0-9]|2[0-4]):(?:[0-5][0-9]|60))"
    r"| +([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?)?\Z",
)
_LEAST_WITH_EXPONENT = 1e21  # in Go's JSON
_MAY_START = frozenset("+-.0123456789")


def reads_as_string(text: str) -> bool:
    """Whether go-yaml v2 reads this plain scalar as a string, and writes it without quotes.

    go-yaml also reads base-60 numbers as strings. It quotes them for other readers, and the result is false for them.
    """
    if text in _WORDS:
        return False
    if text[0] not in _MAY_START:
        return True
    return _number(text) is None and not _is_timestamp(text) and not _BASE_60.match(text)


def plain_value(text: str) -> str | bool | float | None:
    """The JSON value that go-yaml v2 reads from a plain scalar. A time is text; a whole number has no fraction."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_START or _is_timestamp(text):
        return text
    number = _number(text)
    if number is None:
        return text
    if isinstance(number, int) or number != int(number) or abs(number) >= _LEAST_WITH_EXPONENT:
        return number
    return _whole(number)


def _number(text: str) -> float | None:
    """The number in a plain scalar; ``None`` for one that does not fit in 64 bits."""
    plain = text.replace("_", "")
    if text[0] == ".":
        return _finite(plain) if _POINT_FIRST.match(text) else None
    if _DECIMAL.match(plain) and len(plain) <= _LONGEST_INTEGER and -(2**63) <= int(plain) < 2**64:
        return int(plain) if plain[0] != "+" or int(plain) < 2**63 else float(plain)
    based = _BASED.match(plain)
    if based and (number := _based_number(based[1], based[2].lower())) is not None:
        return number
    if _FLOAT.match(plain):
        return _finite(plain)
    if _SIGN_INSIDE.match(plain):
        number = int(plain[2:], 2)  # noqa: FURB166 - base 0 would not read the sign
        return number if -(2**63) <= number < 2**63 else None
    return None


def _based_number(sign: str, digits: str) -> int | None:
    number = int(sign + (digits[1:] if digits[0] in _BASES else digits), _BASES.get(digits[0], 8))
    # After a sign, Go reads only signed numbers.
    return number if -(2**63) <= number < (2**63 if sign else 2**64) else None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _is_timestamp(text: str) -> bool:
    match = _TIMESTAMP.match(text)
    if not match:
        return False
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    hour, minute, second = [int(x) for x in match.groups()[3:] if x is not None] or (0, 0, 0)
    try:
        # Go has a year 0, a leap year like 2000.
        dt.datetime(year or 2000, month, day, hour, minute, second, tzinfo=dt.UTC)
    except ValueError:
        return False
    return True


def float_text(number: float) -> str:
    """A float as Go's YAML writer prints it: an integer if it fits in 64 bits, else the shortest ``%g``."""
    if math.isfinite(number) and number == int(number):
        whole = _whole(number)
        if -(2**63) <= whole < 2**64:
            return str(whole)
    return _general(number)


def _whole(number: float) -> int:
    """A whole number as Go prints it: the shortest digits that identify it, then zeros."""
    sign, digits, exponent = _shortest(number)
    return int(sign + digits.ljust(exponent + 1, "0"))


def integer_text(number: int) -> str:
    """An integer as Go's YAML writer prints it: a float if it does not fit in 64 bits."""
    return str(number) if -(2**63) <= number < 2**64 else _general(float(number))


def _general(number: float) -> str:
    if math.isnan(number):
        return ".nan"
    if math.isinf(number):
        return ".inf" if number > 0 else "-.inf"
    sign, digits, exponent = _shortest(number)
    if exponent < -4 or exponent >= 6:
        mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def _shortest(number: float) -> tuple[str, str, int]:
    """Sign, significant digits without trailing zeros, and the decimal exponent of the first digit."""
    sign = "-" if math.copysign(1, number) < 0 else ""
    text, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = text.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or "0")
    first = point - 1 - (len(whole + fraction) - len(digits))
    return sign, digits.rstrip("0") or "0", first

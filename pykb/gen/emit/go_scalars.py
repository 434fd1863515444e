"""Which plain text go-yaml v2 would read back as something else than a string, and how Go writes a float.

controller-gen writes YAML through go-yaml v2, whose YAML 1.1 resolver differs from PyYAML's in a few places
(``y``, ``0o7``, ``1e3`` are no strings; ``=`` and ``<<`` are). Observed; a test holds the table.
"""

from __future__ import annotations

import datetime as dt
import math
import re

_WORDS = frozenset(
    [
        *("", "~", "null", "Null", "NULL"),
        *("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"),
        *("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"),
        *(".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"),
    ],
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?\Z")
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_BASED = re.compile(r"([-+]?)0([0-7]+|[oO][0-7]+|[xX][0-9a-fA-F]+|[bB][01]+)\Z")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"| ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.[0-9]+)?)?\Z",
)
_MAY_START = frozenset("+-.0123456789")


def reads_as_string(text: str) -> bool:
    """Whether go-yaml v2 reads this plain scalar as a string."""
    if text in _WORDS:
        return False
    first = text[0]
    if first not in _MAY_START:
        return True
    if first == ".":
        plain = text.replace("_", "")
        return not (_FLOAT.match(plain) and math.isfinite(float(plain)))
    return not (_is_number(text) or _is_timestamp(text))


def _is_number(text: str) -> bool:
    plain = text.replace("_", "")
    if _DECIMAL.match(plain) or _BASE_60.match(text):
        return True
    if _FLOAT.match(plain):
        return math.isfinite(float(plain))
    based = _BASED.match(plain)
    if not based:
        return False
    digits = based[2].lower()
    base = {"o": 8, "x": 16, "b": 2}.get(digits[0], 8)
    return int(digits.lstrip("oxb") if base != 16 else digits[1:], base) < 2**64


def _is_timestamp(text: str) -> bool:
    match = _TIMESTAMP.match(text)
    if not match:
        return False
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    hour, minute, second = [int(x) for x in match.groups()[3:] if x is not None] or (0, 0, 0)
    try:
        # Go knows a year 0, a leap year like 2000.
        dt.datetime(year or 2000, month, day, hour, minute, second, tzinfo=dt.UTC)
    except ValueError:
        return False
    return True


def float_text(number: float) -> str:
    """A float as Go's YAML writer prints it: an integer where 64 bits hold it, else the shortest ``%g``."""
    if math.isfinite(number) and number == int(number) and -(2**63) <= number < 2**64:
        return str(int(number))
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

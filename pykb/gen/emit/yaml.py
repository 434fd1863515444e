"""Objects as YAML text, byte for byte as controller-gen writes them (go-yaml v2 through sigs.k8s.io/yaml).

Block mappings and sequences, keys in natural order. A text is plain, in single or double quotes, or literal (``|``).
That depends on what the plain text would be read as, and on characters that a style cannot represent. Long lines are
folded at a blank. No library is used: none writes the same bytes as go-yaml, and this code is several times faster. A
test compares it with the real go-yaml.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cmp_to_key, lru_cache

# What go-yaml v2 reads a plain scalar as, and how Go writes a number.
#
# controller-gen writes YAML through go-yaml v2, whose YAML 1.1 resolver differs from PyYAML's in a few places
# (`y`, `0o7`, `1e3` are not strings; `=` and `<<` are). These rules were observed.
# A test compares them with the real go-yaml.


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


_WIDTH = 80
_LONGEST_SIMPLE_KEY = 128  # bytes; a longer key is written after a question mark

# Characters printed as they are, except for line breaks. The two separators are both printable and breaks.
_CHARACTER = r"[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]"
_ONE_LINE = re.compile(rf"(?! ){_CHARACTER}+(?<! )")
_BREAKS = "\n\u2028\u2029"
_BREAK = re.compile(f"[{_BREAKS}]")
_ANY_BREAK = re.compile(f"[\r\x85{_BREAKS}]")
_UNPRINTABLE = re.compile(r"[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
_BLANK_BEFORE_BREAK = re.compile(f" [{_BREAKS}]")
_BLANK_AFTER_BREAK = re.compile(f"[{_BREAKS}] ")
_INDICATOR = re.compile(r"[#,\[\]{}&*!|>'\"%@`]|[-?:](?: |\Z)|---|\.\.\.")
_INNER_INDICATOR = re.compile(r":(?: |\Z)| #")

_NAMED_ESCAPES = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e", '"': '"',
    "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip
_ESCAPED = re.compile(rf'["\\{_BREAKS}]|{_UNPRINTABLE.pattern}')
_BYTE_ORDER_MARK = "\ufeff"


def _is_simple_key(text: str) -> bool:
    """Whether a key fits on one line before its colon, without a question mark."""
    return len(text.encode()) <= _LONGEST_SIMPLE_KEY and not _ANY_BREAK.search(text)


@lru_cache(maxsize=4096)
def _one_line(text: str) -> str:
    """A text without line breaks, before it is folded. Simple keys are written in this form."""
    if not reads_as_string(text):
        return _double_quoted(text)
    if _ONE_LINE.fullmatch(text):
        if _INDICATOR.match(text) or _INNER_INDICATOR.search(text):
            return _single_quoted(text)
        return text
    return _double_quoted(text) if _UNPRINTABLE.search(text) else _single_quoted(text)


def scalar(text: str, column: int, indent: int) -> str:
    """A text with its line break at the end.

    Args:
        text: The text.
        column: Where its first character will stand.
        indent: Where its further lines will start.
    """
    if _BREAK.search(text) is None:
        return _folded(_one_line(text), column, indent) + "\n"
    if not (_UNPRINTABLE.search(text) or _BLANK_BEFORE_BREAK.search(text)):
        if "\n" not in text and not _BLANK_AFTER_BREAK.search(text):
            return _separated(text, column, indent) + "\n"
        if "\n" in text and text[-1] != " ":
            return _literal(text, indent)
    return _folded(_double_quoted(text), column, indent) + "\n"


def _single_quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _double_quoted(text: str) -> str:
    # go-yaml escapes each character after a byte order mark.
    pattern = re.compile("(?s:.)") if text.startswith(_BYTE_ORDER_MARK) else _ESCAPED
    return '"' + pattern.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in _NAMED_ESCAPES:
        return "\\" + _NAMED_ESCAPES[character]
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _literal(text: str, indent: int) -> str:
    """A literal scalar: ``|``, its indentation and chomping indicators, and the lines."""
    hint = "2" if text[0] == " " or text[0] in _BREAKS else ""
    if text[-1] not in _BREAKS:
        hint += "-"
    elif len(text) == 1 or text[-2] in _BREAKS:
        hint += "+"
    blanks = " " * indent
    lines = re.sub(rf"(?:(?<=[{_BREAKS}])|\A)(?=[^{_BREAKS}])", blanks, text)
    return f"|{hint}\n{lines}" + ("" if text[-1] in _BREAKS else "\n")


def _separated(text: str, column: int, indent: int) -> str:
    """A text with line or paragraph separators, in single quotes. The text after each is indented."""
    *lines, last = re.split(r"(?<=[\u2028\u2029])(?![\u2028\u2029])", _single_quoted(text))
    out: list[str] = []
    for line in lines:
        out.append(_fold(line, column, indent, never=() if out else (1,)))
        out.append(" " * indent)
        column = indent
    if last == "'":
        out.pop()
    out.append(_fold(last, column, indent, never=(len(last) - 2,)))
    return "".join(out)


def _folded(written: str, column: int, indent: int) -> str:
    """A scalar of one line, folded unless it is short."""
    if column + len(written) <= _WIDTH or " " not in written:
        return written
    # Never break at the first or last character of a quoted text.
    never = (1, len(written) - 2) if written[0] in "'\"" else ()
    return _fold(written, column, indent, never=never, escape=written[0] == '"')


def _fold(written: str, column: int, indent: int, *, never: tuple[int, ...], escape: bool = False) -> str:
    """Break at the first blank of each run of blanks after the 80th column.

    ``escape`` says whether to escape a blank that then starts a line.
    """
    out: list[str] = []
    start, line_start = 0, -column
    for match in re.finditer("(?<! ) ", written):
        at = match.start()
        if at - line_start <= _WIDTH or at in never:
            continue
        backslash = ""
        if written[at + 1] == " ":
            if not escape:
                continue
            backslash = "\\"
        out.append(f"{written[start:at]}\n{' ' * indent}{backslash}")
        start = at + 1
        line_start = start - indent - len(backslash)
    out.append(written[start:])
    return "".join(out)


_STEP = 2
# Over letters and `-` alone the natural order is the order of code points: `-` sorts before every letter.
_SIMPLE = re.compile(r"[A-Za-z-]*\Z").match


def dump_document(data: Mapping[str, object]) -> str:
    """One document as YAML, without a leading ``---``, ending with a line break.

    Args:
        data: Plain data: mappings with string keys, lists, strings, booleans, integers, floats, ``None``.
    """
    if not data:
        return "{}\n"
    out: list[str] = []
    _mapping(data, 0, "", out.append)
    return "".join(out)


def _mapping(data: Mapping[str, object], indent: int, first: str, put: Callable[[str], object]) -> None:
    """Each key on a line of its own; ``first`` stands before the first one (the dash of a sequence)."""
    blanks = " " * indent
    lead = first
    for key in _ordered(tuple(data)):
        value = data[key]
        text = _simple_key(key)
        if text is None:
            put(f"{lead}? {scalar(key, indent + _STEP, indent + _STEP)}")
            _item(value, indent + _STEP, f"{blanks}: ", put)
        elif (kind := type(value)) is str:
            if value in _FREQUENT:
                put(f"{lead}{text} {value}\n")
            else:
                put(f"{lead}{text} {scalar(value, indent + len(text) + 1, indent + _STEP)}")  # type: ignore[arg-type]
        elif kind is dict and value:
            put(f"{lead}{text}\n")
            _mapping(value, indent + _STEP, blanks + "  ", put)  # type: ignore[arg-type]
        elif (kind is list or kind is tuple) and value:
            put(f"{lead}{text}\n")
            _sequence(value, indent, blanks, put)  # type: ignore[arg-type]
        else:
            put(f"{lead}{text} {_atom(value)}\n")
        lead = blanks


def _sequence(data: list[object], indent: int, first: str, put: Callable[[str], object]) -> None:
    lead, following = f"{first}- ", " " * indent + "- "
    for value in data:
        _item(value, indent + _STEP, lead, put)
        lead = following


def _item(value: object, indent: int, lead: str, put: Callable[[str], object]) -> None:
    """The value directly after a dash, or after the colon of a key with a question mark."""
    kind = type(value)
    if kind is str:
        put(f"{lead}{scalar(value, indent, indent)}")  # type: ignore[arg-type]
    elif kind is dict and value:
        _mapping(value, indent, lead, put)  # type: ignore[arg-type]
    elif (kind is list or kind is tuple) and value:
        _sequence(value, indent, lead, put)  # type: ignore[arg-type]
    else:
        put(f"{lead}{_atom(value)}\n")


def _atom(value: object) -> str:
    """The text of a value that is neither a string nor a container with elements."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "null"
    kind = type(value)
    if kind is int:
        return integer_text(value)  # type: ignore[arg-type]
    if kind is float:
        return float_text(value)  # type: ignore[arg-type]
    if kind is dict:
        return "{}"
    if kind is list or kind is tuple:
        return "[]"
    raise TypeError(f"no plain data: {value!r}")


@lru_cache(maxsize=4096)
def _simple_key(key: str) -> str | None:
    """A key with its colon; ``None`` when it needs a question mark."""
    if key == "<<":  # go-yaml writes it plain, and then reads it as a merge
        return '"<<":'
    return _one_line(key) + ":" if _is_simple_key(key) else None


@lru_cache(maxsize=4096)
def _ordered(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted_keys(keys))


_FREQUENT = frozenset({"string", "object", "integer", "array", "boolean", "int32", "int64", "atomic", "map", "set"})
"""Values with a fixed spelling."""


def sorted_keys(keys: Iterable[str]) -> list[str]:
    """The keys in natural order.

    Letters come last. Characters that Unicode got after version 14 are letters in newer Pythons only, as in newer Gos.
    """
    found = list(keys)
    if all(map(_SIMPLE, found)):
        found.sort()
        return found
    # The comparison is not transitive for keys like 0, 01, 0a. A fixed start order makes the result deterministic.
    return sorted(sorted(found), key=cmp_to_key(_compare))


def _compare(left: str, right: str) -> int:
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a == b:
            continue
        a_letter, b_letter = a.isalpha(), b.isalpha()
        if a_letter and b_letter:
            return -1 if a < b else 1
        if a_letter or b_letter:
            return 1 if a_letter else -1
        return _compare_numbers(left, right, index)
    return len(left) - len(right)


_DIGITS = re.compile(r"\d+")


def _compare_numbers(left: str, right: str, index: int) -> int:
    # A zero is a leading zero only where no other digit stands before it in the (common) text.
    before = _DIGITS.match(left[:index][::-1])
    prefix = "1" if "0" in (left[index], right[index]) and before and before[0].strip("0") else ""
    a_run, b_run = (match[0] if (match := _DIGITS.match(text, index)) else "" for text in (left, right))
    a_number, b_number = _value(prefix + a_run), _value(prefix + b_run)
    if a_number != b_number:
        return -1 if a_number < b_number else 1
    if len(a_run) != len(b_run):
        return len(a_run) - len(b_run)
    return -1 if left[index] < right[index] else 1


def _value(digits: str) -> int:
    value = 0
    for digit in digits:
        value = value * 10 + ord(digit) - ord("0")  # like Go, also for digits of other scripts
    return value

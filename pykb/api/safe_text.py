"""Texts from outside, made safe for logs, answers and events: short, without control characters and secret values.

Objects, reviews, answers of servers and errors may contain anything, of any length. A terminal would act on escape
sequences, and a line end would begin a forged line of the log. Pydantic's errors quote the values that did not fit,
which may be secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from pykb.api.unreadable import problems_of

LIMIT = 4096
"""The most characters of one text. A message of the API server about ten fields is shorter."""

_MOST_PROBLEMS = 10
_LONGEST_CHAIN = 50

# Characters that control a terminal, change the direction of the text after them, or have no UTF-8.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_VALUE = re.compile(r"input_value=[^\n]*")
_LEFT_OUT = "input_value left out]"


def safe_text(value: object, limit: int = LIMIT) -> str:
    r"""The text of a value: cut, without values that Pydantic quotes, and with control characters as escapes.

    >>> safe_text("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    text = value if type(value) is str else _text_of(value)
    if len(text) > limit:
        rest = f"... ({len(text)} characters)"
        text = text[: max(0, limit - len(rest))] + rest
    if text.isprintable() and "input_value=" not in text:
        return text
    return _UNSAFE.sub(_escape, _VALUE.sub(_LEFT_OUT, text))[:limit]


def safe_trace(text: str, limit: int) -> str:
    """The text of a traceback. Its middle is left out if it is too long."""
    if len(text) > limit:
        text = _VALUE.sub(_LEFT_OUT, text)  # first: nobody could tell the end of a value from other text
        half = limit // 2
        text = f"{text[:half]}\n... ({len(text) - limit} characters)\n{text[-half:]}"
    return safe_text(text, 2 * limit)


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def _text_of(value: object) -> str:
    try:
        return _without_input(value) if isinstance(value, ValidationError) else str.__str__(str(value))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - there is a text for everything
        return f"(a `{type(value).__name__}` without a text: its `__str__` raised `{type(error).__name__}`)"


def _without_input(error: ValidationError) -> str:
    problems = problems_of(error)
    more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
    return f"{error.title}: {'; '.join(map(str, problems[:_MOST_PROBLEMS]))}{more}"


def error_text(error: BaseException, limit: int = LIMIT) -> str:
    """The type of an error and what it says."""
    text = safe_text(error, limit)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class ValuesLeftOut(Exception):  # noqa: N818 - stands for another error
    """Replaces Pydantic's error in the log. The text of that error contains values, which may be secrets."""


def without_values(error: BaseException) -> BaseException:
    """Return the error to log. Pydantic's errors in its chain are replaced by equal ones without values."""
    if not any(isinstance(each, ValidationError) for each in _chain(error)):
        return error
    return _replaced(error, {}, 0)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and all that it was raised from or contains."""
    left, seen = [error], set()
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        left += [before for before in (each.__cause__, each.__context__) if before is not None]
        if isinstance(each, BaseExceptionGroup):
            left += each.exceptions


def _replaced(error: BaseException, known: dict[int, BaseException], depth: int) -> BaseException:
    if id(error) in known:
        return known[id(error)]
    made: BaseException = error
    if isinstance(error, ValidationError) or depth > _LONGEST_CHAIN:
        made = ValuesLeftOut(safe_text(error)).with_traceback(error.__traceback__)
    known[id(error)] = made
    if depth > _LONGEST_CHAIN:
        return made
    if isinstance(error, BaseExceptionGroup):
        made = error.derive([_replaced(each, known, depth + 1) for each in error.exceptions])
        made = known[id(error)] = made.with_traceback(error.__traceback__)
    cause, context = error.__cause__, error.__context__
    suppressed: Any = error.__suppress_context__
    made.__cause__ = None if cause is None else _replaced(cause, known, depth + 1)
    made.__context__ = None if context is None or context is cause else _replaced(context, known, depth + 1)
    made.__suppress_context__ = suppressed
    return made


LONGEST_TRACE = 32 * 1024
"""Characters of a traceback. Fifty calls take a quarter of it."""

SECRET_WORDS = ("token", "password", "secret", "authorization", "private_key", "credential")
"""The value of a field whose name contains one of these is never logged."""

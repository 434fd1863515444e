"""Writes text from outside into Python: a function for each place that can hold text.

No other module puts such text into a line of Python. What a place cannot hold is refused, not repaired: a repaired text
would say something else than its author wrote.
"""

from __future__ import annotations

import keyword
import re
import unicodedata

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Line ends of Python, of Unicode and of terminals, other control characters, halves of surrogate pairs, and characters
# that show a line in another order than Python reads it.
_UNSAFE = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_NOT_IN_A_COMMENT = re.compile(f"[\n{_UNSAFE}]")
_NOT_IN_A_DOCSTRING = re.compile(f"[{_UNSAFE}]")


class QuotingError(ValueError):
    """A text that its place cannot hold. The message says why."""


def string(text: str) -> str:
    r"""A string literal with the fewest escapes: raw where there are backslashes, else in double quotes.

    >>> print(string("plain"), string(r"^\d+$"), string('say "yes"'), string("a\nb"))
    "plain" r"^\d+$" 'say "yes"' "a\nb"
    """
    mark = "'" if text.count('"') > text.count("'") else '"'
    if "\\" in text and mark not in text and text.isprintable() and not text.endswith("\\"):
        return f"r{mark}{text}{mark}"
    out = [_ESCAPES.get(char) or (f"\\{char}" if char == mark else _printable(char)) for char in text]
    return f"{mark}{''.join(out)}{mark}"


def comment(text: str) -> str:
    """A comment of one line.

    >>> comment("+required")
    '# +required'

    Raises:
        QuotingError: The text has a character that ends the line, or that hides what follows.
    """
    return f"# {_checked(text, _NOT_IN_A_COMMENT, 'a comment')}"


def docstring(text: str, indent: int) -> str:
    """A docstring, with the indentation of its place in spaces.

    Raises:
        QuotingError: The text has a control character, or another one that hides what follows.
    """
    mark = '"""'
    text = _checked(text, _NOT_IN_A_DOCSTRING, "a docstring")
    raw = "\\" in text
    if raw and (mark in text or text.endswith(("\\", '"'))):
        raw, text = False, text.replace("\\", "\\\\")
    if not raw:
        quotes = len(text) - len(text.rstrip('"'))
        text = text.replace(mark, '\\"\\"\\"')
        if quotes % 3:  # complete triple quotes are already escaped
            text = text[:-1] + '\\"'
    pad = " " * indent
    lines = text.split("\n")
    body = "\n".join([lines[0], *(pad + line if line else "" for line in lines[1:])])
    end = f"\n{pad}" if len(lines) > 1 else ""
    return f"{pad}{'r' if raw else ''}{mark}{body}{end}{mark}"


def identifier(text: str) -> str:
    """A name of a class, a function, an attribute or a module.

    Raises:
        QuotingError: It is not a name, or Python would read it as another one.
    """
    if not text.isidentifier() or keyword.iskeyword(text) or unicodedata.normalize("NFKC", text) != text:
        raise QuotingError(f"{text[:80]!r} is not a name in Python")
    return text


def _checked(text: str, forbidden: re.Pattern[str], place: str) -> str:
    match = forbidden.search(text)
    if match is not None:
        raise QuotingError(f"{place} cannot hold the character U+{ord(match[0]):04X}")
    return text


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

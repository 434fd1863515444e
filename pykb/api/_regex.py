r"""Translates patterns so that they match the same strings in Python as on the API server.

The server uses Go's RE2, Pydantic uses Rust's regex engine. The two are closely related. But in
Rust, ``\d``, ``\w``, ``\s`` and ``\b`` cover all of Unicode, and more characters are special inside
brackets.
"""

from __future__ import annotations

import re

_CLASSES = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[0-9A-Za-z_]",
    "W": "[^0-9A-Za-z_]",
    "s": r"[\t\n\f\r ]",
    "S": r"[^\t\n\f\r ]",
}
_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|\Z)", re.DOTALL)
_OPENING = re.compile(r"\[\^?\]?")
_NAMED_CLASS = re.compile(r"\[(?=:).*?:\]", re.DOTALL)
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")


def to_rust(pattern: str) -> str:
    r"""Rewrite an RE2 pattern so that Rust's engine matches the same strings.

    >>> to_rust(r"^\d+$"), to_rust(r"[\w.]")
    ('^[0-9]+$', '[[0-9A-Za-z_].]')
    """
    out: list[str] = []
    inside = False
    at = 0
    while at < len(pattern):
        pair = pattern[at : at + 2]
        if quoted := _QUOTED.match(pattern, at):
            read, written = quoted[0], _SPECIAL.sub(r"\\\g<0>", quoted[1])
        elif pair[0] == "\\" and len(pair) == 2:
            read, written = pair, _escape(pair, inside=inside)
        elif inside:
            read, written = _member(pattern, at, is_first=out[-1] in ("[", "[^"))
            inside = read != "]"
        elif opening := _OPENING.match(pattern, at):
            # A closing bracket that comes first is a member and does not end the class.
            read, written = opening[0], opening[0].replace("]", r"\]")
            inside = True
        else:
            read = written = pattern[at]
        out.append(written)
        at += len(read)
    return "".join(out)


def _member(pattern: str, at: int, *, is_first: bool) -> tuple[str, str]:
    """Return the next part of a bracket expression, as RE2 has it and as Rust needs it."""
    char, pair = pattern[at], pattern[at : at + 2]
    if named := _NAMED_CLASS.match(pattern, at):
        return named[0], named[0]
    if pair == "--":
        # The first of two hyphens may form a range that the second one ends: `[+--]`.
        return ("-", r"\-") if is_first else (pair, r"-\-")
    if pair in ("&&", "~~"):
        return pair, f"\\{char}\\{char}"
    return char, r"\[" if char == "[" else char


def _escape(pair: str, *, inside: bool) -> str:
    char = pair[1]
    if char in _CLASSES:
        return _CLASSES[char]
    if char == "b" and not inside:
        return r"(?-u:\b)"
    if char in "<>":  # plain characters in RE2, word boundaries in Rust
        return char
    return pair

r"""Patterns mean the same in Python as on the API server.

The server has Go's RE2; Pydantic has Rust's engine, which is of the same family but takes ``\d``, ``\w``, ``\s`` and
``\b`` for all of Unicode, and gives some characters a meaning inside brackets.
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
    r"""Rewrite a pattern of RE2 so that Rust's engine matches the same texts.

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
            # A bracket that comes first is a member, not the end.
            read, written = opening[0], opening[0].replace("]", r"\]")
            inside = True
        else:
            read = written = pattern[at]
        out.append(written)
        at += len(read)
    return "".join(out)


def _member(pattern: str, at: int, *, is_first: bool) -> tuple[str, str]:
    """The next part of a bracket expression, for RE2 and for Rust."""
    char, pair = pattern[at], pattern[at : at + 2]
    if named := _NAMED_CLASS.match(pattern, at):
        return named[0], named[0]
    if pair == "--":
        # Of two hyphens the first may make a range, the second ends it: `[+--]`.
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
    if char in "<>":  # plain characters for RE2, word boundaries for Rust
        return char
    return pair

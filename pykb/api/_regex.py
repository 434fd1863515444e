r"""Patterns mean the same in Python as on the API server.

The server has Go's RE2; Pydantic has Rust's engine, which is of the same family but takes ``\d``, ``\w``, ``\s`` and
``\b`` for all of Unicode, and gives some characters a meaning inside brackets.
"""

from __future__ import annotations

_CLASSES = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[0-9A-Za-z_]",
    "W": "[^0-9A-Za-z_]",
    "s": r"[\t\n\f\r ]",
    "S": r"[^\t\n\f\r ]",
}
_SET_OPERATORS = ("&&", "--", "~~")


def to_rust(pattern: str) -> str:
    r"""Rewrite a pattern of RE2 so that Rust's engine matches the same texts.

    >>> to_rust(r"^\d+$"), to_rust(r"[\w.]")
    ('^[0-9]+$', '[[0-9A-Za-z_].]')
    """
    out: list[str] = []
    inside = False
    at = 0
    while at < len(pattern):
        char, pair = pattern[at], pattern[at : at + 2]
        if char == "\\" and len(pair) == 2:
            end = pattern.find("\\E", at) if pair == "\\Q" else -1
            if pair == "\\Q":
                stop = len(pattern) if end < 0 else end
                out.append("".join(f"\\{c}" if c in r"\.+*?()|[]{}^$#&-~" else c for c in pattern[at + 2 : stop]))
                at = stop + 2
                continue
            out.append(_escape(pair, inside=inside))
            at += 2
        elif inside and pattern.startswith("[:", at) and ":]" in pattern[at:]:
            end = pattern.index(":]", at) + 2
            out.append(pattern[at:end])
            at = end
        elif inside and char == "[":
            out.append(r"\[")
            at += 1
        elif inside and pair in _SET_OPERATORS:
            # Of two hyphens the first may make a range, the second ends it: `[+--]`.
            is_range = pair == "--" and out[-1] not in ("[", "[^")
            out.append("-\\-" if is_range else f"\\{char}" if pair == "--" else f"\\{char}\\{char}")
            at += 1 if pair == "--" and not is_range else 2
        elif not inside and char == "[":
            # A bracket that comes first is a member, not the end.
            head = "[^" if pair == "[^" else "["
            at += len(head)
            if pattern[at : at + 1] == "]":
                head += r"\]"
                at += 1
            out.append(head)
            inside = True
        else:
            inside = inside and char != "]"
            out.append(char)
            at += 1
    return "".join(out)


def _escape(pair: str, *, inside: bool) -> str:
    char = pair[1]
    if char in _CLASSES:
        return _CLASSES[char]
    if char == "b" and not inside:
        return r"(?-u:\b)"
    if char in "<>":  # plain characters for RE2, word boundaries for Rust
        return char
    return pair

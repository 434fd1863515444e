"""Writes a text as a YAML scalar, in the same style and bytes as go-yaml v2.

The styles are plain (``word``), in single quotes, in double quotes, and literal (``|``). The choice depends on
what the plain text would be read as, and on characters that a style cannot represent. Long lines are folded at a
blank.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pykb.gen.emit.go_scalars import reads_as_string

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


def is_simple_key(text: str) -> bool:
    """Whether a key fits on one line before its colon, without a question mark."""
    return len(text.encode()) <= _LONGEST_SIMPLE_KEY and not _ANY_BREAK.search(text)


@lru_cache(maxsize=4096)
def one_line(text: str) -> str:
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
        return _folded(one_line(text), column, indent) + "\n"
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


def _escape(found: re.Match[str]) -> str:
    character = found[0]
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
    for found in re.finditer("(?<! ) ", written):
        at = found.start()
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

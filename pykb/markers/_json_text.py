"""Reads JSON as a marker's value: all text up to the end of the line."""

from __future__ import annotations

import json
from math import isinf
from typing import cast

from pykb.diagnostics.codes.markers import MARKER_ARGUMENT
from pykb.markers._lexer import Lexer
from pykb.markers._number import INT64, to_number
from pykb.markers._problem import MarkerSyntaxError, Problem
from pykb.markers.definition import ValueType


def read_json(lexer: Lexer, _: ValueType) -> object:
    """Read the rest of the marker as strict JSON."""
    start, text = lexer.position, lexer.rest
    lexer.position = len(lexer.text)
    if text.strip().startswith("ref("):
        message = f"`{text.strip()}` names a Go constant, which Python does not have"
        raise MarkerSyntaxError(
            Problem(MARKER_ARGUMENT, start, len(lexer.text), message, label="no JSON", help=("write the value itself",))
        )
    try:
        value = json.loads(
            text,
            parse_constant=_refuse,
            parse_int=_json_integer,
            parse_float=_json_number,
            object_pairs_hook=_json_object,
        )
        json.dumps(value, ensure_ascii=False).encode()  # JSON allows half a surrogate pair, UTF-8 does not
    except (ValueError, RecursionError) as error:
        offset = error.pos if isinstance(error, json.JSONDecodeError) else 0
        where = start + min(offset, max(0, len(text) - 1))
        bare = json.dumps(text.strip(), ensure_ascii=False)
        what = f"expected JSON, found `{text.strip()}`"
        if isinstance(error, UnicodeError):
            what = "half a surrogate pair is not text"
        elif not isinstance(error, json.JSONDecodeError):
            what = str(error)
        raise MarkerSyntaxError(
            Problem(
                MARKER_ARGUMENT,
                where,
                len(lexer.text),
                what,
                label="wrong from here on",
                help=(f"for a string, write `+default={bare}`",),
            )
        ) from None
    return cast("object", value)


def _refuse(text: str) -> object:
    raise ValueError(f"`{text}` is not JSON")


def _json_integer(text: str) -> int:
    if not -INT64 <= int(text) < INT64:
        raise ValueError(f"`{text}` does not fit into 64 bits")
    return int(text)


def _json_number(text: str) -> int | float:
    if isinf(float(text)):
        raise ValueError(f"`{text}` is too large")
    return to_number(text)


def _json_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key `{key}` appears twice in an object")
        found[key] = value
    return found

"""Objects as JSON text, and the limits of its parsers and writers.

The API server accepts objects with up to 10,000 levels, where a schema has
``x-kubernetes-preserve-unknown-fields``. Python's parsers end at about 1,000 levels, and the writer
at 254. An object beyond that is read without its deepest values and marked as unreadable, so that
it does not hide the others. The texts are scanned without recursion. A page of a list is read object
by object: parsed as a whole, it takes ten times its size in memory.

Source: https://github.com/kubernetes-sigs/json (``maxNestingDepth``).
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

import orjson

from pykb.api.unreadable import DEEPEST

CUT = "(nested too deeply)"
"""The key, at the top of an object, of the path to values that were left out."""

# An object or array without others in it is skipped as a whole. The quantifiers are possessive, so that the time is
# linear in the text.
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_PLAIN = rf'(?:[^"\[\]{{}}]++|{_STRING})*+'
_OPENING = re.compile(r"\s*+[\[{]")
_TO_BRACKET = re.compile(rf'(?:[^"\[\]{{}}]++|{_STRING}|\[{_PLAIN}\]|{{{_PLAIN}}})*+[\[\]{{}}]', re.DOTALL)
_NAME = re.compile(rf"({_STRING})\s*:\s*\Z", re.DOTALL)
_LONGEST_NAME = 100
_SHOWN = 3
_INTEGERS = range(-(2**63), 2**64)  # what the writer takes


def read_object(content: bytes) -> dict[str, Any]:
    """Read an object. If it is nested too deeply, it is marked and has no values deeper than :data:`DEEPEST`.

    Raises:
        orjson.JSONDecodeError: This is not JSON.
    """
    try:
        obj: dict[str, Any] = orjson.loads(content)
    except orjson.JSONDecodeError:
        obj, _ = read_deep(_text(content))
    return obj


def read_around(content: bytes, *places: tuple[str, ...]) -> Any:
    """Read JSON that has objects at these places, all at one depth. They are read as by :func:`read_object`.

    Raises:
        orjson.JSONDecodeError: This is not JSON.
    """
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        found = shortened(_text(content), above=len(places[0]))
        value = orjson.loads(found.text)
        for place in places:
            prefix = "".join(f"{name}." for name in place)
            paths = [path.removeprefix(prefix) for path in found.paths if path.startswith(prefix)]
            if paths:
                _mark(reduce(getitem, place, value), paths)
    return value


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise orjson.JSONDecodeError(str(error), "", error.start) from None


def read_deep(text: str, at: int = 0) -> tuple[dict[str, Any], int]:
    """Read the object at a position as if it were nested too deeply. Return it and the position after it.

    Raises:
        orjson.JSONDecodeError: This is not JSON.
    """
    found = shortened(text, at)
    obj: dict[str, Any] = orjson.loads(found.text)
    _mark(obj, found.paths)
    return obj, found.end


class Shortened(NamedTuple):
    """A JSON text without its deepest values."""

    text: str
    end: int
    """The position after the text."""
    paths: list[str]
    """The beginnings of the paths of what was left out."""


def shortened(
    text: str, at: int = 0, *, above: int = 0, levels: int = 0, stand_in: Callable[[str], str] | None = None
) -> Shortened:
    """Return the object or array at a position without what is nested too deeply.

    Args:
        text: JSON.
        at: Where the object or array begins.
        above: How many levels are around the objects of which the paths are wanted.
        levels: How many levels are kept. Defaults to :data:`DEEPEST` and those above.
        stand_in: Returns what is kept in place of an object or array of the last level that has
            others in it. Defaults to its two brackets.

    Raises:
        orjson.JSONDecodeError: The text ends before the object or array does.
    """
    kept: list[str] = []
    steps = [(0, 0)] * (above + _SHOWN)
    paths: dict[tuple[int, int], str] = {}
    start, deep, level, last = at, at, 0, levels or above + DEEPEST
    bracket = _OPENING.match(text, at)
    while bracket:
        before, at = at, bracket.end()
        if text[at - 1] in "{[":
            level += 1
            if 2 <= level < len(steps) + 2:
                steps[level - 2] = before, at
            elif level == last:
                deep = at - 1
                kept.append(text[start:deep])
                if steps[above + 1] not in paths:
                    paths[steps[above + 1]] = _path(text, steps)
        else:
            if level == last:
                whole, start = text[deep:at], at
                kept.append(stand_in(whole) if stand_in else f"{whole[0]}{whole[-1]}")
            level -= 1
            if level == 0:
                return Shortened(
                    "".join((*kept, text[start:at])), at, [path.removeprefix(".") for path in paths.values()]
                )
        bracket = _TO_BRACKET.match(text, at)
    raise orjson.JSONDecodeError("expected the end of an object or array", text, at)


def _path(text: str, steps: Iterable[tuple[int, int]]) -> str:
    """The path to an object or array, from the text before its opening bracket and those around it."""
    names = [_NAME.search(text, max(begin, end - _LONGEST_NAME), end - 1) for begin, end in steps]
    return "".join(f".{orjson.loads(name[1])}" if name else "[]" for name in names).removeprefix(".")


def _mark(obj: dict[str, Any], paths: Iterable[str]) -> None:
    """Mark an object without its deepest values. Its ``managedFields`` are as deep, but need no mark."""
    for path in paths:
        if path.startswith("metadata.managedFields"):
            obj["metadata"].pop("managedFields", None)
        else:
            obj.setdefault(CUT, path)


class SetAside:
    """A JSON text in which short texts stand for what is nested too deeply, so that it can be changed around them."""

    def __init__(self, content: bytes, *, levels: int) -> None:
        """Set aside the objects and arrays of the last level that have others in them. See :func:`shortened`."""
        self._values: list[str] = []
        self._mark = secrets.token_hex(16)  # or another value could look like one
        self.content = shortened(_text(content), levels=levels, stand_in=self._set_aside).text.encode()
        """The text with fewer levels."""

    def __bool__(self) -> bool:
        return bool(self._values)

    def _set_aside(self, value: str) -> str:
        self._values.append(value)
        return f'"{self._mark}{len(self._values) - 1}"'

    def put_back(self, content: bytes) -> bytes:
        """Replace the texts that stand for values by these."""
        mark = self._mark.encode()
        return re.sub(rb'"%b(\d+)"' % mark, lambda found: self._values[int(found[1])].encode(), content)


def writable(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object itself, or if it cannot be written as JSON, one that can: see :func:`storable`."""
    return obj if has_json(obj) else storable(obj)


def storable(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object that cannot be written as JSON in a form that can.

    Its deepest values are left out, and it is marked. The API server writes a large float without a
    fraction as an integer of up to 21 digits, which becomes a float again.
    """
    paths: list[str] = []
    made: dict[str, Any] = _storable(obj, 1, "", paths)
    _mark(made, paths)
    return made


def _storable(value: Any, level: int, path: str, left_out: list[str]) -> Any:
    if isinstance(value, dict):
        if level == DEEPEST and _has_others(value.values()):
            left_out.append(path.removeprefix("."))
            return {}
        return {
            name: _storable(part, level + 1, path if level > _SHOWN else f"{path}.{name}", left_out)
            for name, part in value.items()
        }
    if isinstance(value, list):
        if level == DEEPEST and _has_others(value):
            left_out.append(path.removeprefix("."))
            return []
        below = path if level > _SHOWN else f"{path}[]"
        return [_storable(part, level + 1, below, left_out) for part in value]
    return float(value) if type(value) is int and value not in _INTEGERS else value


def _has_others(parts: Iterable[object]) -> bool:
    return any(isinstance(part, (dict, list)) for part in parts)


def encode(body: object, *, sort_keys: bool = False) -> bytes:
    """Encode an object as JSON.

    Raises:
        ValueError: A value has no JSON form, such as a set or a string that is not valid Unicode, or
            it is nested too deeply. The message names its field.
    """
    try:
        return orjson.dumps(body, option=orjson.OPT_SORT_KEYS if sort_keys else None)
    except TypeError as error:
        path, why = flaw_of(body)
        raise ValueError(f"`{path}` cannot be sent: it {why}") from error


def flaw_of(body: object) -> tuple[str, str]:
    """Why a value has no JSON form: the path of a field, and what it has or is."""
    if path := deep_path(body):
        why = f"is nested deeper than {DEEPEST} levels, or contains itself"
    else:
        path, value = _culprit(body, "")
        why = f"has {_described(value)}"
    return path.removeprefix("."), why


def _described(value: object) -> str:
    if isinstance(value, str):
        return "a string that is not valid Unicode, which is not JSON"
    if type(value) is int and value not in _INTEGERS:
        return "an integer of more than 64 bits"
    return f"a `{type(value).__name__}`, which is not JSON"


def _culprit(value: object, path: str) -> tuple[str, object]:
    """The innermost value that has no JSON form, and its path."""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or not has_json(key):
                return path, key
    parts = (
        ((f"{path}.{key}", part) for key, part in value.items())
        if isinstance(value, Mapping)
        else ((f"{path}[{index}]", part) for index, part in enumerate(value))
        if isinstance(value, (list, tuple))
        else ()
    )
    for inner, part in parts:
        if not has_json(part):
            return _culprit(part, inner)
    return path, value


def has_json(value: object) -> bool:
    """Whether a value can be written as JSON."""
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


def deep_path(value: object, levels: int = DEEPEST) -> str:
    """The beginning of the path of an object or array that is nested too deeply, or an empty text."""
    layer = [("", value)]
    for level in range(levels):
        if not layer:
            return ""
        found = (part for path, each in layer for part in _containers(path, each, level))
        layer = list({id(part): (path, part) for path, part in found}.values())  # each once, if it contains itself
    return layer[0][0] if layer else ""


def _containers(path: str, value: Any, level: int) -> Iterator[tuple[str, Any]]:
    """The objects and arrays in an object or array, with their paths."""
    is_mapping = isinstance(value, Mapping)
    for name, part in value.items() if is_mapping else enumerate(value):
        if isinstance(part, (Mapping, list, tuple)):
            step = "" if level >= _SHOWN else f".{name}" if is_mapping else f"[{name}]"
            yield f"{path}{step}", part


_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class Page:
    """A page of a list. Read its objects first: they can come before its metadata, as in lists of custom resources."""

    def __init__(self, content: bytes) -> None:
        """Take an answer of the API server. Nothing is parsed yet."""
        self.metadata: dict[str, Any] = {}
        """The metadata of the list, when all objects were read."""
        self.count = 0
        """How many objects were read."""
        self._text = content.decode()
        self._at = 0

    def items(self) -> Iterator[dict[str, Any]]:
        """Yield each object. Only one is in memory at a time, unless the caller keeps others.

        An object that is nested too deeply is marked.

        Raises:
            json.JSONDecodeError: This is not a list in JSON.
        """
        self._expect("{")
        more = not self._skip("}")
        while more:
            name = self._value()
            self._expect(":")
            if name == "items" and self._skip("["):
                yield from self._elements()
            elif name == "metadata":
                self.metadata = self._value()
            else:
                self._value()
            more = self._continues("}")
        self._text = ""  # a stream keeps its last page as long as it watches

    def _elements(self) -> Iterator[dict[str, Any]]:
        more = not self._skip("]")
        while more:
            self.count += 1
            yield self._object()
            more = self._continues("]")

    def _object(self) -> dict[str, Any]:
        try:
            obj: dict[str, Any] = self._value()
        except RecursionError:
            obj, self._at = read_deep(self._text, self._blank())
        return obj

    def _value(self) -> Any:
        value, self._at = _DECODER.raw_decode(self._text, self._blank())
        return value

    def _continues(self, end: str) -> bool:
        if self._skip(end):
            return False
        self._expect(",")
        return True

    def _expect(self, mark: str) -> None:
        if not self._skip(mark):
            raise json.JSONDecodeError(f"expected `{mark}`", self._text, self._at)

    def _skip(self, mark: str) -> bool:
        at = self._blank()
        found = self._text.startswith(mark, at)
        self._at = at + found
        return found

    def _blank(self) -> int:
        found = _SPACE.match(self._text, self._at)
        return found.end() if found else self._at

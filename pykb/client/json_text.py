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
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from pykb.api.unreadable import DEEPEST

CUT = "(nested too deeply)"
"""The key, at the top of an object, of the path to values that were left out."""

# The quantifiers are possessive, so that the time is linear in the text.
_TO_BRACKET = re.compile(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+[\[\]{}]', re.DOTALL)
_NOT_YAML = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xef\xbf[\xbe\xbf]")  # U+007F to U+009F, U+FFFE and U+FFFF, in UTF-8
_SHOWN = 3
_INTEGERS = range(-(2**63), 2**64)  # what the writer takes


def read_object(content: bytes) -> dict[str, Any]:
    """Read an object. If it is nested too deeply, it is marked and has no values deeper than :data:`DEEPEST`.

    Raises:
        orjson.JSONDecodeError: This is not JSON.
    """
    obj: dict[str, Any] = read_around(content, ())
    return obj


def read_around(content: bytes, *places: tuple[str, ...]) -> Any:
    """Read JSON that has objects at these places, all at one depth. They are read as by :func:`read_object`.

    Raises:
        orjson.JSONDecodeError: This is not JSON.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        text = _text(content)
        short, end = _shortened(text, 0, len(places[0]) + DEEPEST)
        value = orjson.loads(short + text[end:])
        for place in places:
            obj = value
            for name in place:
                obj = obj.get(name) if isinstance(obj, dict) else None
            _mark(obj)
        return value


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise orjson.JSONDecodeError(str(error), "", error.start) from None


def _emptied(value: str) -> str:
    return f"{value[0]}{value[-1]}"


def _shortened(text: str, at: int, levels: int, stand_in: Callable[[str], str] = _emptied) -> tuple[str, int]:
    """Return the JSON at a position without what is nested too deeply, and the position after it.

    Args:
        text: JSON.
        at: Where an object or array begins.
        levels: How many levels are kept.
        stand_in: Returns what is kept in place of an object or array of the next level.

    Raises:
        orjson.JSONDecodeError: The text ends before the object or array does.
    """
    kept: list[str] = []
    start, end, level = at, at, 0
    while bracket := _TO_BRACKET.match(text, end):
        end = bracket.end()
        if text[end - 1] in "{[":
            level += 1
            if level == levels + 1:
                kept.append(text[start : end - 1])
                start = end - 1
        else:
            if level == levels + 1:
                kept.append(stand_in(text[start:end]))
                start = end
            level -= 1
            if level == 0:
                return "".join((*kept, text[start:end])), end
    raise orjson.JSONDecodeError("expected the end of an object or array", text, end)


def _mark(obj: object) -> None:
    """Mark an object without its deepest values. Its ``managedFields`` are as deep, but need no mark."""
    if not isinstance(obj, dict) or not is_deeper(obj, DEEPEST):
        return
    if isinstance(obj.get("metadata"), dict):
        obj["metadata"].pop("managedFields", None)
    path = ""
    value: object = obj
    for level in range(_SHOWN):
        for step, part in _parts(value):
            if is_deeper(part, DEEPEST - level - 1):
                path, value = f"{path}{step}", part
                break
        else:
            return
    obj[CUT] = path.removeprefix(".")


class SetAside:
    """A JSON text in which short texts stand for what is nested too deeply, so that it can be changed around them."""

    def __init__(self, content: bytes, *, levels: int) -> None:
        """Set aside the objects and arrays that are deeper than this."""
        self._values: list[str] = []
        self._mark = secrets.token_hex(16)  # or another value could look like one
        self.content = _shortened(_text(content), 0, levels, self._set_aside)[0].encode()
        """The text with fewer levels."""

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
    made: dict[str, Any] = _storable(obj, DEEPEST)
    _mark(made)
    return made


def _storable(value: Any, levels: int) -> Any:
    if isinstance(value, dict):
        return {name: _storable(part, levels - 1) for name, part in value.items()} if levels > 0 else {}
    if isinstance(value, list):
        return [_storable(part, levels - 1) for part in value] if levels > 0 else []
    return float(value) if type(value) is int and value not in _INTEGERS else value


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


def readable_as_yaml(content: bytes) -> bytes:
    """Escape what YAML lacks or reads as another character, and JSON has: the API server reads an apply as YAML.

    Source: https://yaml.org/spec/1.2.2/#51-character-set
    """
    return _NOT_YAML.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), content)


def flaw_of(body: object) -> tuple[str, str]:
    """Why a value has no JSON form: the path of a field, and what it has or is."""
    steps: list[str] = []
    value = body
    while len(steps) < DEEPEST and (flaw := _flaw_in(value)):
        steps.append(flaw[0])
        value = flaw[1]
    if isinstance(value, (dict, list, tuple)) and not has_json(value):
        why = f"is nested deeper than {DEEPEST} levels, or contains itself"
        steps = steps[:_SHOWN]
    else:
        why = f"has {_described(value)}"
    return "".join(steps).removeprefix("."), why


def _flaw_in(value: object) -> tuple[str, object] | None:
    """A key or a part of an object or array that has no JSON form, and the step of a path to it."""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or not has_json(key):
                return "", key
    return next((each for each in _parts(value) if not has_json(each[1])), None)


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """The parts of an object or array, each with the step of a path to it."""
    if isinstance(value, Mapping):
        yield from ((f".{name}", part) for name, part in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"[{index}]", part) for index, part in enumerate(value))


def _described(value: object) -> str:
    if isinstance(value, str):
        return "a string that is not valid Unicode, which is not JSON"
    if type(value) is int and value not in _INTEGERS:
        return "an integer of more than 64 bits"
    return f"a `{type(value).__name__}`, which is not JSON"


def has_json(value: object) -> bool:
    """Whether a value can be written as JSON."""
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


def is_deeper(value: object, levels: int) -> bool:
    """Whether a value has more levels of objects and arrays than this."""
    layer = [value]
    for _ in range(levels):
        parts = (part for each in layer for _, part in _parts(each) if isinstance(part, (Mapping, list, tuple)))
        layer = list({id(part): part for part in parts}.values())  # each once, if it contains itself
        if not layer:
            return False
    return True


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
            short, self._at = _shortened(self._text, self._blank(), DEEPEST)
            obj = orjson.loads(short)
            _mark(obj)
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
        match = _SPACE.match(self._text, self._at)
        return match.end() if match else self._at

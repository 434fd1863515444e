"""Reads a page of a list object by object. Parsed as a whole, a page takes ten times its size in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pykb.runtime.client.json_text import read_deep

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

"""Readers of external text. For any text, a reader returns data or raises one type of error.

YAML has a module, since it imports a library.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast


_parsing = threading.RLock()
"""Python 3.11 counts the depth of trees for all threads together, and raises SystemError if two parse at once."""


CONFLICT = "a merge conflict of git"
_MARKER = re.compile(r"^<{7} ", re.MULTILINE)


def before_conflict(text: str) -> str | None:
    """The part of a text before the first conflict marker of git. A reader looks for one if a text does not parse."""
    marker = _MARKER.search(text)
    return marker and text[: marker.start()]


class TomlError(ValueError):
    """A text that is not TOML.

    Attributes:
        line: Where, counted from 1.
        column: Where, counted from 1.
    """

    def __init__(self, problem: str, line: int = 1, column: int = 1) -> None:
        super().__init__(problem)
        self.line, self.column = line, column


def mapping(value: object) -> Mapping[str, Any]:
    """A part of a document that is to be an object. An empty one stands for anything else."""
    return value if isinstance(value, Mapping) else {}


def read_json(text: str | bytes) -> Any:
    """Read the value of a text.

    Raises:
        ValueError: The text is not JSON, or is nested too deeply for Python.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_toml(content: bytes) -> dict[str, Any]:
    """Read the table of a file.

    Raises:
        TomlError: It is not TOML, not UTF-8, or nested too deeply for Python.
    """
    import tomllib

    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise TomlError("expected TOML, which is UTF-8: found another encoding") from error
    except (ValueError, RecursionError) as error:  # also a number with too many digits, or too deep nesting
        if (before := before_conflict(content.decode())) is not None:
            raise TomlError(f"expected TOML, found {CONFLICT}", before.count("\n") + 1) from error
        stated = re.search(r" \(at line ([0-9]+), column ([0-9]+)\)", str(error))
        place = (int(stated[1]), int(stated[2])) if stated else (1, 1)
        raise TomlError(f"expected TOML: {str(error).replace(stated[0], '') if stated else error}", *place) from error


def read_python(text: str, path: str = "<unknown>") -> ast.Module:
    """The syntax tree of a module, parsed without Python's syntax warnings.

    Raises:
        SyntaxError: The text does not parse. Also raised in place of Python's other errors, as for deep nesting.
    """
    import ast
    import gc
    import warnings

    try:
        with _parsing, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            collects = gc.isenabled()
            gc.disable()  # a finalizer may parse, as `traceback` does: Python 3.11 raises SystemError for the outer one
            try:
                return ast.parse(text, path)
            finally:
                if collects:
                    gc.enable()
    except SyntaxError as error:
        if (conflict := python_conflict(text, path)) is None:
            raise
        raise conflict from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "too complex to parse", (path, 1, 1, None)) from error


def python_conflict(text: str, path: str) -> SyntaxError | None:
    """The error for the first conflict marker of git in a Python text that does not parse."""
    before = before_conflict(text)
    return None if before is None else SyntaxError(CONFLICT, (path, before.count("\n") + 1, 1, None))

"""Reads external TOML: the pyproject.toml of a project."""

from __future__ import annotations

import re
import tomllib
from typing import Any


class TomlError(ValueError):
    """A text that is not TOML.

    Attributes:
        line: Where, counted from 1.
        column: Where, counted from 1.
    """

    def __init__(self, problem: str, line: int = 1, column: int = 1) -> None:
        super().__init__(problem)
        self.line, self.column = line, column


def loads(content: bytes) -> dict[str, Any]:
    """Read the table of a file.

    Raises:
        TomlError: It is not TOML, not UTF-8, or nested too deeply for Python.
    """
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise TomlError("expected TOML, which is UTF-8: found another encoding") from error
    except (ValueError, RecursionError) as error:  # also a number with too many digits, or too deep nesting
        stated = re.search(r" \(at line ([0-9]+), column ([0-9]+)\)", str(error))
        place = (int(stated[1]), int(stated[2])) if stated else (1, 1)
        raise TomlError(f"expected TOML: {str(error).replace(stated[0], '') if stated else error}", *place) from error

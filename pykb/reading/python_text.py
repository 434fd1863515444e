"""Reads external Python: users' modules, which may not parse."""

from __future__ import annotations

import ast
import warnings


def parse(text: str, path: str = "<unknown>") -> ast.Module:
    """The syntax tree of a module, parsed without Python's syntax warnings.

    Raises:
        SyntaxError: The text does not parse. Also raised in place of Python's other errors, as for deep nesting.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, path)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "too complex to parse", (path, 1, 1, None)) from error

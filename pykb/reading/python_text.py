"""Python from outside: a user's own modules, which need not parse."""

from __future__ import annotations

import ast
import warnings


def parse(text: str, path: str = "<unknown>") -> ast.Module:
    """The syntax tree of a module, without the warnings that are a linter's business.

    Raises:
        SyntaxError: It does not parse; also where Python itself raises something else, as for deep nesting.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, path)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "too complex to parse", (path, 1, 1, None)) from error

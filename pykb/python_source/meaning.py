"""Compares code without its line breaks, which a formatter with another line length would change."""

from __future__ import annotations

import ast
import tokenize
from io import StringIO

from pykb.reading import read_python


def is_same_code(one: str, other: str) -> bool:
    r"""Whether two texts have the same syntax tree and comments.

    >>> is_same_code("f(a, b)  # c\n", "f(\n    a,\n    b,\n)  # c\n"), is_same_code("f(a)", "f(a)  # c")
    (True, False)
    """
    if one == other:
        return True
    found = _meaning(one)
    return found is not None and found == _meaning(other)


def _meaning(text: str) -> tuple[str, list[str]] | None:
    """The syntax tree and the comments; ``None`` if the text cannot be parsed."""
    try:
        tree = ast.dump(read_python(text))
        tokens = [*tokenize.generate_tokens(StringIO(text).readline)]
    except (SyntaxError, tokenize.TokenError):
        return None
    return tree, [token.string for token in tokens if token.type == tokenize.COMMENT]

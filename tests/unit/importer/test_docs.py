"""Descriptions as docstrings: whatever quotes and backslashes they have, Python reads the same text."""

from __future__ import annotations

import ast
import itertools

import pytest

from pykb.importer._expression import survives
from pykb.markers.comments import describe_docstring
from pykb.python_source.quoting import docstring


@pytest.mark.parametrize("indent", [0, 4])
def test_a_docstring_says_its_text(indent: int) -> None:
    """All texts of up to six of the characters that matter."""
    head = "class A:\n" if indent else ""
    texts = ("".join(some) for count in range(1, 7) for some in itertools.product('a"\\\n ', repeat=count))
    kept = [text for text in texts if survives(text)]
    assert len(kept) > 5_000
    for text in kept:
        tree = ast.parse(head + docstring(text, indent))
        found = ast.get_docstring(tree.body[0] if indent else tree, clean=False)
        assert found is not None
        assert describe_docstring(found) == text

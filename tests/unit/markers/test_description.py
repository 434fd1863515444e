"""Descriptions out of docstrings and comments, by the rules that controller-gen has for Go comments."""

from __future__ import annotations

import pytest

from pykb.diagnostics import Diagnostics
from pykb.markers.collect import collect
from pykb.markers.comments import describe_comment, describe_docstring
from pykb.markers.registry import builtin_registry


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("One line.", "One line."),
        ("First.\n\n    Second.\n    ", "First.\n\nSecond."),
        ("First.\n\n\n\n    Second.", "First.\n\nSecond."),
        ("First.\n    - a\n      b", "First.\n- a\n  b"),
        ("First.\n    TODO: later\n    Second.", "First.\nSecond."),
        ("First.\n    ---\n    internal", "First."),
        ("First.\n\n    ---\n    internal", "First.\n"),
        ("First.\n    ```\n    ---\n    TODO\n    ```\n    Last.", "First.\n```\n---\nTODO\n```\nLast."),
        ("First.\n    ~~~\n    --- x\n    ~~~", "First.\n~~~\n--- x\n~~~"),
        ("TODO", None),
        ("--- nothing", None),
        ("", None),
        ("   \n   ", None),
    ],
)
def test_a_docstring_becomes_a_description(docstring: str, expected: str | None) -> None:
    """Dedented; blank lines collapse; TODO lines go; a line of dashes ends it; code fences keep all."""
    assert describe_docstring(docstring) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([" One.", " Two."], "One.\nTwo."),
        ([" One.", "", "", " Two.", ""], "One.\n\nTwo."),
        ([" One.", " +optional", " Two."], "One.\nTwo."),
        ([" One.", "   indented", "\ttab"], "One.\n  indented\n\ttab"),
        ([" noqa: E501", " One.", " type: ignore[x]", " pylint: disable=x"], "One."),
        ([": Sphinx."], "Sphinx."),
        ([" +optional"], None),
        ([" + kubebuilder:x=1", " One."], "One."),
    ],
)
def test_a_comment_becomes_a_description(lines: list[str], expected: str | None) -> None:
    """One leading blank goes, markers and directives for tools go, the rest stays."""
    assert describe_comment(lines) == expected


def test_the_docstring_comes_before_the_comment() -> None:
    """Of a class and of a field; only the block directly above a declaration describes it."""
    text = '''"""The module."""

# Detached.

# Above A.
class A:
    """Docstring of A."""

    # Above x.
    # +optional
    x: int

    # Above y.
    y: int
    """Docstring of y."""

    z: int

    # Detached.

    w: int


# Above B.
class B: ...
'''
    source = collect(text, "a.py", registry=builtin_registry(), diagnostics=Diagnostics())
    assert source.description == "The module."
    assert source.types["A"].description == "Docstring of A."
    assert source.types["B"].description == "Above B."
    assert {n: f.description for n, f in source.types["A"].fields.items()} == {
        "x": "Above x.",
        "y": "Docstring of y.",
        "z": None,
        "w": None,
    }

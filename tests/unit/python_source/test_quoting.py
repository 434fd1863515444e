"""Texts in Python: each place gives back the same text, or refuses it."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.python_source import quoting

ANY = st.text(st.characters(exclude_categories=[]) | st.sampled_from("\"'\\\n\r\0`#\x0b\x0c\x1c\x85\u2028\u2029"))


@given(text=ANY)
def test_a_string_is_its_text(text: str) -> None:
    """Every text can be one, halves of surrogate pairs, too."""
    assert ast.literal_eval(quoting.string(text)) == text
    assert "\n" not in quoting.string(text)


@given(text=ANY)
def test_a_comment_stays_one_comment(text: str) -> None:
    """The line after it is read as what it is."""
    try:
        line = quoting.comment(text)
    except quoting.QuotingError:
        return
    assert len(line.splitlines()) == 1
    tokens = [*tokenize.generate_tokens(io.StringIO(f"{line}\nx = 1\n").readline)]
    assert [token.string for token in tokens if token.type == tokenize.COMMENT] == [line]
    assert ast.dump(ast.parse(f"{line}\nx = 1\n")) == ast.dump(ast.parse("x = 1"))


@given(text=ANY, indent=st.sampled_from([0, 4]))
def test_a_docstring_is_one_text(text: str, indent: int) -> None:
    """Whatever quotes and backslashes it has."""
    try:
        written = quoting.docstring(text, indent)
    except quoting.QuotingError:
        return
    tree = ast.parse(f"class A:\n{written}\n" if indent else written)
    (only,) = tree.body[0].body if indent else tree.body  # type: ignore[attr-defined]
    assert isinstance(only, ast.Expr)
    assert isinstance(only.value, ast.Constant)


@pytest.mark.parametrize("end", [*"\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", "\0", "\x1b", "\ud800", "\u202e"])
def test_a_comment_refuses_what_ends_or_hides_a_line(end: str) -> None:
    """Of Python, of terminals and of people who read it."""
    with pytest.raises(quoting.QuotingError, match=f"U\\+{ord(end):04X}"):
        quoting.comment(f"a{end}b")


@pytest.mark.parametrize("text", ["", "1a", "a b", "class", "None", "a\n", "a;b", "\ufb01x"])
def test_what_is_no_name_is_refused(text: str) -> None:
    """A keyword is none, and a name that Python reads as another one."""
    with pytest.raises(quoting.QuotingError):
        quoting.identifier(text)

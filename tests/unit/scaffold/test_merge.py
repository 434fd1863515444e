"""A change of the scaffold gets into a file with edits, and no edit is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.commands.transition import merge

BEFORE, AFTER = b"a\nb\nc\nd\ne\n", b"a\nB\nc\nd\nx\ne\n"
LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d\n"]), max_size=8).map(b"".join)


@pytest.mark.parametrize(
    ("content", "expected", "left_out"),
    [
        (BEFORE, AFTER, ()),
        (b"mine\na\nb\nc\nd\ne\n", b"mine\na\nB\nc\nd\nx\ne\n", ()),
        (b"a\nmine\nc\nd\ne\n", b"a\nmine\nc\nd\nx\ne\n", ((2, "B"),)),
        (b"a\nb\nc\nmine\ne\n", b"a\nB\nc\nmine\ne\n", ((4, "x"),)),
        (b"", b"", ((1, "B"), (1, "x"))),
    ],
)
def test_a_change_is_made_where_nobody_edited(content: bytes, expected: bytes, left_out: tuple[object, ...]) -> None:
    """Elsewhere it is left out and named."""
    merged = merge(content, BEFORE, AFTER)
    assert merged.content == expected
    assert merged.left_out == left_out


def test_a_change_that_the_user_made_is_not_asked_for_again() -> None:
    """Also of several lines, of which the user changed some in the same way."""
    merged = merge(b"a\nb\nC\nD\ne\n", BEFORE, b"a\nB\nC\nD\ne\n")
    assert merged.content == b"a\nB\nC\nD\ne\n"
    assert merged.left_out == ()


@given(LINES, LINES, LINES)
def test_a_line_of_the_user_is_never_lost(content: bytes, before: bytes, after: bytes) -> None:
    """What the scaffold did not have is there afterwards, as often as before."""
    merged = merge(content, before, after)
    lines, own = merged.content.splitlines(), content.splitlines()
    for line in set(own):
        kept = own.count(line) - before.splitlines().count(line)
        assert lines.count(line) >= kept
    assert merge(content, before, before).content == content
    assert merge(before, before, after).content == after

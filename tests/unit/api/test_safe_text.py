"""Texts from outside are short, on their lines, and without control characters and values."""

import pytest
from pydantic import BaseModel, ValidationError

from pykb.api.conditions import set_condition
from pykb.api.safe_text import LIMIT, error_text, safe_text, without_values


class Login(BaseModel):
    """Wants a number."""

    password: int


def refused():
    """Pydantic's error, whose text has the value."""
    with pytest.raises(ValidationError) as error:
        Login(password="hunter2")
    assert "hunter2" in str(error.value)
    return error.value


@pytest.mark.parametrize(
    "sign", ["\x1b", "\r", "\x00", "\x7f", "\x9b", "\u202e", "\u2066", "\u200f", "\u2028", "\ud800"]
)
def test_what_controls_a_terminal_is_escaped(sign):
    """With and without a blank beside it."""
    for text in (f"a{sign}b", f"a {sign} b"):
        safe = safe_text(text)
        assert sign not in safe
        assert safe.isprintable()


def test_ordinary_text_stays():
    """In any language."""
    for text in ("", "a b", "Ünïcödé 漢字", "two\nlines\tand a tab"):
        assert safe_text(text) == text


@pytest.mark.parametrize("size", [LIMIT + 1, 7_000_000])
@pytest.mark.parametrize("sign", ["x", "\x1b"], ids=ascii)
def test_long_text_is_cut(size, sign):
    """The result says how long it was, and is never longer than its limit."""
    safe = safe_text(sign * size)
    assert len(safe) <= LIMIT
    assert sign == "\x1b" or f"({size} characters)" in safe
    assert len(safe_text(sign * size, 10)) <= 30


def test_values_of_pydantic_are_left_out_of_every_text():
    """As an error, in the text of another one, and cut in the middle."""
    error = refused()
    assert error_text(error) == (
        "ValidationError: Login: `password` should be a valid integer, unable to parse string as an integer, found a string"
    )
    for text in (f"it failed: {error}", str(error)[: str(error).index("hunter2") + 7]):
        assert "hunter2" not in safe_text(text)
        assert "should be a valid integer" in safe_text(text)


def test_an_error_without_a_text_has_one():
    """Whatever its `__str__` raises."""

    class Mute(Exception):  # noqa: N818 - what it is
        def __str__(self):
            raise SystemExit(1)

    assert error_text(Mute()) == "Mute: (a `Mute` without a text: its `__str__` raised `SystemExit`)"


def test_the_chain_of_an_error_has_no_values():
    """Causes, contexts and groups; also in a circle, or when it is long."""
    first, last = refused(), RuntimeError("last")
    last.__cause__ = ExceptionGroup("several", [ValueError("a"), first])
    last.__cause__.__context__ = last
    made = without_values(last)
    assert made is last
    assert "hunter2" not in str(made.__cause__.exceptions[1])
    error = refused()
    for number in range(5000):
        error, before = RuntimeError(str(number)), error
        error.__context__ = before
    assert without_values(error) is error
    plain = RuntimeError("plain")
    plain.__cause__ = ValueError("cause")
    assert without_values(plain).__cause__ is plain.__cause__


def test_the_message_of_a_condition_has_no_values():
    """People who may not read the object may read its status."""
    (condition,) = set_condition(None, "Ready", False, reason="Failed", message=f"{refused()} \x1b[2J {'x' * 70000}")
    assert "hunter2" not in condition.message
    assert "\x1b" not in condition.message
    assert len(condition.message) <= 32768

"""Waiting in tests, on a clock that stands still."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from pykb.client.clock import VirtualClock
from pykb.client.errors import NotFound
from pykb.testing import eventually


class Impatient(VirtualClock):
    """A clock on which sleeping is over at once."""

    async def sleep(self, delay: timedelta) -> None:
        """Move on."""
        self.advance(delay)
        await asyncio.sleep(0)


def after(tries: int, outcome: object) -> tuple[list[int], object]:
    """A check that fails by ``outcome`` and is content at last."""
    seen: list[int] = []

    async def check() -> str:
        seen.append(1)
        if len(seen) < tries:
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome  # type: ignore[return-value]
        return "content"

    return seen, check


@pytest.mark.parametrize("outcome", [AssertionError("not yet"), NotFound(404, "NotFound", "no such thing"), False])
async def test_it_tries_until_the_check_is_content(outcome: object) -> None:
    """Assertions, absent objects and False are tried again; the answer is returned."""
    seen, check = after(3, outcome)
    assert await eventually(check, clock=Impatient()) == "content"  # type: ignore[arg-type]
    assert len(seen) == 3


@pytest.mark.parametrize("value", [None, 0, "", "x"])
async def test_every_other_answer_is_content(value: object) -> None:
    """A function that only asserts returns None."""
    assert await eventually(lambda: value, clock=Impatient()) == value


async def test_the_last_reason_is_told(virtual_clock: VirtualClock) -> None:
    """Not merely that time is over."""

    def check() -> None:
        raise AssertionError("phase is Pending")

    with pytest.raises(AssertionError, match="not within 30 s: phase is Pending"):
        await eventually(check, clock=Impatient())
    with pytest.raises(AssertionError, match="not within 2 s: it returned False"):
        await eventually(lambda: False, timedelta(seconds=2), clock=Impatient())


async def test_an_error_of_the_test_ends_the_wait() -> None:
    """A typing mistake does not cost the whole wait."""
    with pytest.raises(ZeroDivisionError):
        await eventually(lambda: 1 / 0)


async def test_a_check_that_hangs_is_ended() -> None:
    """By the time for all tries."""
    with pytest.raises(AssertionError, match=r"not within 0\.05 s"):
        await eventually(lambda: asyncio.sleep(60), timedelta(seconds=0.05))

"""Finds the smallest object with a finding."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.errors import Flaky

T = TypeVar("T")


def smallest(
    objects: hypothesis.strategies.SearchStrategy[Any], shown: Callable[[Any], T | None], *, samples: int, seed: int
) -> T | None:
    """Return the finding of the smallest object, or ``None`` if none of the samples has one.

    The same seed tries the same objects. Nothing is remembered between runs.
    """
    found: list[T] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=samples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=tuple(HealthCheck),
        report_multiple_bugs=False,
    )
    @hypothesis.given(objects)
    def look(obj: Any) -> None:
        result = shown(obj)
        if result is not None:
            found.append(result)
            raise _FoundError

    # The last one belongs to the smallest object, even if the same object does not always have the
    # same finding.
    with contextlib.suppress(_FoundError, Flaky):
        look()
    return found[-1] if found else None


class _FoundError(Exception):
    """Signals to hypothesis that an object has a finding."""

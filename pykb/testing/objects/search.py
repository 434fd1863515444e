"""The smallest object that shows something."""

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
    """What the smallest object shows that was found; ``None`` when none of the samples shows anything.

    The same seed tries the same objects, and nothing is remembered from one run to the next.
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

    # The last one is that of the smallest object, also where the same object does not always show the same.
    with contextlib.suppress(_FoundError, Flaky):
        look()
    return found[-1] if found else None


class _FoundError(Exception):
    """Tells hypothesis that an object shows something."""

"""Each test of the explorer has kopf's default registry to itself."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pykb.runtime._kopf.offline import collecting


@pytest.fixture(autouse=True, scope="module")
def _frozen() -> Iterator[None]:
    """Each exploration looks for garbage at its start. What was there before this module is not looked at each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _no_handlers_of_others() -> Iterator[None]:
    """A project that another test has imported in this process would be explored, too."""
    with collecting():
        yield

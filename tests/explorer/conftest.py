"""Each test of the explorer has kopf's default registry to itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pykb.explore._kopf import collecting


@pytest.fixture(autouse=True)
def _no_handlers_of_others() -> Iterator[None]:
    """A project that another test has imported in this process would be explored, too."""
    with collecting():
        yield

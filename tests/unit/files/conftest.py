"""What the tests of transactions share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # files_trees and files_killing, next to the tests


@pytest.fixture(scope="session", autouse=True)
def _children() -> Iterator[None]:
    """No process outlives the tests."""
    yield
    from files_killing import end

    end()

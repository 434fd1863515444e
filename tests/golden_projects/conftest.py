"""What the tests of the sample projects share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for all samples, outside of them: most of what mypy reads is the same."""
    return tmp_path_factory.mktemp("mypy")

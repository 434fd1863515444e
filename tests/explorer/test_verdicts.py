"""What a verdict tolerates."""

from __future__ import annotations

import pytest

from pykb.explore._context import _is_extended
from pykb.explore._history import Identity
from pykb.explore._state import Difference

SERVICE = Identity("v1", "Service", "default", "web")


@pytest.mark.parametrize(
    ("found", "tolerated"),
    [([{"port": 81}, {"port": 80}], True), ([{"port": 81}], False), ([], False), (None, False), ("80", False)],
)
def test_members_that_somebody_adds_to_a_list_may_stay(found, tolerated):
    """The API server keeps them too. Those of the operator must be there."""
    assert _is_extended(Difference(SERVICE, "spec.ports", [{"port": 80}], found)) is tolerated

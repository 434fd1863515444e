"""Nobody right is accused: neither the sound operators of the zoo nor the mended twins of the faulty ones."""

from __future__ import annotations

import pytest

from tests.explorer.test_zoo import ALSO, FAULT_OF, OTHER_TWINS, SOUND, explored


@pytest.mark.parametrize("operator", SOUND, ids=lambda each: each.__name__)
def test_a_sound_operator_is_not_accused(operator):
    """No false alarm, by any code."""
    report = explored(operator, most=40)
    assert not report.diagnostics(), report.diagnostics()
    assert report.histories.total() > 20


@pytest.mark.slow
@pytest.mark.parametrize("twin", OTHER_TWINS, ids=lambda each: each.__name__)
def test_a_mended_operator_is_not_accused_of_its_fault(twin):
    """Nor of what else the fault shows."""
    faulty = FAULT_OF[twin]
    only = ALSO.get(faulty, (faulty.fault,))
    report = explored(twin, only)
    assert not report.diagnostics(), report.diagnostics()
    assert report.histories.total() > 0


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("operator", [*SOUND, *OTHER_TWINS], ids=lambda each: each.__name__)
def test_nobody_right_is_accused(operator):
    """No false alarm, by any history of any code."""
    explored(operator, most=None).check()

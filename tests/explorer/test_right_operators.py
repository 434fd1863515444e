"""Nobody right is accused: neither the sound operators of the zoo nor the mended twins of the faulty ones."""

from __future__ import annotations

import pytest

from tests.explorer.test_zoo import ALSO, FAULT_OF, OTHER_TWINS, SOUND, explored
from tests.explorer.zoo import sound


@pytest.mark.parametrize("operator", SOUND, ids=lambda each: each.__name__)
def test_a_sound_operator_is_not_accused(operator):
    """No false alarm, by any code."""
    report = explored(operator, most=40)
    assert not report.diagnostics(), report.diagnostics()
    assert report.histories.total() > 20


def test_a_reconcile_that_failed_is_tried_again_at_the_next_resync():
    """So an object gets what another one had, also if `max_retries` are used up: the error was there to see."""
    report = explored(sound.GivesUp, ("explore-drift",), most=None)
    assert not report.diagnostics(), report.diagnostics()


def test_what_nobody_can_undo_is_no_fault_of_what_comes_next():
    """Several changes of a child share a run. After one that the API server lets nobody undo, they are tried alone."""
    report = explored(sound.Stores, ("explore-drift",), most=None)
    assert not report.diagnostics(), report.diagnostics()
    assert report.histories["explore-drift"] >= 5


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

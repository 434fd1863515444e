"""One run tries several histories. What is found, and how it is told, is as if each had a run of its own."""

from __future__ import annotations

import pytest

from pykb.explore import Explorer, Report
from pykb.runtime import ApiError, Manager, Reconciler, Request, Result
from tests.explorer.keeper import Keeper
from tests.explorer.zoo import crashes, errors, owners, sights
from tests.explorer.zoo.kinds import subject_of


def explored(operator: type[Reconciler], *only: str) -> Report:
    """What the explorer says of an operator."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)  # type: ignore[attr-defined]

    return Explorer(subject_of(register), only=only).run()


def test_there_are_fewer_runs_than_histories():
    """Though plans compare with runs of their own."""
    report = explored(Keeper, "explore-crash", "explore-error", "explore-drift", "explore-stale")
    report.check()
    assert report.runs < report.histories.total() * 0.8


@pytest.mark.parametrize(
    ("operator", "code"),
    [
        (crashes.ForgetsOldName, "explore-crash"),
        (errors.SwallowsErrors, "explore-error"),
        (owners.FiltersByGeneration, "explore-drift"),
        (sights.SweepsAtStart, "explore-stale"),
    ],
)
def test_a_finding_has_the_history_with_one_fault(operator, code):
    """Each history of a run that ends wrong is run alone."""
    report = explored(operator, code)
    assert report.findings
    for finding in report.findings:
        assert not finding.history.further
        assert len(finding.history.steps) <= 3


class Tired(Keeper):
    """Gives up after the second error, which no history with one fault shows."""

    errors = 0

    async def reconcile(self, request: Request) -> Result | None:
        """Count the errors."""
        if self.errors > 1:
            return None
        try:
            return await super().reconcile(request)
        except ApiError:
            self.errors += 1
            raise


def test_what_only_two_faults_show_is_told_with_both():
    """It is a fault of the operator, though neither history shows it alone."""
    findings = explored(Tired, "explore-error").findings
    assert findings
    for finding in findings:
        assert sum("The operator" in step for step in finding.story) == 2
        assert len(finding.history.faults) >= 2

"""The name of a child that follows from the time: somebody else has it only at that time."""

from __future__ import annotations

import pytest

from pykb.explore import Explorer, Report
from pykb.runtime import Manager, Reconciler, ensure_applied, set_controller_reference
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal, subject_of


class NamesByMinute(Keeper):
    """As a CronJob names its Jobs."""

    pattern = "%H%M"

    def name(self, animal: Animal) -> str:
        """Named after the minute in which the animal was created."""
        assert animal.metadata.creation_timestamp is not None
        return f"{animal.metadata.name}-{animal.metadata.creation_timestamp:{self.pattern}}"

    async def keep(self, animal: Animal) -> None:
        """Warn when the name is taken."""
        try:
            await ensure_applied(self.client, self.child(animal), owner=animal)
        except Exception as error:
            self.recorder.event(animal, "Warning", "Taken", str(error))
            raise


class NamesBySecond(NamesByMinute):
    """A moment later it is another name."""

    pattern = "%H%M%S"


class TakesMinute(NamesByMinute):
    """Overwrites what has the name of this minute."""

    async def keep(self, animal: Animal) -> None:
        """Apply by force."""
        child = self.child(animal)
        set_controller_reference(animal, child)
        await self.client.apply(child, force=True)


def explored(operator: type[Reconciler]) -> Report:
    """What the explorer says of an operator."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)  # type: ignore[attr-defined]

    return Explorer(subject_of(register), only=["explore-theft"]).run()


@pytest.mark.parametrize("operator", [NamesByMinute, NamesBySecond])
def test_an_operator_is_not_accused_of_names_that_it_does_not_want(operator):
    """It need not say that a name is taken which it does not use."""
    explored(operator).check()


def test_a_name_of_the_same_minute_is_tried():
    """The object is created soon after that of somebody else."""
    assert "of somebody else is changed" in explored(TakesMinute).findings[0].message

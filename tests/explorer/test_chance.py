"""Values from chance are compared by where they come from, and what is around them as any other value."""

from __future__ import annotations

import hashlib
import os
import random
import secrets
import uuid
from typing import ClassVar

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.explore import Explorer, History, Report
from pykb.explore._history import Step, Verb
from pykb.explore._runner import Runner
from pykb.runtime import Manager, Reconciler, Result, ensure_applied, is_controlled_by, patch_status
from pykb.runtime import set_controller_reference as own
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import SAMPLE, Animal, AnimalStatus, subject_of


class Names(Keeper):
    """Notes a name from chance in the status, and then makes a child of that name."""

    async def keep(self, animal: Animal) -> None:
        """The name first."""
        if animal.status.child is None:
            before = AnimalStatus(**animal.status.model_dump())
            animal.status.child = f"{animal.metadata.name}-{secrets.token_hex(3)}"
            await patch_status(self.client, animal, before)
        await ensure_applied(self.client, self.child(animal), owner=animal)

    def name(self, animal: Animal) -> str:
        """The noted one."""
        return animal.status.child or "-"


class Derives(Keeper):
    """Copies what chance made, and what follows from it."""

    async def keep(self, animal: Animal) -> None:
        """Create the child with a token."""
        wanted = self.child(animal)
        own(animal, wanted)
        self.found = await self.client.find(ConfigMap, wanted)
        if self.found is None:
            words = [random.choice("abcdefgh") for _ in range(12)]
            wanted.data = {**(wanted.data or {}), "token": "".join(words)}
            self.found = await self.client.create(wanted)
        elif not is_controlled_by(self.found, animal):
            self.recorder.event(animal, "Warning", "Taken", "the child is somebody else's")
            self.found = None
        elif {**(wanted.data or {}), "token": (self.found.data or {}).get("token")} != self.found.data:
            if "token" not in (self.found.data or {}):
                self.found.data = {**(self.found.data or {}), "token": "".join(random.choices("abcdefgh", k=12))}
            self.found.data = {**self.found.data, **(wanted.data or {})}  # type: ignore[dict-item] # strings
            self.found = await self.client.update(self.found)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report a checksum."""
        token = (self.found.data or {}).get("token", "") if self.found is not None else ""
        animal.status.phase = f"token {hashlib.sha256(token.encode()).hexdigest()[:12]} for {animal.spec.food}"
        await patch_status(self.client, animal, before)
        return None


class DerivesOnce(Derives):
    """Never changes the rest of the field again: chance must not hide that."""

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report the first one only."""
        return None if animal.status.phase else await super().report(animal, before)


def explored(operator: type[Reconciler], *only: str) -> Report:
    """What the explorer says of an operator."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)  # type: ignore[attr-defined]

    return Explorer(subject_of(register), only=only, histories=40).run()


@pytest.mark.parametrize("operator", [Names, Derives])
def test_values_from_chance_are_not_held_against_an_operator(operator):
    """In names, in copies, and in what is computed from them."""
    codes = ("explore-crash", "explore-error", "explore-drift", "explore-history", "explore-leak")
    explored(operator, *codes).check()


def test_the_rest_of_a_field_is_compared():
    """It follows from the spec, beside a token."""
    findings = explored(DerivesOnce, "explore-history").findings
    assert [finding.message for finding in findings if "status.phase" in finding.message]
    assert "<random" in findings[0].message


class Draws(Keeper):
    """Draws from every source of chance."""

    drawn: ClassVar[list[object]] = []

    async def keep(self, animal: Animal) -> None:
        """Note what was drawn."""
        self.drawn.append(
            (
                os.urandom(4),
                os.getrandom(4),
                uuid.uuid1(),
                uuid.uuid4(),
                random.random(),
                random.Random().random(),
                random.SystemRandom().random(),
                secrets.token_bytes(4),
            )
        )


def test_every_source_of_chance_belongs_to_the_world():
    """So that the same seed gives the same history."""

    def register(manager: Manager) -> None:
        Draws(manager.client).setup(manager)

    def drawn() -> object:
        Draws.drawn.clear()
        with Runner(subject_of(register), 0) as runner:
            Draws.drawn.clear()
            runner.run(History((Step(Verb.CREATE, SAMPLE),)))
        return list(Draws.drawn)

    assert drawn() == drawn() != []

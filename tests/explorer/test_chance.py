"""Values that chance or other objects decide are compared by where they come from, and the others as they are."""

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
from pykb.runtime import (
    AlreadyExists,
    Manager,
    NotControlled,
    Reconciler,
    Result,
    ensure_applied,
    is_controlled_by,
    patch_status,
)
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


class Admits(Keeper):
    """Gives each name a token. Who is taken out and comes back gets another one."""

    async def keep(self, animal: Animal) -> None:
        """Keep the tokens of those who stay."""
        wanted = ConfigMap(metadata=self.metadata(animal))
        found = await self.client.find(ConfigMap, wanted)
        old = (found.data or {}) if found is not None and is_controlled_by(found, animal) else {}
        wanted.data = {name: old.get(name) or secrets.token_hex() for name in animal.spec.names}
        try:
            await ensure_applied(self.client, wanted, owner=animal)
        except NotControlled as error:
            self.recorder.event(animal, "Warning", "Taken", str(error))
            raise


class AdmitsAnew(Admits):
    """Gives everybody another token if one comes or goes."""

    async def keep(self, animal: Animal) -> None:
        """Begin anew."""
        found = await self.client.find(ConfigMap, self.child(animal))
        if found is not None and is_controlled_by(found, animal) and {*(found.data or {})} != {*animal.spec.names}:
            await self.client.delete(found, uid=found.metadata.uid, missing_ok=True)
        await super().keep(animal)


class DerivesOnce(Derives):
    """Never changes the rest of the field again: chance must not hide that."""

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report the first one only."""
        return None if animal.status.phase else await super().report(animal, before)


def explored(operator: type[Reconciler], *only: str, most: int = 40) -> Report:
    """What the explorer says of an operator."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)  # type: ignore[attr-defined]

    return Explorer(subject_of(register), only=only, histories=most).run()


@pytest.mark.parametrize("operator", [Names, Derives, Admits])
def test_values_from_chance_are_not_held_against_an_operator(operator):
    """In names, in copies, and in what is computed from them."""
    codes = ("explore-crash", "explore-error", "explore-drift", "explore-history", "explore-leak")
    explored(operator, *codes).check()


def test_a_value_that_was_there_all_the_time_must_not_be_another_one():
    """Users have it, though another one went and came back."""
    [finding] = explored(AdmitsAnew, "explore-history", most=120).findings
    assert finding.message.startswith('ConfigMap kiki-menu: data.a is "<changed random value')


def test_the_rest_of_a_field_is_compared():
    """It follows from the spec, beside a token."""
    findings = explored(DerivesOnce, "explore-history").findings
    assert [finding.message for finding in findings if "status.phase" in finding.message]
    assert "<random" in findings[0].message


class TakesLowest(Keeper):
    """Each animal has the lowest number that is free. A ConfigMap of that name holds it."""

    async def keep(self, animal: Animal) -> None:
        """Hold a number, and write what it is for."""
        every = await self.client.live.list(ConfigMap, namespace=animal.metadata.namespace)
        held = [each for each in every if is_controlled_by(each, animal)]
        kept = self.chosen(animal, held) or await self.take(animal)
        for each in held:
            if each.metadata.name != kept.metadata.name:
                await self.client.delete(each, uid=each.metadata.uid, missing_ok=True)
        if kept.data != self.child(animal).data:
            kept.data = self.child(animal).data
            await self.client.update(kept)
        self.number = int((kept.metadata.name or "").removeprefix("number-"))

    def chosen(self, animal: Animal, held: list[ConfigMap]) -> ConfigMap | None:
        """The one that stays."""
        return min(held, key=lambda each: each.metadata.name or "", default=None)

    async def take(self, animal: Animal) -> ConfigMap:
        """Take a free number."""
        for number in range(8000, 8100):
            wanted = self.child(animal)
            wanted.metadata.name = f"number-{number}"
            own(animal, wanted)
            try:
                return await self.client.create(wanted)
            except AlreadyExists:
                continue
        raise RuntimeError("no number is free")

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report the number, and an address with it."""
        animal.status.count, animal.status.phase = self.number, f"at {animal.spec.food}:{self.number}"
        await patch_status(self.client, animal, before)
        return None


class TakesAnother(TakesLowest):
    """Takes another number for another food: users have the first one."""

    def chosen(self, animal: Animal, held: list[ConfigMap]) -> ConfigMap | None:
        """One with this food."""
        return super().chosen(animal, [each for each in held if (each.data or {}).get("food") == animal.spec.food])


class CountsAll(Keeper):
    """Reports how many animals there are, once: no number of its own, and so no excuse."""

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report it with the first food."""
        every = await self.client.live.list(Animal, namespace=animal.metadata.namespace)
        animal.status.phase = animal.status.phase or f"one of {len(every)} that eats {animal.spec.food}"
        await patch_status(self.client, animal, before)
        return None


def test_values_that_others_decide_are_not_held_against_an_operator():
    """The number of an object that was deleted may still be taken when the next one needs one."""
    explored(TakesLowest, most=400).check()


def test_a_number_that_was_given_stays():
    """As with a value from chance."""
    findings = explored(TakesAnother, "explore-history").findings
    assert findings
    assert "given value" in findings[0].message


def test_what_is_not_given_out_is_compared():
    """All objects have the same number there."""
    findings = explored(CountsAll, "explore-history").findings
    assert [finding.message for finding in findings if "status.phase" in finding.message]


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

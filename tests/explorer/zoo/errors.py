"""Faults that show when one request fails, with or without an effect."""

from __future__ import annotations

import asyncio
import contextlib

from pykb.runtime import ApiError, ServerUnreachable, ensure_applied, set_controller_reference
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal


class SwallowsErrors(Keeper):
    """Catches the error of a write and reports success (Acto, SOSP 2023, 6: errors that are not handled)."""

    fault = "explore-error"
    owned = ()

    async def keep(self, animal: Animal) -> None:
        """Ignore what goes wrong, once the work was reported."""
        with self.ignored():
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault

    def ignored(self) -> contextlib.AbstractContextManager[None]:
        """Which errors do not matter: all."""
        return contextlib.suppress(ApiError, ServerUnreachable)


class SwallowsErrorsMended(SwallowsErrors):
    """Lets the error go, and watches the child."""

    fault = ""
    owned = Keeper.owned

    def ignored(self) -> contextlib.AbstractContextManager[None]:
        """None."""
        return contextlib.nullcontext()


class CreatesTwice(Keeper):
    """Creates a child by `generateName`: a lost answer makes a second one (kubernetes.io: generated names)."""

    fault = "explore-error"

    async def keep(self, animal: Animal) -> None:
        """Create a child unless the status names one."""
        if animal.status.child is not None:
            return
        wanted = self.child(animal)
        wanted.metadata.name = None
        wanted.metadata.generate_name = "menu-"
        set_controller_reference(animal, wanted)
        created = await self.client.create(wanted)  # fault
        animal.status.child = created.metadata.name


class CreatesTwiceMended(CreatesTwice):
    """A fixed name."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply."""
        await ensure_applied(self.client, self.child(animal), owner=animal)
        animal.status.child = self.name(animal)


class GathersErrors(Keeper):
    """Applies its children at once, and looks at no result (`return_exceptions` in many asynchronous operators)."""

    fault = "explore-error"
    keeps_errors = True

    async def keep(self, animal: Animal) -> None:
        """Apply a child for each field."""
        food, count = self.child(animal), self.child(animal)
        count.metadata.name = f"{animal.metadata.name}-count"
        food.data, count.data = {"food": animal.spec.food}, {"count": str(animal.spec.count)}
        works = [ensure_applied(self.client, each, owner=animal) for each in (food, count)]
        await asyncio.gather(*works, return_exceptions=self.keeps_errors)  # fault


class GathersErrorsMended(GathersErrors):
    """Lets the first error go."""

    fault = ""
    keeps_errors = False


class GivesUp(Keeper):
    """Takes a passing error for the end, and never looks again (Acto, 6: no way back from an error state)."""

    fault = "explore-error"

    async def keep(self, animal: Animal) -> None:
        """Fail for ever at the first error."""
        if animal.status.phase == "Failed":
            return
        try:
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault
        except (ApiError, ServerUnreachable):
            self.give_up(animal)

    def give_up(self, animal: Animal) -> None:
        """Say so, and be done."""
        animal.status.phase = "Failed"


class GivesUpMended(GivesUp):
    """Tries again."""

    fault = ""

    def give_up(self, animal: Animal) -> None:
        """Let the error go."""
        raise  # noqa: PLE0704 - called in the handler

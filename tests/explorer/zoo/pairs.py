"""Faults that need two others at once: an operator that recovers from one of them, and not from one in the recovery."""

from __future__ import annotations

from typing import ClassVar

from pykb.api.core.v1 import ConfigMap
from pykb.runtime import ApiError, Client, ensure_applied, ensure_deleted, is_controlled_by
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal


class GivesUpSecondTime(Keeper):
    """Tries again once, and then takes the error for the end."""

    fault = "explore-two-faults"

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._failed: set[str] = set()

    async def keep(self, animal: Animal) -> None:
        """Apply the child, and count failures."""
        if animal.status.phase == "Failed":
            return
        uid = animal.metadata.uid or ""
        try:
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault
        except ApiError:
            if uid not in self._failed or not self.gives_up():
                self._failed.add(uid)
                raise
            animal.status.phase = "Failed"
        else:
            self._failed.discard(uid)

    def gives_up(self) -> bool:
        """Whether the second failure is the last one."""
        return True


class GivesUpSecondTimeMended(GivesUpSecondTime):
    """Tries again for ever."""

    fault = ""

    def gives_up(self) -> bool:
        """Never: the delay between two tries grows."""
        return False


class RestoresOnce(Keeper):
    """Begins anew after a crash, and does not know what to do after a crash in that."""

    fault = "explore-two-faults"
    unfinished: ClassVar[tuple[str, ...]] = ("Creating",)

    async def keep(self, animal: Animal) -> None:
        """Note what is begun, and remove the half of an earlier process."""
        found = await self.client.find(ConfigMap, self.child(animal))
        if found is not None and not is_controlled_by(found, animal):
            await ensure_applied(self.client, self.child(animal), owner=animal)  # says whose it is
        if animal.status.phase in self.unfinished:
            await self.note(animal, "Restoring")
            key = f"{animal.metadata.namespace}/{self.name(animal)}"
            await ensure_deleted(self.client, ConfigMap, key, owner=animal)  # fault
            await self.note(animal, "")
        if animal.status.phase == "Restoring":
            return
        if animal.status.phase != "Ready":
            await self.note(animal, "Creating")
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault
        animal.status.phase = "Ready"

    async def note(self, animal: Animal, phase: str) -> None:
        """Note how far it is."""
        if animal.status.phase != phase:
            animal.status.phase = phase
            await self.client.status.update(animal)  # fault


class RestoresOnceMended(RestoresOnce):
    """Restores again."""

    fault = ""
    unfinished = ("Creating", "Restoring")

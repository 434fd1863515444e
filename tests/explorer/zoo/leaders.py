"""Faults that show when the last write of a former leader arrives after the work of the next one."""

from __future__ import annotations

from typing import ClassVar

from pykb.api.core.v1 import ConfigMap
from pykb.runtime import (
    Client,
    ControllerBuilder,
    GenerationChanged,
    Manager,
    Result,
    ensure_applied,
    patch_status,
    set_controller_reference,
)
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal, AnimalStatus


class LooksThenGenerates(Keeper):
    """Asks the API server whether there is a child before it creates one. Two leaders may both find none."""

    fault = "explore-leader"
    reader: Client

    def setup(self, manager: Manager) -> None:
        """Read without the cache, which may be behind."""
        self.reader = manager.api_reader
        super().setup(manager)

    async def keep(self, animal: Animal) -> None:
        """Keep the child that is there, or create one."""
        labels = {"animal": animal.metadata.uid or ""}
        found = await self.reader.list(ConfigMap, namespace=animal.metadata.namespace, labels=labels)
        child = self.child(animal)
        child.metadata.labels = labels
        if found:
            child.metadata.name = found[0].metadata.name
            await ensure_applied(self.client, child, owner=animal)
            return
        child.metadata.name = None
        child.metadata.generate_name = "menu-"
        set_controller_reference(animal, child)
        await self.client.create(child)  # fault


class LooksThenGeneratesMended(LooksThenGenerates):
    """A fixed name, of which there is one at most."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply."""
        await ensure_applied(self.client, self.child(animal), owner=animal)


class OverwritesStatus(Keeper):
    """Writes the status whatever it is by now, and is not woken by it."""

    fault = "explore-leader"
    is_careful: ClassVar[bool] = False

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Write the status when it changed."""
        animal.status.count = animal.spec.count
        await patch_status(self.client, animal, before, optimistic_lock=self.is_careful)  # fault
        return None

    def setup(self, manager: Manager) -> None:
        """Only a change of the spec is of interest."""
        builder = ControllerBuilder(manager).for_(Animal, predicates=[GenerationChanged()])
        builder.owns(ConfigMap).complete(self)


class OverwritesStatusMended(OverwritesStatus):
    """Lets the API server refuse what an old leader knew."""

    fault = ""
    is_careful = True

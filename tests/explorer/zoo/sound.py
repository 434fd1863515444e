"""Operators without a fault, of other kinds than the twins."""

from __future__ import annotations

import asyncio

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import (
    AlreadyExists,
    ControllerBuilder,
    Manager,
    NotFound,
    Reconciler,
    Request,
    is_controlled_by,
    set_controller_reference,
)
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import SAMPLE, Animal


class Threaded(Reconciler):
    """A plain reconciler, without a fault."""

    rules = None
    sample = SAMPLE

    def reconcile(self, request: Request) -> None:
        """Keep one child, through the client for threads."""
        try:
            animal = self.client.sync.get(Animal, request)
        except NotFound:
            return
        if animal.metadata.deletion_timestamp is not None:
            return
        metadata = ObjectMeta(name=f"{request.name}-menu", namespace=request.namespace)
        wanted = ConfigMap(metadata=metadata, data={"food": animal.spec.food})
        set_controller_reference(animal, wanted)
        found = self.client.sync.find(ConfigMap, wanted)
        if found is None:
            self.client.sync.create(wanted)
        elif not is_controlled_by(found, animal):
            self.recorder.event(animal, "Warning", "Taken", f"{request.name}-menu is somebody else's")
        elif found.data != wanted.data or found.metadata.labels:
            found.data, found.metadata.labels = wanted.data, None
            self.client.sync.update(found)

    def setup(self, manager: Manager) -> None:
        """Register with the manager."""
        ControllerBuilder(manager).for_(Animal).owns(ConfigMap).complete(self)


class Sleeps(Keeper):
    """Waits for hours before it works; virtual time makes nothing of it."""

    async def keep(self, animal: Animal) -> None:
        """Wait, then apply."""
        await asyncio.sleep(60)
        await super().keep(animal)


class CreatesFirst(Keeper):
    """Creates in each reconcile. The refusals are writes without an effect: nobody acts after them."""

    async def keep(self, animal: Animal) -> None:
        """Create, or change what is there if it is the animal's."""
        wanted = self.child(animal)
        set_controller_reference(animal, wanted)
        try:
            await self.client.create(wanted)
        except AlreadyExists:
            found = await self.client.live.get(ConfigMap, wanted)
            if not is_controlled_by(found, animal):
                self.recorder.event(animal, "Warning", "Taken", "the child is somebody else's")
            elif found.data != wanted.data:
                found.data = wanted.data
                await self.client.update(found)


class Generates(Keeper):
    """Its child has a generated name, and is found by a label."""

    async def keep(self, animal: Animal) -> None:
        """Look at the API server itself: the cache may not have the child yet."""
        labels = {"animal": animal.metadata.uid or ""}
        found = await self.client.live.list(ConfigMap, namespace=animal.metadata.namespace, labels=labels)
        if not found.items:
            metadata = ObjectMeta(generate_name="menu-", namespace=animal.metadata.namespace, labels=labels)
            child = ConfigMap(metadata=metadata)
            set_controller_reference(animal, child)
            await self.client.create(child)

"""Faults that show when the operator sees less than there is: Sieve's stale and unobserved states (OSDI 2022, 4.2-4.3)."""

from __future__ import annotations

import copy

from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import (
    Client,
    Manager,
    Request,
    Result,
    ensure_applied,
    is_controlled_by,
    patch_status,
    prune,
    set_controller_reference,
)
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.zoo.kinds import Animal


class CountsInCache(Keeper):
    """Counts children in the cache and makes the missing ones with random names (kubernetes #59848: stale caches)."""

    fault = "explore-stale"

    async def keep(self, animal: Animal) -> None:
        """Make children until there are enough, delete those that are too many."""
        found = await self.client.list(ConfigMap, namespace=animal.metadata.namespace, labels=self.labels(animal))
        for _ in range(animal.spec.count - len(found)):
            metadata = ObjectMeta(
                generate_name="part-", namespace=animal.metadata.namespace, labels=self.labels(animal)
            )
            child = ConfigMap(metadata=metadata)
            set_controller_reference(animal, child)
            await self.client.create(child)  # fault
        for child in found.items[animal.spec.count :]:
            await self.client.delete(child, missing_ok=True)  # fault

    def labels(self, animal: Animal) -> dict[str, str]:
        """By which children are found."""
        return {"animal": animal.metadata.name or ""}


class CountsInCacheMended(CountsInCache):
    """Fixed names, by number."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Make each by its number, delete the others."""
        wanted = [f"{animal.metadata.name}-{number}" for number in range(animal.spec.count)]
        for name in wanted:
            metadata = ObjectMeta(name=name, namespace=animal.metadata.namespace, labels=self.labels(animal))
            await ensure_applied(self.client, ConfigMap(metadata=metadata), owner=animal)
        await prune(self.client, ConfigMap, owner=animal, keep=wanted)


class DeletesByName(Guard):
    """Sees the deletion of an earlier object, and deletes what the new one has (pravega/zookeeper-operator #312)."""

    fault = "explore-stale"

    async def clean_up(self, animal: Animal) -> None:
        """Delete the secret of that name."""
        found = await self.client.find(Secret, self.secret(animal))
        if found is not None and self.was_made_here(animal, found):
            await self.client.delete(Secret, f"kube-public/{found.metadata.name}", missing_ok=True)  # fault

    def was_made_here(self, animal: Animal, found: Secret) -> bool:
        """Whether an animal of that name made it."""
        return bool((found.metadata.labels or {}).get("animal"))


class DeletesByNameMended(DeletesByName):
    """Compares uids."""

    fault = ""

    async def clean_up(self, animal: Animal) -> None:
        """Delete the secret of this animal."""
        await Guard.clean_up(self, animal)


class Sweeper:
    """Deletes children without a parent, once at the start."""

    def __init__(self, manager: Manager, *, live: bool) -> None:
        self._client = manager.client
        self._live = live

    async def run(self) -> None:
        """Compare children with animals."""
        reader = self._client.live if self._live else self._client
        children = await self._client.live.list(ConfigMap, labels="swept")
        names = {animal.metadata.name for animal in await reader.list(Animal)}
        for child in children:
            if (child.metadata.labels or {}).get("swept") not in names:
                await self._client.delete(child, uid=child.metadata.uid, missing_ok=True)  # fault


class SweepsAtStart(Keeper):
    """Takes children for orphans if their parent is not in the cache (instaclustr/cassandra-operator #402)."""

    fault = "explore-stale"
    live = False

    def metadata(self, animal: Animal) -> ObjectMeta:
        """With a label for the sweeper."""
        metadata = super().metadata(animal)
        metadata.labels = {"swept": animal.metadata.name or ""}
        return metadata

    def setup(self, manager: Manager) -> None:
        """Register with the manager, and sweep."""
        super().setup(manager)
        manager.add(Sweeper(manager, live=self.live))


class SweepsAtStartMended(SweepsAtStart):
    """Asks the API server for the parents."""

    fault = ""
    live = True


class KnowsByName(Keeper):
    """Has done its work for an object of that name, and misses that it is a new one (Sieve, 4.3)."""

    fault = "explore-unseen"

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._done: set[str | None] = set()

    async def reconcile(self, request: Request) -> Result | None:
        """Report once. There are no children."""
        animal = await self.client.find(Animal, request)
        if animal is None:
            self.forget(request)
        elif animal.metadata.deletion_timestamp is None and self.key(animal) not in self._done:
            before = copy.deepcopy(animal.status)
            animal.status.phase = "Registered"
            await patch_status(self.client, animal, before)  # fault: not for the new one
            self._done.add(self.key(animal))
        return None

    def forget(self, request: Request) -> None:
        """The object has gone."""
        self._done.discard(request.name)

    def key(self, animal: Animal) -> str | None:
        """What names an object."""
        return animal.metadata.name


class KnowsByNameMended(KnowsByName):
    """Knows it by its uid."""

    fault = ""

    def key(self, animal: Animal) -> str | None:
        """What names an object."""
        return animal.metadata.uid


class NeverForgets(KnowsByName):
    """Does not forget an object that goes either, so that a later one of its name gets nothing (caches by name)."""

    fault = "explore-history"

    def forget(self, request: Request) -> None:
        """It might come back."""


class NeverForgetsMended(NeverForgets):
    """Knows it by its uid."""

    fault = ""

    def key(self, animal: Animal) -> str | None:
        """What names an object."""
        return animal.metadata.uid


class TrustsOwnStatus(Keeper):
    """Looks in its own status whether a child was made, which comes later than the child (kubernetes #59848)."""

    fault = "explore-unseen"

    async def keep(self, animal: Animal) -> None:
        """Create a child unless the status names one."""
        if animal.status.child is not None:
            return
        wanted = self.child(animal)
        wanted.metadata.name, wanted.metadata.generate_name = None, "menu-"
        set_controller_reference(animal, wanted)
        created = await self.client.create(wanted)  # fault
        animal.status.child = created.metadata.name


class TrustsOwnStatusMended(TrustsOwnStatus):
    """A fixed name."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply."""
        await ensure_applied(self.client, self.child(animal), owner=animal)
        animal.status.child = self.name(animal)


class ScalesByStatus(Keeper):
    """Removes as many children as its status says that there are too many, and writes the status first."""

    fault = "explore-crash"

    async def keep(self, animal: Animal) -> None:
        """Make each child by its number, and remove the others."""
        present, wanted = animal.status.count or 0, animal.spec.count
        await self.note(animal)
        for number in range(max(present, wanted)):
            metadata = ObjectMeta(name=f"{animal.metadata.name}-{number}", namespace=animal.metadata.namespace)
            if number < wanted:
                await ensure_applied(self.client, ConfigMap(metadata=metadata), owner=animal)
            else:
                await self.client.delete(ConfigMap(metadata=metadata), missing_ok=True)

    async def note(self, animal: Animal) -> None:
        """The number of children."""
        before = copy.deepcopy(animal.status)
        animal.status.count = animal.spec.count
        await patch_status(self.client, animal, before)  # fault


class ScalesByStatusMended(ScalesByStatus):
    """Looks which children there are."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Make each child by its number, and remove the others."""
        wanted = [f"{animal.metadata.name}-{number}" for number in range(animal.spec.count)]
        for name in wanted:
            metadata = ObjectMeta(name=name, namespace=animal.metadata.namespace)
            await ensure_applied(self.client, ConfigMap(metadata=metadata), owner=animal)
        await prune(self.client, ConfigMap, owner=animal, keep=wanted)


class ScalesByCache(Keeper):
    """Scales down again when a new process still sees the smaller number (Sieve, 4.2: time travel)."""

    fault = "explore-stale"

    async def keep(self, animal: Animal) -> None:
        """Make each child by its number, and remove the next ones."""
        for number in range(5):
            metadata = ObjectMeta(name=f"{animal.metadata.name}-{number}", namespace=animal.metadata.namespace)
            child = ConfigMap(metadata=metadata)
            if number < animal.spec.count:
                await ensure_applied(self.client, child, owner=animal)
            elif await self.is_too_much(animal, child):
                await self.client.delete(child, missing_ok=True)  # fault

    async def is_too_much(self, animal: Animal, child: ConfigMap) -> bool:
        """Whether it is there."""
        found = await self.client.live.find(ConfigMap, child)
        return found is not None and is_controlled_by(found, animal)


class ScalesByCacheMended(ScalesByCache):
    """Asks the API server for the number before it removes something."""

    fault = ""

    async def is_too_much(self, animal: Animal, child: ConfigMap) -> bool:
        """Whether it is there, and is still too much."""
        present = await self.client.live.find(Animal, animal)
        number = int((child.metadata.name or "").rpartition("-")[2])
        return present is not None and number >= present.spec.count and await super().is_too_much(animal, child)

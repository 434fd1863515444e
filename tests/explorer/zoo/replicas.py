"""Faults that show only when replicas share the objects: each knows what it did itself, and sees its own share."""

from __future__ import annotations

import asyncio
import copy
from datetime import timedelta

from pykb.api.batch.v1 import Job, JobSpec
from pykb.api.core.v1 import ConfigMap, Container, PodSpec, PodTemplateSpec
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.ranges import Ranges
from pykb.runtime import Client, Manager, Request, Result, ensure_deleted, patch_status, set_controller_reference
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal, AnimalStatus


class RemembersReport(Keeper):
    """Reports what has changed since its own last report, though another replica may have reported meanwhile."""

    fault = "explore-shards"
    ranges = Ranges(3)

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._reported: dict[str, int] = {}

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Write the status when the count changed."""
        uid = animal.metadata.uid or ""
        if not self.is_reported(animal, before):
            animal.status.phase = "Ready"
            animal.status.count = animal.spec.count
            await patch_status(self.client, animal, before, optimistic_lock=True)  # fault
            self._reported[uid] = animal.spec.count
        return None

    def is_reported(self, animal: Animal, before: AnimalStatus) -> bool:
        """Whether the last report was the same."""
        return self._reported.get(animal.metadata.uid or "") == animal.spec.count


class RemembersReportMended(RemembersReport):
    """Looks at what is reported."""

    fault = ""

    def is_reported(self, animal: Animal, before: AnimalStatus) -> bool:
        """Whether the status says it."""
        return before.phase == "Ready" and before.count == animal.spec.count


class CountsOwnShare(Keeper):
    """Numbers the animals by the numbers that the others have, and sees only those of its own share."""

    fault = "explore-shards"
    ranges = Ranges(3)
    reader: Client

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._given: dict[str, int] = {}

    def setup(self, manager: Manager) -> None:
        """Read from the cache."""
        self.reader = manager.client
        super().setup(manager)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Give the lowest free number."""
        uid = animal.metadata.uid or ""
        if before.count is None:
            others = await self.reader.list(Animal)
            self._given |= {each.metadata.uid or "": each.status.count for each in others if each.status.count}
            there = {each.metadata.uid or "" for each in others}
            taken = {number for each, number in self._given.items() if each in there}
            self._given.setdefault(uid, min({*range(1, len(taken) + 2)} - taken))
            animal.status.count = self._given[uid]
        animal.status.phase = "Ready"
        await patch_status(self.client, animal, before)  # fault
        return None


class CountsOwnShareMended(CountsOwnShare):
    """Asks the API server for all of them."""

    fault = ""

    def setup(self, manager: Manager) -> None:
        """Read without the cache, which has only a part."""
        super().setup(manager)
        self.reader = manager.api_reader


class DeletesUnknown(Keeper):
    """Deletes the children of animals that it does not know, and knows those of other replicas only from its start."""

    fault = "explore-shards"
    ranges = Ranges(3)
    reader: Client

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._known: set[str] | None = None

    def setup(self, manager: Manager) -> None:
        """Read without the cache, which may be behind."""
        self.reader = manager.api_reader
        super().setup(manager)

    async def reconcile(self, request: Request) -> Result | None:
        """Clean up first."""
        animal = await self.reader.find(Animal, request)
        known = await self.known()
        (known.discard if animal is None else known.add)(f"{request.namespace}/{request.name}-menu")
        for child in await self.reader.list(ConfigMap, labels={"kept-by": "zoo"}):
            if f"{child.metadata.namespace}/{child.metadata.name}" not in known:
                await self.client.delete(child, uid=child.metadata.uid, missing_ok=True)  # fault
        if animal is None or animal.metadata.deletion_timestamp is not None:
            return None
        before = copy.deepcopy(animal.status)
        await self.keep(animal)
        return await self.report(animal, before)

    async def known(self) -> set[str]:
        """The names of the wanted children: those at first, and those that came."""
        if self._known is None:
            self._known = await self.wanted()
        return self._known

    async def wanted(self) -> set[str]:
        """The names of the children of all animals."""
        every = await self.reader.list(Animal)
        return {f"{animal.metadata.namespace}/{self.name(animal)}" for animal in every}

    def metadata(self, animal: Animal) -> ObjectMeta:
        """With a label, by which it finds its children."""
        metadata = copy.copy(super().metadata(animal))
        metadata.labels = {"kept-by": "zoo"}
        return metadata


class DeletesUnknownMended(DeletesUnknown):
    """Asks the API server each time."""

    fault = ""

    async def known(self) -> set[str]:
        """The names of all that are wanted now."""
        return await self.wanted()


class FeedsAgain(Keeper):
    """Feeds some time after it has made the menu, and trusts its memory that it still has to."""

    fault = "explore-shards"
    ranges = Ranges(3)

    owned = (ConfigMap, Job)
    reader: Client

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._hungry: set[str] = set()

    def setup(self, manager: Manager) -> None:
        """Read without the cache, which may be behind."""
        self.reader = manager.api_reader
        super().setup(manager)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Feed in a later reconcile, with a Job for each number of meals."""
        uid, wanted = animal.metadata.uid or "", self.feeding(animal)
        found = await self.reader.find(Job, wanted)
        is_fed = found is not None and found.metadata.labels == wanted.metadata.labels
        if not is_fed and uid not in self._hungry:
            self._hungry.add(uid)
            return Result(requeue_after=timedelta(seconds=30))
        if uid in self._hungry and self.is_due(is_fed=is_fed):
            self._hungry.discard(uid)
            await ensure_deleted(self.client, Job, wanted, owner=animal)
            set_controller_reference(animal, wanted)
            await self.client.create(wanted)  # fault
        self._hungry.discard(uid)
        return await super().report(animal, before)

    def is_due(self, *, is_fed: bool) -> bool:
        """Whether to feed, if this replica remembers that it has to."""
        return True

    def feeding(self, animal: Animal) -> Job:
        """The wanted Job."""
        container = Container(name="feed", image=f"feeder:{animal.spec.count}")
        template = PodTemplateSpec(spec=PodSpec(containers=[container], restart_policy="Never"))
        metadata = ObjectMeta(name=f"{animal.metadata.name}-feeding", namespace=animal.metadata.namespace)
        metadata.labels = {"meals": str(animal.spec.count)}
        return Job(metadata=metadata, spec=JobSpec(template=template))


class FeedsAgainMended(FeedsAgain):
    """Looks at what there is."""

    fault = ""

    def is_due(self, *, is_fed: bool) -> bool:
        """Another replica may have fed."""
        return not is_fed


class TakesStopForTimeout(Keeper):
    """Gives up for ever if a call takes too long, and a call that is cancelled since the process stops counts, too."""

    fault = "explore-shards"
    ranges = Ranges(3)
    too_long: tuple[type[BaseException], ...] = (TimeoutError, asyncio.CancelledError)

    async def keep(self, animal: Animal) -> None:
        """Apply the child, unless that took too long before."""
        if animal.status.checked == self.give_up(animal):
            return
        try:
            async with asyncio.timeout(3600):
                await super().keep(animal)
        except self.too_long:
            before = copy.deepcopy(animal.status)
            animal.status.checked = self.give_up(animal)
            await patch_status(self.client, animal, before)  # fault
            raise

    def give_up(self, animal: Animal) -> str:
        """What the status says then."""
        return f"too long with {animal.spec.food} for {animal.spec.count}"


class TakesStopForTimeoutMended(TakesStopForTimeout):
    """Lets a cancellation pass."""

    fault = ""
    too_long = (TimeoutError,)

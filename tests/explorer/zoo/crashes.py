"""Faults that show when the process dies between two writes: Sieve's intermediate states (OSDI 2022, 4.1)."""

from __future__ import annotations

from pykb.api.batch.v1 import Job, JobSpec
from pykb.api.core.v1 import ConfigMap, Container, PodSpec, PodTemplateSpec
from pykb.runtime import Client, ensure_applied, ensure_deleted, prune, release_finalizer
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.zoo.kinds import FINALIZER, Animal


class StatusBeforeChild(Keeper):
    """Says that the child was created before it is, and believes it afterwards (rabbitmq/cluster-operator #782)."""

    fault = "explore-crash"

    async def keep(self, animal: Animal) -> None:
        """Create the child once."""
        if animal.status.child is not None:
            return
        animal.status.child = self.name(animal)
        await self.client.status.update(animal)  # fault
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault


class StatusBeforeChildMended(StatusBeforeChild):
    """Asks for the child itself."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply the child, then note it."""
        await ensure_applied(self.client, self.child(animal), owner=animal)
        animal.status.child = self.name(animal)


class RemembersInMemory(Keeper):
    """Keeps in memory which second child is still to be made (Sieve, 4.1: volatile progress)."""

    fault = "explore-crash"

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._fresh: set[str] = set()

    async def keep(self, animal: Animal) -> None:
        """Make a second child for an animal that was seen without the first one."""
        name = animal.metadata.name or ""
        if await self.client.find(ConfigMap, self.name(animal), namespace=animal.metadata.namespace) is None:
            self._fresh.add(name)
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault
        if name in self._fresh:
            await self.make_second(animal)  # fault
            self._fresh.discard(name)

    async def make_second(self, animal: Animal) -> None:
        """Apply the second child."""
        second = self.child(animal)
        second.metadata.name = f"{animal.metadata.name}-second"
        await ensure_applied(self.client, second, owner=animal)  # fault


class RemembersInMemoryMended(RemembersInMemory):
    """Makes both in each reconcile."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply both children."""
        await ensure_applied(self.client, self.child(animal), owner=animal)
        await self.make_second(animal)


class RemembersInModule(RemembersInMemory):
    """Keeps it in a variable of the module."""

    fault = "explore-crash"

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._fresh = kept


class RemembersInModuleMended(RemembersInModule):
    """Makes both in each reconcile."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply both children."""
        await ensure_applied(self.client, self.child(animal), owner=animal)
        await self.make_second(animal)


kept: set[str] = set()


class ForgetsOldName(Keeper):
    """Notes the new name of the child before the old child is deleted (Sieve, 4.1: resources that leak)."""

    fault = "explore-crash"

    def name(self, animal: Animal) -> str:
        """Named after the food, which can change."""
        return f"{animal.spec.food}-menu"

    async def keep(self, animal: Animal) -> None:
        """Apply the new child, delete the old one."""
        await ensure_applied(self.client, self.child(animal), owner=animal)
        if animal.status.child != self.name(animal):
            await self.move(animal, animal.status.child)

    async def move(self, animal: Animal, old: str | None) -> None:
        """The wrong order."""
        await self.note(animal)
        await self.drop(animal, old)

    async def note(self, animal: Animal) -> None:
        """Note the new name."""
        animal.status.child = self.name(animal)
        await self.client.status.update(animal)  # fault

    async def drop(self, animal: Animal, old: str | None) -> None:
        """Delete the old child."""
        if old is not None:
            await ensure_deleted(self.client, ConfigMap, old_key(animal, old), owner=animal)  # fault


def old_key(animal: Animal, name: str) -> str:
    """Where the old child is."""
    return f"{animal.metadata.namespace}/{name}"


class ForgetsOldNameMended(ForgetsOldName):
    """Deletes first."""

    fault = ""

    async def move(self, animal: Animal, old: str | None) -> None:
        """The right order."""
        await self.drop(animal, old)
        await self.note(animal)

    async def keep(self, animal: Animal) -> None:
        """Nor does it rely on the name it noted: an older process may have made the child of an older spec again."""
        await super().keep(animal)
        await prune(self.client, ConfigMap, owner=animal, keep=[self.name(animal)])


class LetsGoFirst(Guard):
    """Gives up the finalizer before what it protects is deleted (kubernetes.io: finalizers)."""

    fault = "explore-crash"

    async def end(self, animal: Animal) -> None:
        """The wrong order."""
        await release_finalizer(self.client, animal, FINALIZER)  # fault
        await self.clean_up(animal)  # fault


class LetsGoFirstMended(LetsGoFirst):
    """Cleans up first."""

    fault = ""

    async def end(self, animal: Animal) -> None:
        """The right order."""
        await self.clean_up(animal)
        await release_finalizer(self.client, animal, FINALIZER)


class RunsJobAgain(Keeper):
    """Begins with a new Job in each process, which ends as the one before (kubernetes.io: Jobs run to completion)."""

    fault = "explore-crash"
    owned = (Job,)

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._begun: set[str | None] = set()

    async def keep(self, animal: Animal) -> None:
        """Run the Job."""
        if animal.metadata.uid not in self._begun:
            await self.begin(animal)
            self._begun.add(animal.metadata.uid)
        await ensure_applied(self.client, self.job(animal), owner=animal)  # fault

    async def begin(self, animal: Animal) -> None:
        """Remove what is left of an earlier one."""
        await prune(self.client, Job, owner=animal)

    def job(self, animal: Animal) -> Job:
        """The same for each spec: it cannot be changed."""
        container = Container(name="eat", image="example.com/eat")
        template = PodTemplateSpec(spec=PodSpec(containers=[container], restart_policy="Never"))
        return Job(metadata=self.metadata(animal), spec=JobSpec(template=template))


class RunsJobAgainMended(RunsJobAgain):
    """Leaves a Job that has run."""

    fault = ""

    async def begin(self, animal: Animal) -> None:
        """There is nothing to prepare."""


class SendsAgain(RunsJobAgain):
    """The same with a kind that stands for a mail."""

    owned = (ConfigMap,)
    once = ("ConfigMap",)

    async def keep(self, animal: Animal) -> None:
        """Send the mail."""
        if animal.metadata.uid not in self._begun:
            await self.begin(animal)
            self._begun.add(animal.metadata.uid)
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault

    async def begin(self, animal: Animal) -> None:
        """Remove the one before."""
        await prune(self.client, ConfigMap, owner=animal)


class SendsAgainMended(SendsAgain):
    """Leaves it."""

    fault = ""

    async def begin(self, animal: Animal) -> None:
        """There is nothing to prepare."""

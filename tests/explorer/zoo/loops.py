"""Operators that never come to rest."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from pykb.api.batch.v1 import Job, JobSpec
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import OwnerReference
from pykb.runtime import (
    ControllerBuilder,
    Manager,
    MergePatch,
    Reconciler,
    Request,
    Result,
    ensure_applied,
    patch_status,
    prune,
)
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal, AnimalStatus
from tests.explorer.zoo.specs import template


class TimeInStatus(Keeper):
    """Writes the time into the status in each reconcile (paperclipinc/openclaw-operator #28: unconditional writes)."""

    fault = "explore-loop"

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Write the present time."""
        animal.status.checked = self.time(animal)
        await patch_status(self.client, animal, before)  # fault
        return None

    def time(self, animal: Animal) -> str | None:
        """When it was checked."""
        return datetime.now(UTC).isoformat()


class TimeInStatusMended(TimeInStatus):
    """Notes the time of the first check."""

    fault = ""

    def time(self, animal: Animal) -> str | None:
        """When it was first checked."""
        return animal.status.checked or datetime.now(UTC).isoformat()


class PollsAndWrites(Keeper):
    """Writes every minute though nothing has changed (paperclipinc/openclaw-operator #28)."""

    fault = "explore-loop"
    owned = ()

    async def keep(self, animal: Animal) -> None:
        """Apply without a look."""
        await self.client.apply(self.child(animal), force=True)  # fault

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report, and look again."""
        await super().report(animal, before)
        return Result(requeue_after=timedelta(minutes=1))


class PollsAndWritesMended(PollsAndWrites):
    """Polls, and writes only changes."""

    fault = ""
    owned = Keeper.owned

    async def keep(self, animal: Animal) -> None:
        """Apply changes."""
        await ensure_applied(self.client, self.child(animal), owner=animal)


class RandomOrder(Keeper):
    """Writes a list in another order each time (confidential-containers/trustee-operator #167)."""

    fault = "explore-loop"

    async def keep(self, animal: Animal) -> None:
        """Apply the names in some order."""
        child = self.child(animal)
        names = [*animal.spec.names, *"cdefghijkl"]
        self.arrange(names)
        child.data = {"names": ",".join(names)}
        await ensure_applied(self.client, child, owner=animal)  # fault

    def arrange(self, names: list[str]) -> None:
        """As a set or a map would."""
        random.shuffle(names)


class RandomOrderMended(RandomOrder):
    """Sorts it."""

    fault = ""

    def arrange(self, names: list[str]) -> None:
        """In the order of the alphabet."""
        names.sort()


class Painter(Reconciler):
    """A second controller, which writes the same field of the same child."""

    key = "food"

    async def reconcile(self, request: Request) -> None:
        """Write the food in capitals."""
        animal = await self.client.find(Animal, request)
        child = await self.client.find(ConfigMap, f"{request.namespace}/{request.name}-menu")
        if animal is None or child is None or not child.metadata.owner_references:
            return
        food = animal.spec.food.upper()
        if (child.data or {}).get(self.key) != food:
            await self.client.patch(child, MergePatch({"data": {self.key: food}}))  # fault


class TwoWriters(Keeper):
    """Two controllers write one field by turns (kubernetes.io: field management)."""

    fault = "explore-loop"
    painter: type[Painter] = Painter

    async def keep(self, animal: Animal) -> None:
        """Write the food."""
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault

    def setup(self, manager: Manager) -> None:
        """Register both."""
        super().setup(manager)
        builder = ControllerBuilder(manager).for_(Animal).owns(ConfigMap).named("painter")
        builder.complete(self.painter(self.client))


class OtherPainter(Painter):
    """Writes a field of its own."""

    key = "painted"


class TwoWritersMended(TwoWriters):
    """Each has a field."""

    fault = ""
    painter = OtherPainter

    def child(self, animal: Animal) -> ConfigMap:
        """With what the painter wants."""
        child = super().child(animal)
        child.data = {**(child.data or {}), "painted": animal.spec.food.upper()}
        return child


class OwnsAbroad(Keeper):
    """Is owner of a child in another namespace, which the garbage collector deletes (crossplane #895)."""

    fault = "explore-loop"
    where = "kube-public"

    async def keep(self, animal: Animal) -> None:
        """Create the child again and again."""
        child = self.child(animal)
        child.metadata.namespace = self.where or animal.metadata.namespace
        child.metadata.owner_references = [
            OwnerReference(
                api_version="zoo.example.com/v1",
                kind="Animal",
                name=animal.metadata.name or "",
                uid=animal.metadata.uid or "",
                controller=True,
            )
        ]
        found = await self.client.find(ConfigMap, child)
        if found is not None and not found.metadata.owner_references:
            self.recorder.event(animal, "Warning", "Taken", "the child is somebody else's")
        elif found is None or found.data != child.data:
            await self.client.apply(child, force=True)  # fault

    def setup(self, manager: Manager) -> None:
        """Watch the child by name."""

        def owner(child: ConfigMap) -> list[Request]:
            return [Request("default", (child.metadata.name or "").removesuffix("-menu"))]

        ControllerBuilder(manager).for_(Animal).watches(ConfigMap, owner).complete(self)


class OwnsAbroadMended(OwnsAbroad):
    """Keeps the child where its owner is."""

    fault = ""
    where = ""


class RetriesFailedJob(Keeper):
    """Replaces a Job that failed at once, for ever (kubernetes.io: Job failures)."""

    fault = "explore-loop"
    owned = (Job,)

    async def keep(self, animal: Animal) -> None:
        """Run the Job; after a failure, once more."""
        spec = JobSpec(template=template(animal, "Never"))
        spec.template.spec.containers[0].image = "example.com/eat"  # type: ignore[union-attr] # set above
        job = Job(metadata=self.metadata(animal), spec=spec)
        found, _ = await ensure_applied(self.client, job, owner=animal)
        conditions = (found.status.conditions if found.status else None) or []
        if any(each.type == "Failed" and each.status == "True" for each in conditions):
            await self.failed(animal)

    async def failed(self, animal: Animal) -> None:
        """Begin again."""
        await prune(self.client, Job, owner=animal)  # fault


class RetriesFailedJobMended(RetriesFailedJob):
    """Says so."""

    fault = ""

    async def failed(self, animal: Animal) -> None:
        """Report it."""
        animal.status.phase = "Failed"


class MovesTransition(Keeper):
    """Sets the transition time of a condition that stays as it is (Kubernetes' API conventions)."""

    fault = "explore-loop"

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Write a condition."""
        known = (before.conditions or [None])[0]
        since = self.since(known.last_transition_time if known is not None else None)
        condition = {
            "type": "Ready",
            "status": "True",
            "reason": "Kept",
            "message": "",
            "lastTransitionTime": since.isoformat(),
        }
        if known is None or known.last_transition_time != since:
            patch = MergePatch({"status": {"conditions": [condition]}})
            await self.client.status.patch(animal, patch)  # fault
        return None

    def since(self, known: datetime | None) -> datetime:
        """When the condition became true."""
        return datetime.now(UTC)


class MovesTransitionMended(MovesTransition):
    """Keeps the time of the change."""

    fault = ""

    def since(self, known: datetime | None) -> datetime:
        """When the condition became true."""
        return known or datetime.now(UTC).replace(microsecond=0)


class BeatsElsewhere(Keeper):
    """Writes every half a minute that it lives: into a field that may differ, and into another one."""

    fault = "explore-loop"
    ignore = ("Animal.status.checked",)
    field = "child"

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Write the time, unless that was done just now."""
        now, pause = datetime.now(UTC), timedelta(seconds=30)
        if animal.status.checked is None or now - datetime.fromisoformat(animal.status.checked) >= pause:
            animal.status.checked = now.isoformat()
            setattr(animal.status, self.field, now.isoformat())
            await patch_status(self.client, animal, before)  # fault
        return Result(requeue_after=pause)


class BeatsElsewhereMended(BeatsElsewhere):
    """Only into the field that may differ."""

    fault = ""
    field = "checked"


class BeatsAndForgets(BeatsElsewhereMended):
    """Never changes its child. That its world never stands still must not hide it."""

    fault = "explore-history"

    async def keep(self, animal: Animal) -> None:
        """Make it once."""
        if self.wants(animal) or await self.client.find(ConfigMap, self.child(animal)) is None:
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault

    def wants(self, animal: Animal) -> bool:
        """Whether to apply the child though it is there."""
        return False


class BeatsAndForgetsMended(BeatsAndForgets):
    """Applies it in each reconcile."""

    fault = ""

    def wants(self, animal: Animal) -> bool:
        """Always."""
        return True

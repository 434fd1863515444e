"""Operators with one fault each, and the same without it.

Each class documents the public source of its fault. The mended twin differs in a few lines only.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import (
    AlreadyExists,
    ApiError,
    Client,
    ControllerBuilder,
    Manager,
    NotFound,
    Reconciler,
    Request,
    Result,
    ServerUnreachable,
    create_or_update,
    ensure_applied,
    ensure_finalizer,
    is_controlled_by,
    patch_status,
    prune,
    release_finalizer,
    set_controller_reference,
)
from tests.explorer.zoo.kinds import FINALIZER, Animal, AnimalStatus


class Keeper(Reconciler):
    """Base of the zoo: one ConfigMap for each Animal, kept right. Subclasses spoil or extend it."""

    owns: ClassVar[bool] = True
    fault: ClassVar[str] = ""
    """The code that the explorer must report. Empty for a mended twin."""

    async def reconcile(self, request: Request) -> Result | None:
        """Keep the child, then report."""
        animal = await self.client.find(Animal, request)
        if animal is None or animal.metadata.deletion_timestamp is not None:
            return None
        before = copy.deepcopy(animal.status)
        await self.keep(animal)
        return await self.report(animal, before)

    async def keep(self, animal: Animal) -> None:
        """Apply the child."""
        await ensure_applied(self.client, self.child(animal), owner=animal)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Write the status when it changed."""
        animal.status.phase = "Ready"
        animal.status.count = animal.spec.count
        await patch_status(self.client, animal, before)
        return None

    def child(self, animal: Animal) -> ConfigMap:
        """The wanted child."""
        data = {"food": animal.spec.food, "count": str(animal.spec.count)}
        return ConfigMap(metadata=ObjectMeta(name=self.name(animal), namespace=animal.metadata.namespace), data=data)

    def name(self, animal: Animal) -> str:
        """The name of the child."""
        return f"{animal.metadata.name}-menu"

    def setup(self, manager: Manager) -> None:
        """Register with the manager."""
        builder = ControllerBuilder(manager).for_(Animal)
        if self.owns:
            builder = builder.owns(ConfigMap)
        builder.complete(self)


# -- crash: Sieve, "intermediate states" (OSDI 2022, 4.1)


class StatusBeforeChild(Keeper):
    """Says `Created` before the child exists, and believes it afterwards (Sieve: rabbitmq-operator 782)."""

    fault = "explore-crash"

    async def keep(self, animal: Animal) -> None:
        """Create the child once."""
        if animal.status.child is not None:
            return
        animal.status.child = self.name(animal)
        await self.client.status.update(animal)
        wanted = self.child(animal)
        set_controller_reference(animal, wanted)
        await self.client.create(wanted)


class StatusBeforeChildMended(StatusBeforeChild):
    """Asks for the child itself."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply the child, then note it."""
        await Keeper.keep(self, animal)
        animal.status.child = self.name(animal)


class RemembersInMemory(Keeper):
    """Keeps in memory which second child is still to be made (Sieve: zookeeper-operator 314)."""

    fault = "explore-crash"

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._fresh: set[str] = set()

    async def reconcile(self, request: Request) -> Result | None:
        """Make a second child for an animal that was seen without the first one."""
        animal = await self.client.find(Animal, request)
        if animal is None or animal.metadata.deletion_timestamp is not None:
            return None
        first = await self.client.find(ConfigMap, f"{request.namespace}/{self.name(animal)}")
        if first is None:
            self._fresh.add(request.name)
        await self.keep(animal)
        if request.name in self._fresh:
            second = self.child(animal)
            second.metadata.name = f"{request.name}-second"
            await ensure_applied(self.client, second, owner=animal)
            self._fresh.discard(request.name)
        return await self.report(animal, copy.deepcopy(animal.status))

    owns: ClassVar[bool] = False


class RemembersInMemoryMended(Keeper):
    """Makes both in each reconcile."""

    async def keep(self, animal: Animal) -> None:
        """Apply both children."""
        await super().keep(animal)
        second = self.child(animal)
        second.metadata.name = f"{animal.metadata.name}-second"
        await ensure_applied(self.client, second, owner=animal)


# -- error: swallowed errors, writes that are taken for failed (Sieve; kubernetes #72598)


class SwallowsErrors(Keeper):
    """Catches the error of a write and reports success."""

    fault = "explore-error"
    owns: ClassVar[bool] = False

    async def keep(self, animal: Animal) -> None:
        """Ignore what goes wrong."""
        with contextlib.suppress(ApiError, ServerUnreachable):
            await super().keep(animal)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report once."""
        return None if animal.status.phase == "Ready" else await super().report(animal, before)


class SwallowsErrorsMended(Keeper):
    """Lets the error go."""


class CreatesTwice(Keeper):
    """Creates a child by `generateName`; when the answer is lost, a second one (kubernetes #10482)."""

    fault = "explore-error"

    async def keep(self, animal: Animal) -> None:
        """Create a child unless the status names one."""
        if animal.status.child is not None:
            return
        wanted = self.child(animal)
        wanted.metadata.name = None
        wanted.metadata.generate_name = "menu-"
        set_controller_reference(animal, wanted)
        created = await self.client.create(wanted)
        animal.status.child = (created or wanted).metadata.name


class CreatesTwiceMended(Keeper):
    """A fixed name."""


# -- history: Acto, "operations that never reach the system" (SOSP 2023, 6.1)


class LeavesOldName(Keeper):
    """The name of the child follows the spec, and the old child stays."""

    fault = "explore-history"

    def name(self, animal: Animal) -> str:
        """Named after the house."""
        return f"{animal.spec.house or 'no'}-menu"


class LeavesOldNameMended(LeavesOldName):
    """Deletes children of former names."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply, then delete the rest."""
        await super().keep(animal)
        await prune(self.client, ConfigMap, owner=animal, keep=[self.name(animal)])


class UpdatesOnlyNew(Keeper):
    """Writes the child only when it is created."""

    fault = "explore-history"
    owns: ClassVar[bool] = False

    async def keep(self, animal: Animal) -> None:
        """Create once."""
        wanted = self.child(animal)
        set_controller_reference(animal, wanted)
        with contextlib.suppress(AlreadyExists):
            await self.client.create(wanted)


class UpdatesOnlyNewMended(Keeper):
    """Applies each time."""


class KeepsRemovedKeys(Keeper):
    """Adds keys for names, and never removes those of names that were taken out (Acto: cass-operator 330)."""

    fault = "explore-history"

    def child(self, animal: Animal) -> ConfigMap:
        """One key a name."""
        child = super().child(animal)
        child.data = {**(child.data or {}), **dict.fromkeys(animal.spec.names, "x")}
        return child

    async def keep(self, animal: Animal) -> None:
        """Add keys to those that are there."""
        wanted = self.child(animal)
        child = ConfigMap(metadata=ObjectMeta(name=self.name(animal), namespace=animal.metadata.namespace))

        def change() -> None:
            set_controller_reference(animal, child)
            child.data = {**(child.data or {}), **(wanted.data or {})}

        await create_or_update(self.client, child, change)


class KeepsRemovedKeysMended(KeepsRemovedKeys):
    """Applies exactly the wanted keys."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply."""
        await Keeper.keep(self, animal)


# -- drift


class DoesNotWatch(Keeper):
    """Nobody wakes it when a child goes."""

    fault = "explore-drift"
    owns: ClassVar[bool] = False


class DoesNotWatchMended(Keeper):
    """Owns the child."""


# -- leak


class NoOwner(Keeper):
    """Children without an owner reference stay for ever (Acto: several)."""

    fault = "explore-leak"

    async def keep(self, animal: Animal) -> None:
        """Create without an owner."""
        wanted = self.child(animal)
        found = await self.client.find(ConfigMap, wanted)
        if found is None:
            await self.client.create(wanted)
        elif found.data != wanted.data:
            found.data = wanted.data
            await self.client.update(found)

    def setup(self, manager: Manager) -> None:
        """Watch children by name."""

        def owner(child: ConfigMap) -> list[Request]:
            name = (child.metadata.name or "").removesuffix("-menu")
            return [Request(child.metadata.namespace or "", name)]

        ControllerBuilder(manager).for_(Animal).watches(ConfigMap, owner).complete(self)


class NoOwnerMended(Keeper):
    """Owner references."""


class FinalizerTooLate(Keeper):
    """Sets the finalizer after the first external child: a deletion in between leaves it behind."""

    fault = "explore-leak"

    async def reconcile(self, request: Request) -> Result | None:
        """Make, then protect."""
        animal = await self.client.find(Animal, request)
        if animal is None:
            return None
        secret = Secret(metadata=ObjectMeta(name=f"{request.name}-key", namespace="kube-public"))
        if animal.metadata.deletion_timestamp is not None:
            await self.clean_up(animal, secret)
            await release_finalizer(self.client, animal, FINALIZER)
            return None
        await self.make(animal, secret)
        return await self.report(animal, copy.deepcopy(animal.status))

    async def make(self, animal: Animal, secret: Secret) -> None:
        """The wrong order."""
        await self.create(animal, secret)
        await ensure_finalizer(self.client, animal, FINALIZER)

    async def create(self, animal: Animal, secret: Secret) -> None:
        """Create the secret, unless it is there."""
        secret.metadata.labels = {"animal": animal.metadata.uid or ""}
        found = await self.client.find(Secret, secret)
        if found is None:
            await self.client.create(secret)
        elif (found.metadata.labels or {}).get("animal") != animal.metadata.uid:
            self.recorder.event(animal, "Warning", "Taken", "the secret is somebody else's")

    async def clean_up(self, animal: Animal, secret: Secret) -> None:
        """Delete the secret, if it is this animal's."""
        found = await self.client.find(Secret, secret)
        if found is not None and (found.metadata.labels or {}).get("animal") == animal.metadata.uid:
            await self.client.delete(found, uid=found.metadata.uid, missing_ok=True)

    def setup(self, manager: Manager) -> None:
        """Watch the secrets by name."""

        def owner(secret: Secret) -> list[Request]:
            return [Request("default", (secret.metadata.name or "").removesuffix("-key"))]

        ControllerBuilder(manager).for_(Animal).watches(Secret, owner).complete(self)


class FinalizerTooLateMended(FinalizerTooLate):
    """The finalizer first."""

    fault = ""

    async def make(self, animal: Animal, secret: Secret) -> None:
        """The right order."""
        await ensure_finalizer(self.client, animal, FINALIZER)
        await self.create(animal, secret)


# -- theft


class TakesOver(Keeper):
    """Overwrites an object of somebody else that has the name of its child."""

    fault = "explore-theft"

    async def keep(self, animal: Animal) -> None:
        """Apply by force, without a look at the owner."""
        wanted = self.child(animal)
        found = await self.client.find(ConfigMap, wanted)
        if found is not None and found.data == wanted.data:
            return
        set_controller_reference(animal, wanted)
        await self.client.apply(wanted, force=True)


class TakesOverMended(Keeper):
    """Refuses, and says so."""

    async def keep(self, animal: Animal) -> None:
        """Warn when the name is taken."""
        try:
            await super().keep(animal)
        except Exception as error:
            self.recorder.event(animal, "Warning", "Taken", str(error))
            raise


# -- loop


class TimeInStatus(Keeper):
    """Writes the time into the status in each reconcile (the most common hot loop)."""

    fault = "explore-loop"

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Write the present time."""
        animal.status.checked = datetime.now(UTC).isoformat()
        await self.client.status.update(animal)
        return None


class TimeInStatusMended(Keeper):
    """Reports changes only."""


class PollsAndWrites(Keeper):
    """Writes every minute though nothing has changed."""

    fault = "explore-loop"

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Count."""
        animal.status.count = (animal.status.count or 0) + 1
        if animal.status.count % 2:
            await self.client.status.update(animal)
        else:
            await self.client.status.update(animal)
        return Result(requeue_after=timedelta(minutes=1))


class PollsAndWritesMended(Keeper):
    """Polls, and writes only changes."""

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report, and look again."""
        await super().report(animal, before)
        return Result(requeue_after=timedelta(minutes=1))


# -- bug


class BadEdge(Keeper):
    """Divides by a count that may be 0, which the schema allows (Acto: many)."""

    fault = "explore-bug"

    def child(self, animal: Animal) -> ConfigMap:
        """A share for each."""
        child = super().child(animal)
        child.data = {**(child.data or {}), "share": str(100 // animal.spec.count)}
        return child


class BadEdgeMended(BadEdge):
    """Handles 0."""

    fault = ""

    def child(self, animal: Animal) -> ConfigMap:
        """A share for each, if there are any."""
        child = Keeper.child(self, animal)
        child.data = {**(child.data or {}), "share": str(100 // animal.spec.count if animal.spec.count else 0)}
        return child


class MissingField(Keeper):
    """Takes an optional field for present."""

    fault = "explore-bug"

    def child(self, animal: Animal) -> ConfigMap:
        """The house in capitals."""
        child = super().child(animal)
        child.data = {**(child.data or {}), "house": animal.spec.house.upper()}  # type: ignore[union-attr] # the fault
        return child


class MissingFieldMended(MissingField):
    """Has a value for it."""

    fault = ""

    def child(self, animal: Animal) -> ConfigMap:
        """The house in capitals, or none."""
        child = Keeper.child(self, animal)
        child.data = {**(child.data or {}), "house": (animal.spec.house or "none").upper()}
        return child


# -- stale: Sieve, "stale states" (4.2)


class DeletesByStaleList(Keeper):
    """Counts children in the cache and makes the missing ones by random names: a lag makes too many."""

    fault = "explore-stale"

    async def keep(self, animal: Animal) -> None:
        """Make children until there are enough, delete those that are too many."""
        found = [
            child
            for child in (await self.client.list(ConfigMap, namespace=animal.metadata.namespace)).items
            if (child.metadata.labels or {}).get("animal") == animal.metadata.name
        ]
        for _ in range(animal.spec.count - len(found)):
            child = ConfigMap(
                metadata=ObjectMeta(
                    generate_name="part-",
                    namespace=animal.metadata.namespace,
                    labels={"animal": animal.metadata.name or ""},
                )
            )
            set_controller_reference(animal, child)
            await self.client.create(child)
        for child in found[animal.spec.count :]:
            await self.client.delete(child, missing_ok=True)


class DeletesByStaleListMended(Keeper):
    """Fixed names, by number."""

    async def keep(self, animal: Animal) -> None:
        """Make each by its number, delete the others."""
        wanted = [f"{animal.metadata.name}-{number}" for number in range(animal.spec.count)]
        for name in wanted:
            metadata = ObjectMeta(name=name, namespace=animal.metadata.namespace)
            await ensure_applied(self.client, ConfigMap(metadata=metadata, data={"x": "y"}), owner=animal)
        await prune(self.client, ConfigMap, owner=animal, keep=wanted)


# -- unseen: Sieve, "unobserved states" (4.3)


class CleansUpAtTheEvent(Keeper):
    """Cleans up when it sees the deletion timestamp, but has no finalizer: it may never see it."""

    fault = "explore-leak"

    async def keep(self, animal: Animal) -> None:
        """A child in another namespace, which no owner reference can reach."""
        secret = Secret(metadata=ObjectMeta(name=f"{animal.metadata.name}-key", namespace="kube-public"))
        if await self.client.find(Secret, secret) is None:
            await self.client.create(secret)


class CleansUpAtTheEventMended(FinalizerTooLateMended):
    """A finalizer."""


# -- a plain function in a thread, and virtual sleep


class Threaded(Reconciler):
    """A plain reconciler, without a fault."""

    fault: ClassVar[str] = ""

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


ALL: tuple[type[Keeper], ...] = (
    StatusBeforeChild,
    RemembersInMemory,
    SwallowsErrors,
    CreatesTwice,
    LeavesOldName,
    UpdatesOnlyNew,
    KeepsRemovedKeys,
    DoesNotWatch,
    NoOwner,
    FinalizerTooLate,
    TakesOver,
    TimeInStatus,
    PollsAndWrites,
    BadEdge,
    MissingField,
    DeletesByStaleList,
    CleansUpAtTheEvent,
)
"""Those with a fault. Each has a twin, the class with `Mended` after its name."""

"""Faults about children: not watched, not collected, taken from somebody else, or shared."""

from __future__ import annotations

import contextlib
import copy
import hashlib
from datetime import timedelta
from typing import ClassVar

from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import (
    AlreadyExists,
    AlreadyOwned,
    ControllerBuilder,
    GenerationChanged,
    Manager,
    MergePatch,
    NotControlled,
    NotFound,
    Reconciler,
    Request,
    Result,
    create_or_update,
    ensure_applied,
    ensure_deleted,
    ensure_finalizer,
    has_finalizer,
    is_controlled_by,
    prune,
    release_finalizer,
    set_controller_reference,
)
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.zoo.kinds import FINALIZER, PARK, SAMPLE, Animal, AnimalSpec, AnimalStatus, Manifest, Park

DOOR = "example.com/door"
"""A second finalizer."""

# -- drift


class DoesNotWatch(Keeper):
    """Nobody wakes it when a child goes (Sieve, 4.3; the kubebuilder book on watching owned resources)."""

    fault = "explore-drift"
    owned = ()

    async def keep(self, animal: Animal) -> None:
        """Apply the child."""
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault: not in `owned`


class DoesNotWatchMended(DoesNotWatch):
    """Owns the child."""

    fault = ""
    owned = Keeper.owned


class EntersOnce(Guard):
    """Writes an entry into a system that tells nobody of changes, and never looks again."""

    fault = "explore-drift"
    pause: ClassVar[timedelta | None] = None

    async def make(self, animal: Animal) -> None:
        """Write the entry if it is not there or not right."""
        wanted = self.secret(animal)
        wanted.string_data = {"food": animal.spec.food}
        found = await self.client.find(Secret, wanted)
        if found is not None and not self.is_own(animal, found):
            self.recorder.event(animal, "Warning", "Taken", "the entry is somebody else's")
        elif found is None or (found.data or {}).get("food") != animal.spec.food.encode():
            await self.client.apply(wanted, force=True)  # fault

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Come back, or not."""
        await super().report(animal, before)
        return Result(requeue_after=self.pause)

    def setup(self, manager: Manager) -> None:
        """Watch nothing else."""
        ControllerBuilder(manager).for_(Animal).complete(self)


class EntersOnceMended(EntersOnce):
    """Looks again every ten minutes. An entry has no owner reference by which to watch it."""

    fault = ""
    pause = timedelta(minutes=10)


class FiltersByGeneration(Keeper):
    """Drops events of ConfigMaps, which have no generation (red-hat-storage/ocs-operator #2621)."""

    fault = "explore-drift"
    predicates: tuple[GenerationChanged, ...] = (GenerationChanged(),)

    async def keep(self, animal: Animal) -> None:
        """Apply the child."""
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault: its changes are filtered

    def setup(self, manager: Manager) -> None:
        """Watch what changes the generation."""
        builder = ControllerBuilder(manager).for_(Animal)
        builder.owns(ConfigMap, predicates=self.predicates).complete(self)


class FiltersByGenerationMended(FiltersByGeneration):
    """Watches all."""

    fault = ""
    predicates = ()


class TrustsHash(Keeper):
    """Compares a hash that it wrote itself, not the child (ClickHouse/clickhouse-operator #132 hashes what it wants)."""

    fault = "explore-drift"

    async def keep(self, animal: Animal) -> None:
        """Write the child if its annotation is another one."""
        wanted = self.child(animal)
        digest = hashlib.sha256(repr(sorted((wanted.data or {}).items())).encode()).hexdigest()
        wanted.metadata.annotations = {"zoo.example.com/hash": digest}
        found = await self.client.find(ConfigMap, wanted)
        if found is None or not self.is_same(found, digest):
            await ensure_applied(self.client, wanted, owner=animal)  # fault

    def is_same(self, found: ConfigMap, digest: str) -> bool:
        """Whether the child is as wanted, if its annotation is right."""
        return (found.metadata.annotations or {}).get("zoo.example.com/hash") == digest


class TrustsHashMended(TrustsHash):
    """Compares the child."""

    fault = ""

    def is_same(self, found: ConfigMap, digest: str) -> bool:
        """Leave it to the apply."""
        return False


class WrongParent(Reconciler):
    """Looks for the parent of a child by a wrong name (the kubebuilder book on map functions)."""

    fault = "explore-drift"
    sample = PARK
    rules = None

    async def reconcile(self, request: Request) -> None:
        """Keep one child in `default`."""
        park = await self.client.find(Park, request)
        if park is None or park.metadata.deletion_timestamp is not None:
            return
        child = ConfigMap.model_validate(
            {"metadata": {"name": f"{request.name}-map", "namespace": "default"}, "data": {"food": park.spec.food}}
        )
        try:
            await ensure_applied(self.client, child, owner=park)  # fault: see `parent`
        except NotControlled as error:
            self.recorder.event(park, "Warning", "Taken", str(error))
            raise

    def parent(self, child: ConfigMap) -> Request:
        """The park of a child."""
        return Request("", child.metadata.name or "")

    def setup(self, manager: Manager) -> None:
        """Watch the children by name."""
        builder = ControllerBuilder(manager).for_(Park)
        builder.watches(ConfigMap, lambda child: [self.parent(child)]).complete(self)


class WrongParentMended(WrongParent):
    """Looks by the name of the parent."""

    fault = ""

    def parent(self, child: ConfigMap) -> Request:
        """The park of a child."""
        return Request("", (child.metadata.name or "").removesuffix("-map"))


# -- leak


class NoOwner(Keeper):
    """Children without an owner reference stay for ever (pravega/zookeeper-operator #537)."""

    fault = "explore-leak"

    async def keep(self, animal: Animal) -> None:
        """Create the child, or bring it back."""
        wanted = self.child(animal)
        self.own(animal, wanted)
        found = await self.client.find(ConfigMap, wanted)
        if found is None:
            await self.client.create(wanted)  # fault
        elif (found.metadata.labels or {}) != (wanted.metadata.labels or {}) or self.is_foreign(found):
            self.recorder.event(animal, "Warning", "Taken", "the child is somebody else's")
        elif found.data != wanted.data:
            found.data = wanted.data
            await self.client.update(found)  # fault

    def own(self, animal: Animal, child: ConfigMap) -> None:
        """Mark the child by a label."""
        child.metadata.labels = {"animal": animal.metadata.uid or ""}

    def is_foreign(self, child: ConfigMap) -> bool:
        """Whether somebody else made it: the label says it."""
        return False

    def setup(self, manager: Manager) -> None:
        """Watch children by name."""

        def owner(child: ConfigMap) -> list[Request]:
            name = (child.metadata.name or "").removesuffix("-menu")
            return [Request(child.metadata.namespace or "", name)]

        ControllerBuilder(manager).for_(Animal).watches(ConfigMap, owner).complete(self)


class NoOwnerMended(NoOwner):
    """An owner reference, by which it is recognized and collected."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply."""
        await ensure_applied(self.client, self.child(animal), owner=animal)


class FinalizerTooLate(Guard):
    """Sets the finalizer after the first child abroad: a deletion in between leaves it behind (Acto, 6)."""

    fault = "explore-leak"

    async def begin(self, animal: Animal) -> None:
        """The wrong order."""
        await self.client.find(Secret, self.secret(animal))
        if await self.client.find(Secret, self.secret(animal)) is None:
            await self.client.create(self.secret(animal))  # fault
        await ensure_finalizer(self.client, animal, FINALIZER)


class FinalizerTooLateMended(FinalizerTooLate):
    """The finalizer first."""

    fault = ""

    async def begin(self, animal: Animal) -> None:
        """The right order."""
        await ensure_finalizer(self.client, animal, FINALIZER)
        await self.make(animal)


class NoFinalizer(Guard):
    """Cleans up when it sees the deletion, but has no finalizer: it may never see it (Sieve, 4.3)."""

    fault = "explore-leak"

    async def begin(self, animal: Animal) -> None:
        """Make the secret."""
        await self.protect(animal)
        if await self.client.find(Secret, self.secret(animal)) is None:
            await self.client.create(self.secret(animal))  # fault
        else:
            await self.make(animal)

    async def protect(self, animal: Animal) -> None:
        """Nothing holds the animal."""


class NoFinalizerMended(NoFinalizer):
    """A finalizer."""

    fault = ""

    async def protect(self, animal: Animal) -> None:
        """Hold the animal."""
        await ensure_finalizer(self.client, animal, FINALIZER)


class FinalizerStays(Guard):
    """Fails in the clean-up if there is nothing to clean up, for ever (kubernetes.io: finalizers)."""

    fault = "explore-leak"
    missing_ok = False

    async def begin(self, animal: Animal) -> None:
        """The finalizer; the event of its write leads to the secret."""
        if not await ensure_finalizer(self.client, animal, FINALIZER):
            await self.make(animal)

    async def clean_up(self, animal: Animal) -> None:
        """Delete the secret if nobody else has it."""
        found = await self.client.find(Secret, self.secret(animal))
        if found is not None and not self.is_own(animal, found):
            return
        uid = found.metadata.uid if found is not None else None
        await self.client.delete(self.secret(animal), uid=uid, missing_ok=self.missing_ok)  # fault


class FinalizerStaysMended(FinalizerStays):
    """What is gone is gone."""

    fault = ""
    missing_ok = True


class LosesKeyFirst(Guard):
    """Gives up the key before it locks the door, which then fails for ever (two finalizers in the wrong order)."""

    fault = "explore-leak"

    async def begin(self, animal: Animal) -> None:
        """There is a key as soon as there is a door."""
        await super().begin(animal)
        await ensure_finalizer(self.client, animal, DOOR)

    async def end(self, animal: Animal) -> None:
        """The key, then the door."""
        await super().end(animal)
        await self.lock(animal)

    async def lock(self, animal: Animal) -> None:
        """It takes the key."""
        if has_finalizer(animal, DOOR):
            await self.client.live.get(Secret, self.secret(animal))  # fault
            await release_finalizer(self.client, animal, DOOR)


class LosesKeyFirstMended(LosesKeyFirst):
    """The door, then the key."""

    fault = ""

    async def end(self, animal: Animal) -> None:
        """In the opposite order."""
        await self.lock(animal)
        await Guard.end(self, animal)


# -- theft


class TakesOver(Keeper):
    """Overwrites an object of somebody else that has the name of its child (kubernetes.io: owners and dependents)."""

    fault = "explore-theft"

    async def keep(self, animal: Animal) -> None:
        """Apply by force, without a look at the owner."""
        wanted = self.child(animal)
        found = await self.client.find(ConfigMap, wanted)
        if found is not None and found.data == wanted.data:
            return
        set_controller_reference(animal, wanted)
        await self.client.apply(wanted, force=True)  # fault


class TakesOverMended(TakesOver):
    """Refuses, and says so."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Warn when the name is taken."""
        try:
            await ensure_applied(self.client, self.child(animal), owner=animal)
        except NotControlled as error:
            self.recorder.event(animal, "Warning", "Taken", str(error))
            raise


class DeletesForeign(Guard):
    """Deletes by name what it did not make (Orange-OpenSource/casskop #316: names instead of uids)."""

    fault = "explore-theft"

    async def make(self, animal: Animal) -> None:
        """Create the secret; if there is one, it will do."""
        with contextlib.suppress(AlreadyExists):
            await self.client.create(self.secret(animal))  # fault: it may be another's

    async def clean_up(self, animal: Animal) -> None:
        """Delete the secret of that name."""
        await self.client.delete(self.secret(animal), missing_ok=True)  # fault


class DeletesForeignMended(DeletesForeign):
    """Looks whose it is, and says so."""

    fault = ""

    async def make(self, animal: Animal) -> None:
        """Create the secret, unless it is there."""
        await Guard.make(self, animal)

    async def clean_up(self, animal: Animal) -> None:
        """Delete the secret, if it is this animal's."""
        await Guard.clean_up(self, animal)


class DeletesUnwanted(Keeper):
    """Deletes by name the child that a spec does without, whoever made it (kubernetes.io: owners and dependents)."""

    fault = "explore-theft"

    async def keep(self, animal: Animal) -> None:
        """A child only for an animal with a house."""
        if animal.spec.house is not None:
            await super().keep(animal)
        else:
            await self.remove(animal)

    async def remove(self, animal: Animal) -> None:
        """Delete the child."""
        await self.client.delete(self.child(animal), missing_ok=True)  # fault


class DeletesUnwantedMended(DeletesUnwanted):
    """Deletes its own one."""

    fault = ""

    async def remove(self, animal: Animal) -> None:
        """Look whose it is."""
        await ensure_deleted(self.client, ConfigMap, self.child(animal), owner=animal)


class SharesChild(Keeper):
    """Two animals of one house have one child, and the first that goes takes it along (kubernetes.io: one controller for each object)."""

    fault = "explore-theft"

    def name(self, animal: Animal) -> str:
        """Named after the house alone."""
        return f"{animal.spec.house or 'no'}-house"

    async def keep(self, animal: Animal) -> None:
        """Become the owner of the child, whoever had it."""
        child = self.child(animal)
        found = await self.client.find(ConfigMap, child)
        if found is not None and not found.metadata.owner_references:
            self.recorder.event(animal, "Warning", "Taken", "the child is somebody else's")
        elif found is None or found.data != child.data or not self.owns(animal, found):
            set_controller_reference(animal, child)
            await self.client.apply(child, force=True)  # fault

    def owns(self, animal: Animal, found: ConfigMap) -> bool:
        """Whether the animal is an owner."""
        return any(each.uid == animal.metadata.uid for each in found.metadata.owner_references or ())


class SharesChildMended(SharesChild):
    """A child for each."""

    fault = ""

    def name(self, animal: Animal) -> str:
        """Named after the animal."""
        return f"{animal.metadata.name}-house"

    async def keep(self, animal: Animal) -> None:
        """Apply, unless another has it."""
        await ensure_applied(self.client, self.child(animal), owner=animal)


class ErasesNotes(Keeper):
    """Replaces the whole child, with the annotations of others (kubernetes.io: PUT replaces the object)."""

    fault = "explore-theft"

    async def keep(self, animal: Animal) -> None:
        """Write the child as it is wanted, and nothing else."""
        wanted = self.child(animal)
        set_controller_reference(animal, wanted)
        found = await self.client.find(ConfigMap, wanted)
        if found is None:
            await self.client.create(wanted)
        elif not found.metadata.owner_references:
            self.recorder.event(animal, "Warning", "Taken", "the child is somebody else's")
        elif found.data != wanted.data or found.metadata.labels:
            wanted.metadata.resource_version = found.metadata.resource_version
            await self.update(found, wanted)

    async def update(self, found: ConfigMap, wanted: ConfigMap) -> None:
        """Replace it."""
        await self.client.update(wanted)  # fault


class ErasesNotesMended(ErasesNotes):
    """Changes its own fields only."""

    fault = ""

    async def update(self, found: ConfigMap, wanted: ConfigMap) -> None:
        """Change the data."""

        def change() -> None:
            found.data, found.metadata.labels = wanted.data, None

        await create_or_update(self.client, found, change)


class Family(Keeper):
    """An Animal has a smaller one as its child, which has a finalizer and a status like each Animal."""

    fault = "explore-theft"
    owned = (Animal,)

    async def reconcile(self, request: Request) -> Result | None:
        """Keep the child, and the finalizer of this one."""
        animal = await self.client.find(Animal, request)
        if animal is None:
            return None
        if animal.metadata.deletion_timestamp is not None:
            await release_finalizer(self.client, animal, FINALIZER)
            return None
        await ensure_finalizer(self.client, animal, FINALIZER)
        before = copy.deepcopy(animal.status)
        if not request.name.endswith("-cub"):
            await self.keep(animal)
        return await self.report(animal, before)

    async def keep(self, animal: Animal) -> None:
        """Apply by force, without a look at the owner."""
        wanted = self.cub(animal)
        set_controller_reference(animal, wanted)
        found = await self.client.find(Animal, wanted)
        if found is None or found.spec != wanted.spec:
            await self.client.apply(wanted, force=True)  # fault

    def cub(self, animal: Animal) -> Animal:
        """A smaller one."""
        metadata = ObjectMeta(name=f"{animal.metadata.name}-cub", namespace=animal.metadata.namespace)
        return Animal(metadata=metadata, spec=AnimalSpec(food=animal.spec.food, count=1))


class FamilyMended(Family):
    """Leaves that of somebody else alone. As it is an Animal, its own reconcile works on it."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Warn when the name is taken."""
        try:
            await ensure_applied(self.client, self.cub(animal), owner=animal)
        except NotControlled as error:
            self.recorder.event(animal, "Warning", "Taken", str(error))
            raise


class PlainNoOwner(Reconciler):
    """A plain function, in a thread. Its children have no owner."""

    fault = "explore-leak"
    rules = None
    sample = SAMPLE

    def reconcile(self, request: Request) -> None:
        """Keep one child."""
        animal = self.client.sync.find(Animal, request)
        if animal is None or animal.metadata.deletion_timestamp is not None:
            return
        metadata = ObjectMeta(name=f"{request.name}-menu", namespace=request.namespace)
        wanted = ConfigMap(metadata=metadata, data={"food": animal.spec.food})
        self.own(animal, wanted)
        found = self.client.sync.find(ConfigMap, wanted)
        if found is None:
            self.client.sync.create(wanted)  # fault
        elif self.is_own(animal, found) and found.data != wanted.data:
            found.data = wanted.data
            self.client.sync.update(found)
        elif not self.is_own(animal, found):
            self.recorder.event(animal, "Warning", "Taken", "the child is somebody else's")

    def own(self, animal: Animal, child: ConfigMap) -> None:
        """Nobody is the owner."""

    def is_own(self, animal: Animal, child: ConfigMap) -> bool:
        """Whether it may be changed."""
        return not child.metadata.labels

    def setup(self, manager: Manager) -> None:
        """Register with the manager."""
        ControllerBuilder(manager).for_(Animal).owns(ConfigMap).complete(self)


class PlainNoOwnerMended(PlainNoOwner):
    """Sets it."""

    fault = ""

    def own(self, animal: Animal, child: ConfigMap) -> None:
        """The animal."""
        set_controller_reference(animal, child)

    def is_own(self, animal: Animal, child: ConfigMap) -> bool:
        """Whether the animal is its owner."""
        return is_controlled_by(child, animal)


class ShortensNames(Keeper):
    """Cuts names, so that children of two animals have the same one."""

    fault = "explore-theft"

    async def keep(self, animal: Animal) -> None:
        """Apply the child."""
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault

    def name(self, animal: Animal) -> str:
        """The name of the child."""
        return f"{(animal.metadata.name or '')[:4]}-menu"


class ShortensNamesMended(ShortensNames):
    """With a part that depends on the whole name."""

    fault = ""

    def name(self, animal: Animal) -> str:
        """The name of the child."""
        digest = hashlib.sha256((animal.metadata.name or "").encode()).hexdigest()[:8]
        return f"{super().name(animal)}-{digest}"


class ClearsFinalizers(Guard):
    """Lets the object go by removing all finalizers, also those of others."""

    fault = "explore-theft"

    async def end(self, animal: Animal) -> None:
        """The finalizer last."""
        await self.clean_up(animal)
        others = self.kept(animal)
        patch = MergePatch({"metadata": {"finalizers": others, "resourceVersion": animal.metadata.resource_version}})
        with contextlib.suppress(NotFound):
            await self.client.patch(animal, patch)  # fault

    def kept(self, animal: Animal) -> list[str]:
        """The finalizers that stay."""
        return []


class ClearsFinalizersMended(ClearsFinalizers):
    """Removes its own."""

    fault = ""

    def kept(self, animal: Animal) -> list[str]:
        """Those of others."""
        return [each for each in animal.metadata.finalizers or () if each != FINALIZER]


class SeizesName(Keeper):
    """Animals of one house want one child, and a newcomer takes it from the one that has it, which says so at least."""

    fault = "explore-theft"
    sample: ClassVar[Manifest] = {**SAMPLE, "spec": {"food": "hay", "house": "north"}}  # at first, both lose the house

    def name(self, animal: Animal) -> str:
        """Named after the house alone."""
        return f"{animal.spec.house or 'no'}-house"

    async def keep(self, animal: Animal) -> None:
        """Apply the child, or say who has it."""
        animal.status.phase = "Ready"
        try:
            await ensure_applied(self.client, self.child(animal), owner=animal)
        except NotControlled as error:
            if not await self.seize(animal):
                self.lose(animal, error)
        await prune(self.client, ConfigMap, owner=animal, keep=[self.name(animal)])

    def lose(self, animal: Animal, error: NotControlled) -> None:
        """Say that another one has it."""
        animal.status.phase = "NotControlled"

    async def seize(self, animal: Animal) -> bool:
        """Take the child from an animal with a smaller name."""
        found = await self.client.live.get(ConfigMap, self.child(animal))
        if all(each.name >= (animal.metadata.name or "") for each in found.metadata.owner_references or ()):
            return False
        found.data, found.metadata.owner_references = self.child(animal).data, None
        set_controller_reference(animal, found)
        await self.client.update(found)  # fault
        return True

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Look again soon, as the other one may go."""
        await super().report(animal, before)
        return Result(requeue_after=timedelta(seconds=30))


class SeizesNameMended(SeizesName):
    """Who comes first has it."""

    fault = ""

    async def seize(self, animal: Animal) -> bool:
        """Never."""
        return False


class ConcealsLoss(SeizesNameMended):
    """Says only of a stranger that it has the child, not of another animal."""

    fault = "explore-theft"

    async def keep(self, animal: Animal) -> None:
        """Apply the child, or wait for it."""
        try:
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault: see `lose`
        except NotControlled as error:
            self.lose(animal, error)
        await prune(self.client, ConfigMap, owner=animal, keep=[self.name(animal)])

    def lose(self, animal: Animal, error: NotControlled) -> None:
        """Warn of a stranger."""
        if not isinstance(error, AlreadyOwned):
            self.recorder.event(animal, "Warning", "Taken", str(error))


class ConcealsLossMended(ConcealsLoss):
    """Says it of each."""

    fault = ""

    def lose(self, animal: Animal, error: NotControlled) -> None:
        """Warn of all."""
        self.recorder.event(animal, "Warning", "Taken", str(error))


class TrustsNote(Guard):
    """Deletes what its status names. If it died before it noted that, and the animal goes meanwhile, that stays."""

    fault = "explore-leak"

    async def make(self, animal: Animal) -> None:
        """Create the secret, and note it."""
        secret = self.secret(animal)
        found = await self.client.find(Secret, secret)
        if found is not None and not self.is_own(animal, found):
            self.recorder.event(animal, "Warning", "Taken", "the secret is somebody else's")
            return
        if found is None:
            await self.client.create(secret)  # fault: see `clean_up`
        animal.status.child = secret.metadata.name

    async def clean_up(self, animal: Animal) -> None:
        """Delete the secret, if the status has it."""
        if animal.status.child is not None:
            await super().clean_up(animal)


class TrustsNoteMended(TrustsNote):
    """Looks for the secret itself."""

    fault = ""

    async def clean_up(self, animal: Animal) -> None:
        """Delete the secret, whatever the status says."""
        await Guard.clean_up(self, animal)

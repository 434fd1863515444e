"""Faults that show when the spec changes, when children are late, or at the edges of the schema (Acto, SOSP 2023)."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from typing import ClassVar

from pykb.api.apps.v1 import Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec
from pykb.api.batch.v1 import Job, JobSpec
from pykb.api.conditions import Condition
from pykb.api.core.v1 import (
    ConfigMap,
    Container,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PodSpec,
    PodTemplateSpec,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeResourceRequirements,
)
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.api.quantity import Quantity
from pykb.runtime import (
    AlreadyExists,
    Conflict,
    Invalid,
    MergePatch,
    NotControlled,
    Request,
    Result,
    create_or_update,
    ensure_applied,
    ensure_deleted,
    is_controlled_by,
    patch_status,
    prune,
    set_controller_reference,
)
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import PAUSABLE, SAMPLE, Animal, AnimalStatus


def template(animal: Animal, restart: str | None = None) -> PodTemplateSpec:
    """Pods with the food as their image."""
    spec = PodSpec(containers=[Container(name="eat", image=f"example.com/{animal.spec.food}")], restart_policy=restart)
    return PodTemplateSpec(metadata=ObjectMeta(labels=labels(animal)), spec=spec)


def labels(animal: Animal) -> dict[str, str]:
    """Labels of pods."""
    return {"animal": animal.metadata.name or ""}


def deployment(animal: Animal, metadata: ObjectMeta) -> Deployment:
    """A Deployment that follows the spec."""
    selector = LabelSelector(match_labels=labels(animal))
    spec = DeploymentSpec(replicas=animal.spec.count, selector=selector, template=template(animal))
    return Deployment(metadata=metadata, spec=spec)


class LeavesOldName(Keeper):
    """The name of the child follows the spec, and the old child stays (found in a sample of pykb's own)."""

    fault = "explore-history"

    def name(self, animal: Animal) -> str:
        """Named after the house."""
        return f"{animal.spec.house or 'no'}-menu"

    async def keep(self, animal: Animal) -> None:
        """Apply the child of the present name."""
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault


class LeavesOldNameMended(LeavesOldName):
    """Deletes children of former names."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply, then delete the rest."""
        await super().keep(animal)
        await prune(self.client, ConfigMap, owner=animal, keep=[self.name(animal)])


class UpdatesOnlyNew(Keeper):
    """Writes the child only when it is created (Acto, 6.1: operations that never reach the system)."""

    fault = "explore-history"

    async def keep(self, animal: Animal) -> None:
        """Create once."""
        wanted = self.child(animal)
        set_controller_reference(animal, wanted)
        with contextlib.suppress(AlreadyExists):
            await self.client.create(wanted)  # fault


class UpdatesOnlyNewMended(UpdatesOnlyNew):
    """Applies each time."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply."""
        await ensure_applied(self.client, self.child(animal), owner=animal)


class KeepsRemovedKeys(Keeper):
    """Adds keys for names, and never removes those of names that were taken out (Acto, 6.1: cass-operator)."""

    fault = "explore-history"

    def child(self, animal: Animal) -> ConfigMap:
        """One key a name."""
        child = super().child(animal)
        child.data = {**(child.data or {}), **dict.fromkeys(animal.spec.names, "x")}
        return child

    async def keep(self, animal: Animal) -> None:
        """Add keys to those that are there."""
        wanted = self.child(animal)
        child = ConfigMap(metadata=self.metadata(animal))

        def change() -> None:
            set_controller_reference(animal, child)
            child.data = {**(child.data or {}), **(wanted.data or {})}

        await create_or_update(self.client, child, change)  # fault


class KeepsRemovedKeysMended(KeepsRemovedKeys):
    """Applies exactly the wanted keys."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply."""
        await ensure_applied(self.client, self.child(animal), owner=animal)


class LeavesService(Keeper):
    """Makes a Service only for several names, and leaves it when they become one (Acto, 6.1: features switched off)."""

    fault = "explore-history"
    owned = (ConfigMap, Service)

    async def keep(self, animal: Animal) -> None:
        """The child, and perhaps the Service."""
        await super().keep(animal)
        if len(animal.spec.names) > 1:
            spec = ServiceSpec(selector=labels(animal), ports=[ServicePort(port=80)])
            service = Service(metadata=self.metadata(animal), spec=spec)
            await ensure_applied(self.client, service, owner=animal)  # fault
        else:
            await self.without(animal)

    async def without(self, animal: Animal) -> None:
        """No Service is wanted."""


class LeavesServiceMended(LeavesService):
    """Deletes it."""

    fault = ""

    async def without(self, animal: Animal) -> None:
        """Delete the Service."""
        await ensure_deleted(self.client, Service, f"{animal.metadata.namespace}/{self.name(animal)}", owner=animal)


class CannotChangeJob(Keeper):
    """Applies a changed template to a Job, whose template is immutable (kubernetes.io: Jobs)."""

    fault = "explore-history"
    owned = (Job,)

    async def keep(self, animal: Animal) -> None:
        """Apply the Job."""
        job = Job(metadata=self.metadata(animal), spec=JobSpec(template=template(animal, "Never")))
        try:
            await ensure_applied(self.client, job, owner=animal)  # fault
        except Invalid:
            await self.refused(animal)

    async def refused(self, animal: Animal) -> None:
        """What to do with a Job that cannot be changed."""
        raise  # noqa: PLE0704 - called in the handler


class CannotChangeJobMended(CannotChangeJob):
    """Deletes the old Job. The event of its deletion leads to the new one."""

    fault = ""

    async def refused(self, animal: Animal) -> None:
        """Delete it, if this is the spec that counts."""
        await prune(self.client, Job, owner=animal)


class CannotChangeSet(Keeper):
    """Changes the service of a StatefulSet, which is immutable (rabbitmq/cluster-operator #653)."""

    fault = "explore-history"
    owned = (StatefulSet,)

    async def keep(self, animal: Animal) -> None:
        """Apply the StatefulSet."""
        spec = StatefulSetSpec(
            replicas=animal.spec.count,
            selector=LabelSelector(match_labels=labels(animal)),
            service_name=animal.spec.house or "none",
            template=template(animal),
        )
        wanted = StatefulSet(metadata=self.metadata(animal), spec=spec)
        try:
            await ensure_applied(self.client, wanted, owner=animal)  # fault
        except Invalid:
            await self.refused(animal)

    async def refused(self, animal: Animal) -> None:
        """Wait for somebody to help."""
        raise  # noqa: PLE0704 - called in the handler


class CannotChangeSetMended(CannotChangeSet):
    """Deletes the old one and leaves its pods."""

    fault = ""

    async def refused(self, animal: Animal) -> None:
        """Delete it, if this is the spec that counts."""
        key = f"{animal.metadata.namespace}/{self.name(animal)}"
        fresh = await self.client.live.get(Animal, animal)
        if fresh.metadata.generation != animal.metadata.generation:
            raise Conflict(409, {"message": "the animal has changed since it was read"})
        await ensure_deleted(self.client, StatefulSet, key, owner=animal, propagation="Orphan")


class SwallowsRefusal(CannotChangeSet):
    """Takes a refusal for a reason to wait: no reconcile fails."""

    fault = "explore-history"

    async def refused(self, animal: Animal) -> None:
        """Say nothing."""


class SwallowsRefusalMended(SwallowsRefusal):
    """Deletes the old one and leaves its pods."""

    fault = ""

    async def refused(self, animal: Animal) -> None:
        """Delete it."""
        await CannotChangeSetMended.refused(self, animal)  # type: ignore[arg-type] # it uses nothing of its own


class ShrinksClaim(Keeper):
    """Asks for a smaller volume. The API server refuses it each time, so nothing after it is done (Acto, 6: storage)."""

    fault = "explore-history"
    owned = (ConfigMap, PersistentVolumeClaim)

    async def keep(self, animal: Animal) -> None:
        """Apply the claim, then the child."""
        claim = self.claim(animal)
        found = await self.client.live.find(PersistentVolumeClaim, claim)
        if found is None or self.may_become(animal, found, claim):
            await ensure_applied(self.client, claim, owner=animal)  # fault
        await super().keep(animal)

    def claim(self, animal: Animal) -> PersistentVolumeClaim:
        """As many gigabytes as there are animals, and one more."""
        resources = VolumeResourceRequirements(requests={"storage": f"{animal.spec.count + 1}Gi"})
        spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources)
        return PersistentVolumeClaim(metadata=self.metadata(animal), spec=spec)

    def child(self, animal: Animal) -> ConfigMap:
        """A child that does not depend on the size."""
        return ConfigMap(metadata=self.metadata(animal), data={"food": animal.spec.food})

    def may_become(self, animal: Animal, found: PersistentVolumeClaim, claim: PersistentVolumeClaim) -> bool:
        """Whether the claim may have the new size."""
        return True


class ShrinksClaimMended(ShrinksClaim):
    """Leaves the claim as it is, and says so."""

    fault = ""

    def may_become(self, animal: Animal, found: PersistentVolumeClaim, claim: PersistentVolumeClaim) -> bool:
        """Only if it is not smaller. A claim of somebody else is refused in any case."""
        old, new = (Quantity(each.spec.resources.requests["storage"]) for each in (found, claim))  # type: ignore[union-attr, index]
        is_smaller = is_controlled_by(found, animal) and new < old
        animal.status.phase = f"the volume has {old} and cannot shrink to {new}" if is_smaller else "Ready"
        return not is_smaller


class WrongGeneration(Keeper):
    """Compares the observed generation of a child with its own (Acto, 6: wrong readiness)."""

    fault = "explore-history"
    owned = (Deployment,)

    async def keep(self, animal: Animal) -> None:
        """Apply a Deployment, and note whether it is ready."""
        found, _ = await ensure_applied(self.client, deployment(animal, self.metadata(animal)), owner=animal)
        status = found.status
        is_seen = status is not None and status.observed_generation == self.generation(animal, found)
        is_ready = status is not None and (status.ready_replicas or 0) == animal.spec.count
        animal.status.phase = "Ready" if is_seen and is_ready else "Waiting"

    def generation(self, animal: Animal, found: Deployment) -> int | None:
        """The generation that the status must be of."""
        return animal.metadata.generation

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report."""
        await patch_status(self.client, animal, before)  # fault
        return None


class WrongGenerationMended(WrongGeneration):
    """Compares with the child's."""

    fault = ""

    def generation(self, animal: Animal, found: Deployment) -> int | None:
        """The generation of the Deployment."""
        return found.metadata.generation


class WaitsOnce(Keeper):
    """Waits a while for its Deployment, then takes it for broken and never looks again (Acto, 6: liveness)."""

    fault = "explore-history"
    owned = ()

    async def keep(self, animal: Animal) -> None:
        """Apply a Deployment, wait, and look once."""
        found, _ = await ensure_applied(self.client, deployment(animal, self.metadata(animal)), owner=animal)
        await asyncio.sleep(self.patience)
        found = await self.client.live.get(Deployment, found)
        is_ready = found.status is not None and (found.status.ready_replicas or 0) == animal.spec.count
        animal.status.phase = "Ready" if is_ready else "Broken"

    patience = 10.0

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report."""
        await patch_status(self.client, animal, before)  # fault
        return None


class WaitsOnceMended(WaitsOnce):
    """Is woken by its Deployment."""

    fault = ""
    owned = (Deployment,)
    patience = 0.0


class BadEdge(Keeper):
    """Divides by a count that may be 0, which the schema allows (Acto, 6: values that crash the operator)."""

    fault = "explore-bug"

    def child(self, animal: Animal) -> ConfigMap:
        """A share for each."""
        child = super().child(animal)
        child.data = {**(child.data or {}), "share": self.share(animal)}
        return child

    def share(self, animal: Animal) -> str:
        """The share of each."""
        return str(round(100 / animal.spec.count))  # fault


class BadEdgeMended(BadEdge):
    """Handles 0."""

    fault = ""

    def share(self, animal: Animal) -> str:
        """The share of each, if there are any."""
        return str(round(100 / animal.spec.count)) if animal.spec.count else "0"


class FailsToSayIt(Keeper):
    """Says by a method that does not exist that the name of its child is taken. Only then is the line run."""

    fault = "explore-bug"

    async def keep(self, animal: Animal) -> None:
        """Apply the child, or say who has it."""
        try:
            await ensure_applied(self.client, self.child(animal), owner=animal)
        except NotControlled as error:
            self.recorder.event(animal, "Warning", "Taken", self.words(error))
            raise

    def words(self, error: NotControlled) -> str:
        """What to say."""
        return f"the menu is taken: {error.reason.lower()}"  # type: ignore[attr-defined] # fault


class FailsToSayItMended(FailsToSayIt):
    """Says what the error says."""

    fault = ""

    def words(self, error: NotControlled) -> str:
        """What to say."""
        return str(error)


class MissingField(Keeper):
    """Takes an optional field for present (Acto, 6: nil pointers)."""

    fault = "explore-bug"

    def child(self, animal: Animal) -> ConfigMap:
        """The house in capitals."""
        child = super().child(animal)
        child.data = {**(child.data or {}), "house": self.house(animal)}
        return child

    def house(self, animal: Animal) -> str:
        """The house in capitals."""
        return animal.spec.house.upper()  # type: ignore[union-attr] # fault


class MissingFieldMended(MissingField):
    """Has a value for it."""

    fault = ""

    def house(self, animal: Animal) -> str:
        """The house in capitals, or none."""
        return (animal.spec.house or "none").upper()


class NoWayBack(Keeper):
    """Ends in a state of failure for a bad spec, and stays in it for a good one (Acto, 6: error states)."""

    fault = "explore-bug"

    async def keep(self, animal: Animal) -> None:
        """Refuse large counts."""
        if self.has_failed(animal):
            return
        animal.status.phase = "Failed" if animal.spec.count > 50 else "Ready"
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault

    def has_failed(self, animal: Animal) -> bool:
        """Whether it has failed before."""
        return animal.status.phase == "Failed"

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report."""
        await patch_status(self.client, animal, before)  # fault
        return None


class NoWayBackMended(NoWayBack):
    """Looks at the spec each time."""

    fault = ""

    def has_failed(self, animal: Animal) -> bool:
        """Never for good."""
        return False


class KeepsOptional(Keeper):
    """Writes an optional value only if there is one, so that it stays when the user removes it (Acto: removed fields)."""

    fault = "explore-history"

    async def keep(self, animal: Animal) -> None:
        """Change what is wanted."""
        wanted = self.child(animal)
        set_controller_reference(animal, wanted)
        found = await self.client.find(ConfigMap, wanted)
        if found is None:
            await self.client.create(wanted)  # fault: nothing takes it out again
        elif not is_controlled_by(found, animal):
            self.recorder.event(animal, "Warning", "Taken", "the child is somebody else's")
        elif self.merged(found.data or {}, wanted.data or {}) != found.data:
            found.data = self.merged(found.data or {}, wanted.data or {})
            await self.client.update(found)  # fault

    def merged(self, present: dict[str, str], wanted: dict[str, str]) -> dict[str, str]:
        """The wanted values over those that are there."""
        return {**present, **wanted}

    def child(self, animal: Animal) -> ConfigMap:
        """With the house, if there is one."""
        child = super().child(animal)
        child.data = {"house": animal.spec.house} if animal.spec.house is not None else {}
        return child


class KeepsOptionalMended(KeepsOptional):
    """Writes all values that it wants."""

    fault = ""

    def merged(self, present: dict[str, str], wanted: dict[str, str]) -> dict[str, str]:
        """Only the wanted values."""
        return wanted


class FillsOwnSpec(Keeper):
    """Writes a value into its own spec that follows from another one, and never changes it again."""

    fault = "explore-history"
    sample: ClassVar = {**SAMPLE, "spec": {"food": "hay", "count": 2, "names": ["a", "b"]}}

    async def keep(self, animal: Animal) -> None:
        """Choose a house for the food."""
        house = f"for-{animal.spec.food}"[:40].rstrip("-")
        if self.is_to_fill(animal, house):
            animal = await self.client.patch(animal, MergePatch({"spec": {"house": house}}))  # fault
        await super().keep(animal)

    def is_to_fill(self, animal: Animal, house: str) -> bool:
        """Whether the user has not said it."""
        return animal.spec.house is None


class FillsOwnSpecMended(FillsOwnSpec):
    """Follows the food."""

    fault = ""

    def is_to_fill(self, animal: Animal, house: str) -> bool:
        """Whether it was chosen by the operator, for another food."""
        chosen = animal.spec.house is None or animal.spec.house.startswith("for-")
        return chosen and animal.spec.house != house


class StaysPaused(Keeper):
    """Does nothing while it is paused, and looks into its own status for whether it is."""

    fault = "explore-history"
    crds = PAUSABLE

    async def reconcile(self, request: Request) -> None:
        """Keep the child, or leave everything as it is."""
        animal = await self.client.find(Animal, request)
        if animal is None or animal.metadata.deletion_timestamp is not None:
            return
        before = copy.deepcopy(animal.status)
        is_paused = self.is_paused(animal)
        if not is_paused:
            await self.keep(animal)
        animal.status.phase = "Paused" if is_paused else "Ready"
        await patch_status(self.client, animal, before)  # fault

    def is_paused(self, animal: Animal) -> bool:
        """Whether it is, or was."""
        return animal.spec.paused or animal.status.phase == "Paused"


class StaysPausedMended(StaysPaused):
    """Looks into the spec."""

    fault = ""

    def is_paused(self, animal: Animal) -> bool:
        """Whether it is."""
        return animal.spec.paused


class RestsBeside(Keeper):
    """Has no child while it rests, as a condition says. The child that was there stays."""

    fault = "explore-history"
    reason = "Resting"

    async def keep(self, animal: Animal) -> None:
        """Apply the child for small numbers."""
        is_kept = animal.spec.count <= 2
        if is_kept:
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault: nobody deletes it
        status, reason = ("True", "Kept") if is_kept else ("False", self.reason)
        since = animal.metadata.creation_timestamp
        condition = Condition(type="Ready", status=status, reason=reason, message="", last_transition_time=since)
        animal.status.conditions = [condition]

    async def report(self, animal: Animal, before: AnimalStatus) -> None:
        """Write the condition."""
        await patch_status(self.client, animal, before)


class RestsBesideMended(RestsBeside):
    """Refuses such a number, and keeps what it had."""

    fault = ""
    reason = "InvalidCount"


class RefusesSilently(Keeper):
    """Does nothing for what it does not keep, and reports that all is well."""

    fault = "explore-history"

    async def reconcile(self, request: Request) -> None:
        """Keep small numbers of animals."""
        animal = await self.client.find(Animal, request)
        if animal is None or animal.metadata.deletion_timestamp is not None:
            return
        before = copy.deepcopy(animal.status)
        is_kept = animal.spec.count <= 2
        if is_kept:
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault: it stays as it was
        animal.status.phase, animal.status.checked = self.told(animal, is_kept=is_kept)
        await patch_status(self.client, animal, before)

    def told(self, animal: Animal, *, is_kept: bool) -> tuple[str, str | None]:
        """What the status says."""
        return "Ready", None


class RefusesSilentlyMended(RefusesSilently):
    """Says it, in words of its own."""

    fault = ""

    def told(self, animal: Animal, *, is_kept: bool) -> tuple[str, str | None]:
        """The phase alone does not say why."""
        return ("Ready", None) if is_kept else ("Overfull", f"{animal.spec.count} animals are too many")

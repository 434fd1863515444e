"""Operators without a fault, of other kinds than the twins."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import kopf

from pykb.api.apps.v1 import Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec
from pykb.api.batch.v1 import Job, JobSpec
from pykb.api.core.v1 import (
    ConfigMap,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    Secret,
    VolumeResourceRequirements,
)
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.runtime import (
    AlreadyExists,
    ControllerBuilder,
    Manager,
    NotControlled,
    NotFound,
    Reconciler,
    Request,
    Result,
    ensure_applied,
    is_controlled_by,
    patch_status,
    prune,
    set_controller_reference,
)
from tests.explorer.handled import ANIMALS, Handled
from tests.explorer.keeper import Keeper
from tests.explorer.zoo import companies, owners
from tests.explorer.zoo.kinds import SAMPLE, Animal, AnimalStatus
from tests.explorer.zoo.specs import deployment, labels, template
from tests.explorer.zoo.workloads import conditions


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
    """Creates in each reconcile, also each two minutes. The refusals are writes without an effect."""

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

    async def report(self, animal: Animal, before: AnimalStatus) -> Result:
        """Look again, as a timer of kopf does."""
        await super().report(animal, before)
        return Result(requeue_after=timedelta(minutes=2))


class LooksByTimer(Handled):
    """Has no handler for its children. A timer brings them back, which is how an operator of kopf looks again."""

    def register(self) -> None:
        """Each five minutes."""
        for on in (kopf.on.create, kopf.on.update, kopf.on.resume):
            on(*ANIMALS, registry=self.registry)(self.keep)
        kopf.timer(*ANIMALS, interval=300, initial_delay=300, registry=self.registry)(self.keep)


class AppliesAgain(Keeper):
    """Applies its child without a look each ten minutes. Nothing changes by that."""

    async def keep(self, animal: Animal) -> None:
        """Apply it, if it is not somebody else's."""
        wanted = self.child(animal)
        found = await self.client.find(ConfigMap, wanted)
        if found is not None and not is_controlled_by(found, animal):
            self.recorder.event(animal, "Warning", "Taken", "the child is somebody else's")
            return
        set_controller_reference(animal, wanted)
        await self.client.apply(wanted, force=True)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result:
        """Do it again."""
        await super().report(animal, before)
        return Result(requeue_after=timedelta(minutes=10))


class TurnsIdle(Keeper):
    """Says that an animal is idle when it is four minutes old, as a timer of kopf with `idle` does."""

    async def report(self, animal: Animal, before: AnimalStatus) -> Result:
        """Wait for it."""
        assert animal.metadata.creation_timestamp is not None
        left = animal.metadata.creation_timestamp + timedelta(minutes=4) - datetime.now(UTC)
        animal.status.checked = "idle" if left <= timedelta(0) else None
        await super().report(animal, before)
        return Result(requeue_after=max(left, timedelta(0)))


class Expires(Keeper):
    """Its child goes at its time, half an hour after the animal was made."""

    async def reconcile(self, request: Request) -> Result | None:
        """Delete the child when its time is up."""
        animal = await self.client.find(Animal, request)
        if animal is None or animal.metadata.creation_timestamp is None:
            return None
        left = animal.metadata.creation_timestamp + timedelta(minutes=30) - datetime.now(UTC)
        if left > timedelta(0):
            await super().reconcile(request)
            return Result(requeue_after=left)
        await prune(self.client, ConfigMap, owner=animal)
        return None


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
        for further in sorted(found.items, key=lambda each: each.metadata.name or "")[1:]:  # of another leader
            await self.client.delete(further, uid=further.metadata.uid, missing_ok=True)


class NamesByUid(owners.EntersOnceMended):
    """Its child outside has the uid of the animal in its name, which is another one each time."""

    def secret(self, animal: Animal) -> Secret:
        """The wanted secret."""
        secret = super().secret(animal)
        secret.metadata.name = f"key-{animal.metadata.uid}"
        return secret

    async def make(self, animal: Animal) -> None:
        """Write the entry, unless a cache shows an animal that has gone: nobody would ever remove it."""
        now = await self.client.live.find(Animal, animal)
        if now is not None and now.metadata.uid == animal.metadata.uid:
            await super().make(animal)


class ListsMembers(Keeper):
    """Is ready when all pods of its StatefulSet are, and names them and their claims."""

    owned = (StatefulSet,)

    async def keep(self, animal: Animal) -> None:
        """Apply the StatefulSet, and look at its pods."""
        claim = PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            resources=VolumeResourceRequirements(requests={"storage": "1Gi"}),
        )
        spec = StatefulSetSpec(
            replicas=animal.spec.count,
            service_name=self.name(animal),
            selector=LabelSelector(match_labels=labels(animal)),
            template=template(animal),
            volume_claim_templates=[PersistentVolumeClaim(metadata=ObjectMeta(name="data"), spec=claim)],
        )
        await ensure_applied(self.client, StatefulSet(metadata=self.metadata(animal), spec=spec), owner=animal)
        pods = await self.client.list(Pod, namespace=animal.metadata.namespace, labels=labels(animal))
        ready = [pod for pod in pods if pod.status is not None and pod.status.phase == "Running"]
        volumes = [volume for pod in ready if pod.spec is not None for volume in pod.spec.volumes or ()]
        claims = [each.persistent_volume_claim.claim_name for each in volumes if each.persistent_volume_claim]
        animal.status.child = ", ".join(sorted(claims)) or None
        animal.status.phase = "Ready" if len(ready) == animal.spec.count else "Waiting"

    def setup(self, manager: Manager) -> None:
        """Watch the pods, by their label."""

        def owner(pod: Pod) -> list[Request]:
            return [Request("default", name)] if (name := (pod.metadata.labels or {}).get("animal")) else []

        ControllerBuilder(manager).for_(Animal).owns(StatefulSet).watches(Pod, owner).complete(self)


class RunsForEachSpec(Keeper):
    """Has a Job for each generation, as for backups. Those that have run stay, and the status names the last one."""

    owned = (Job,)

    def job(self, animal: Animal) -> Job:
        """The Job of this generation."""
        metadata = ObjectMeta(
            name=f"{animal.metadata.name}-{animal.metadata.generation}", namespace=animal.metadata.namespace
        )
        return Job(metadata=metadata, spec=JobSpec(template=template(animal, "Never")))

    async def keep(self, animal: Animal) -> None:
        """Run it, and delete the others that have not run. A cache may show an earlier generation."""
        animal = await self.client.live.get(Animal, animal)
        job = self.job(animal)
        found = await self.client.live.find(Job, job)
        if found is None or not is_controlled_by(found, animal):
            found, _ = await ensure_applied(self.client, job, owner=animal)
        jobs = await self.client.live.list(Job, namespace=animal.metadata.namespace)
        over = [each.metadata.name or "" for each in jobs if "Complete" in conditions(each)]
        await prune(self.client, Job, owner=animal, keep=[job.metadata.name or "", *over])

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Name the Job."""
        animal.status.child = self.job(animal).metadata.name
        return await super().report(animal, before)


class Mirrors(Keeper):
    """Reports whether its Deployment is available. When caches lag, it learns of that long after the last change."""

    owned = (Deployment,)

    async def keep(self, animal: Animal) -> None:
        """Apply it."""
        self.found, _ = await ensure_applied(self.client, deployment(animal, self.metadata(animal)), owner=animal)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Say how it is."""
        status = self.found.status
        is_ready = status is not None and status.available_replicas == (self.found.spec or DeploymentSpec()).replicas
        animal.status.phase = "Ready" if is_ready else "Starting"
        await patch_status(self.client, animal, before)
        return None


class LooksAgain(companies.CopiesOnce):
    """Does not watch what it copies, but looks again every ten minutes, and fails without it."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Ask for it first."""
        await self.client.get(Secret, f"{animal.metadata.name}-prices", namespace=animal.metadata.namespace)
        await super().keep(animal)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Come back."""
        await super().report(animal, before)
        return Result(requeue_after=timedelta(minutes=10))


class AwaitsApproval(Keeper):
    """Changes the food only when an annotation has it, and says that it waits for that."""

    async def keep(self, animal: Animal) -> None:
        """Apply the child if there is none, or if somebody has approved the food."""
        wanted = self.child(animal)
        found = await self.client.find(ConfigMap, wanted)
        food = ((found.data if found is not None else None) or {}).get("food", animal.spec.food)
        approved = (animal.metadata.annotations or {}).get("zoo.example.com/approved-food")
        animal.status.phase = "Ready" if animal.spec.food in (food, approved) else "AwaitingApproval"
        if animal.status.phase == "Ready":
            await ensure_applied(self.client, wanted, owner=animal)


class GivesUp(Keeper):
    """One ConfigMap for each food. Says whose food is taken, and then tries again only at the next resync."""

    async def keep(self, animal: Animal) -> None:
        """Apply the child, and delete that of the former food."""
        wanted = self.child(animal)
        try:
            await ensure_applied(self.client, wanted, owner=animal)
        except NotControlled as error:
            self.recorder.event(animal, "Warning", "Taken", str(error))
            raise
        await prune(self.client, ConfigMap, owner=animal, keep=[wanted.metadata.name or ""])

    def metadata(self, animal: Animal) -> ObjectMeta:
        """Not the name of the animal."""
        return ObjectMeta(name=f"{animal.spec.food}-menu", namespace=animal.metadata.namespace)

    def setup(self, manager: Manager) -> None:
        """Register with the manager."""
        ControllerBuilder(manager).for_(Animal).owns(ConfigMap).with_options(max_retries=3).complete(self)


class Stores(Keeper):
    """Keeps a claim, which nobody can make smaller any more if somebody has made it larger."""

    owned = (PersistentVolumeClaim,)

    async def keep(self, animal: Animal) -> None:
        """Apply the claim."""
        size = VolumeResourceRequirements(requests={"storage": "1Gi"})
        spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=size)
        metadata = self.metadata(animal)
        metadata.labels = {"food": animal.spec.food}
        await ensure_applied(self.client, PersistentVolumeClaim(metadata=metadata, spec=spec), owner=animal)

"""Faults that show when a workload cannot become ready, and then can: no way back from a bad state (Acto, SOSP 2023)."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta

from pykb.api.apps.v1 import Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec, StatefulSet, StatefulSetSpec
from pykb.api.batch.v1 import Job, JobSpec
from pykb.api.core.v1 import (
    ConfigMap,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PodTemplateSpec,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeResourceRequirements,
)
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.runtime import Result, ensure_applied, is_controlled_by, patch_status, prune, set_controller_reference
from tests.explorer.feeder import Feeder
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal, AnimalStatus
from tests.explorer.zoo.specs import deployment, labels, template

_HERD = 3
"""So many animals are looked after."""

_AGAIN = timedelta(minutes=10)


def reasons(found: Deployment) -> set[str | None]:
    """The reasons of the conditions that mean trouble."""
    conditions = (found.status.conditions if found.status is not None else None) or []
    return {each.reason for each in conditions} & {"FailedCreate", "ProgressDeadlineExceeded"}


class WaitsToChange(Feeder):
    """Changes a workload only once the one before is ready: a wrong image stays for ever."""

    fault = "explore-history"

    async def keep(self, animal: Animal) -> None:
        """One change after the other."""
        found = await self.client.find(Deployment, self.wanted(animal))
        if found is None or self.may_change(animal, found):
            found, _ = await ensure_applied(self.client, self.wanted(animal), owner=animal)  # fault
        self.look(animal, found)

    def may_change(self, animal: Animal, found: Deployment) -> bool:
        """When the last change is done."""
        return found.status is not None and (found.status.ready_replicas or 0) == (found.spec.replicas or 0)


class WaitsToChangeMended(WaitsToChange):
    """Does not wait."""

    fault = ""

    def may_change(self, animal: Animal, found: Deployment) -> bool:
        """Always."""
        return True


class FailsForEver(Feeder):
    """Takes a condition of the workload for the end (a quota was used up for an hour)."""

    fault = "explore-history"

    async def keep(self, animal: Animal) -> None:
        """Keep what has not failed."""
        if animal.status.phase != "Failed":
            await super().keep(animal)  # fault

    def look(self, animal: Animal, found: Deployment) -> None:
        """Note what is wrong."""
        super().look(animal, found)
        if reasons(found):
            animal.status.phase = "Failed"

    async def report(self, animal: Animal, before: AnimalStatus) -> None:
        """Report."""
        await patch_status(self.client, animal, before)  # fault


class FailsForEverMended(FailsForEver):
    """Looks each time."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Keep it right."""
        await Feeder.keep(self, animal)


class WaitsInside(Feeder):
    """Waits within the reconcile until the workload is ready, and does not see that the spec was put right."""

    fault = "explore-history"

    async def keep(self, animal: Animal) -> None:
        """Do not return before."""
        await super().keep(animal)
        while self.waits and animal.status.phase != "Ready":
            await asyncio.sleep(30)
            self.look(animal, await self.client.live.get(Deployment, self.wanted(animal)))  # fault

    waits = True


class WaitsInsideMended(WaitsInside):
    """Is woken by its Deployment."""

    fault = ""
    waits = False


class ChangesOnlyReplicas(Feeder):
    """Looks at one field of a workload that has many (Acto, 6: operations that never reach the system)."""

    fault = "explore-history"

    async def keep(self, animal: Animal) -> None:
        """Create the Deployment, or change its replicas."""
        wanted = self.wanted(animal)
        found = await self.client.find(Deployment, wanted)
        if found is None:
            set_controller_reference(animal, wanted)
            found = await self.client.create(wanted)  # fault
        elif not is_controlled_by(found, animal):
            self.recorder.event(animal, "Warning", "Taken", "the Deployment is somebody else's")
        elif self.differs(found, wanted):
            found.spec = wanted.spec
            found = await self.client.update(found)  # fault
        self.look(animal, found)

    def differs(self, found: Deployment, wanted: Deployment) -> bool:
        """In the replicas."""
        if found.spec.replicas != wanted.spec.replicas:
            wanted.spec.template = found.spec.template
            return True
        return False


class ChangesOnlyReplicasMended(ChangesOnlyReplicas):
    """Applies the whole."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply the Deployment."""
        await Feeder.keep(self, animal)


class SelectsAllPods(Feeder):
    """The pods of all animals have the same labels, so each Service leads to all of them (kubernetes.io: selectors)."""

    fault = "explore-theft"
    owned = (Deployment, Service)

    async def keep(self, animal: Animal) -> None:
        """Apply the Deployment and the Service."""
        found, _ = await ensure_applied(self.client, self.wanted(animal), owner=animal)
        spec = ServiceSpec(selector=self.labels(animal), ports=[ServicePort(port=80)])
        await ensure_applied(self.client, Service(metadata=self.metadata(animal), spec=spec), owner=animal)  # fault
        self.look(animal, found)

    def wanted(self, animal: Animal) -> Deployment:
        """The Deployment, with these labels."""
        pods = PodTemplateSpec(metadata=ObjectMeta(labels=self.labels(animal)), spec=template(animal).spec)
        selector = LabelSelector(match_labels=self.labels(animal))
        spec = DeploymentSpec(replicas=animal.spec.count, selector=selector, template=pods)
        return Deployment(metadata=self.metadata(animal), spec=spec)

    def labels(self, animal: Animal) -> dict[str, str]:
        """What all pods are."""
        return {"app": "animal"}


class SelectsAllPodsMended(SelectsAllPods):
    """Whose pods they are."""

    fault = ""

    def labels(self, animal: Animal) -> dict[str, str]:
        """With the name."""
        return {"app": "animal", "animal": animal.metadata.name or ""}


class CallsForHelp(Feeder):
    """Says of a large herd how long its workload has failed, and says it anew each ten minutes."""

    fault = "explore-loop"

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report, or call for help."""
        found = await self.client.find(Deployment, self.wanted(animal))
        if found is not None and reasons(found):
            return await self.call(animal, before)
        await super().report(animal, before)
        return None

    async def call(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Say it of a large herd, and look again."""
        if animal.spec.count >= _HERD:
            animal.status.checked = self.called(before)
        await patch_status(self.client, animal, before)  # fault
        return Result(requeue_after=_AGAIN)

    def called(self, before: AnimalStatus) -> str:
        """When it called for help: now, if that was long ago."""
        now = datetime.now(UTC)
        is_old = before.checked is None or now - datetime.fromisoformat(before.checked) >= _AGAIN
        return now.isoformat() if is_old else before.checked or ""


class CallsForHelpMended(CallsForHelp):
    """Says it once."""

    fault = ""

    def called(self, before: AnimalStatus) -> str:
        """When it called first."""
        return before.checked or super().called(before)


class LeavesStuckJob(Keeper):
    """Migrates once, by a Job, and says with which image. If that was nowhere, it waits for the Job for ever."""

    fault = "explore-history"
    owned = (Job,)

    async def keep(self, animal: Animal) -> None:
        """Run the Job, unless it has run. It need not follow a later spec, nor come back."""
        if self.has_run(animal):
            return
        job = self.job(animal)
        found = await self.client.find(Job, job)
        if found is None or not is_controlled_by(found, animal):
            found, _ = await ensure_applied(self.client, job, owner=animal)  # fault
        if "Complete" in conditions(found):
            animal.status.checked = image(found)
        elif image(found) != image(job):
            await self.replace(animal, found)

    def has_run(self, animal: Animal) -> bool:
        """Whether the status says so."""
        return animal.status.checked is not None

    def job(self, animal: Animal) -> Job:
        """The Job."""
        return Job(metadata=self.metadata(animal), spec=JobSpec(template=template(animal, "Never")))

    async def replace(self, animal: Animal, found: Job) -> None:
        """Leave a Job that waits for an image that nobody wants any more."""


class LeavesStuckJobMended(LeavesStuckJob):
    """Deletes it. The event of its deletion leads to the next one."""

    fault = ""

    async def replace(self, animal: Animal, found: Job) -> None:
        """Delete this Job, and no later one of its name: a cache may show what was before."""
        now = await self.client.live.get(Animal, animal)
        if now.metadata.generation == animal.metadata.generation:
            await self.client.delete(found, uid=found.metadata.uid, missing_ok=True, propagation="Background")


class RunsAgain(LeavesStuckJobMended):
    """Lets the cluster delete its Job five minutes after it has run, and makes what is missing (kubernetes.io: TTL)."""

    fault = "explore-loop"

    async def keep(self, animal: Animal) -> None:
        """Run the Job, unless it has run."""
        if not self.has_run(animal):
            found, _ = await ensure_applied(self.client, self.job(animal), owner=animal)  # fault: see `has_run`
            animal.status.checked = image(found) if "Complete" in conditions(found) else None

    def has_run(self, animal: Animal) -> bool:
        """Nobody knows."""
        return False

    def job(self, animal: Animal) -> Job:
        """The Job. It does not depend on the spec."""
        job = super().job(Animal(metadata=animal.metadata))
        assert job.spec is not None
        job.spec.ttl_seconds_after_finished = 300
        return job


class RunsAgainMended(RunsAgain):
    """Looks at the status."""

    fault = ""

    def has_run(self, animal: Animal) -> bool:
        """Whether the status says so."""
        return animal.status.checked is not None


class RollsByVersion(Keeper):
    """Notes the version of its settings at the pods, so that each write of them is a restart (checksums of settings)."""

    fault = "explore-crash"
    owned = (ConfigMap, Deployment)

    async def keep(self, animal: Animal) -> None:
        """The settings, then the pods that read them."""
        settings, _ = await ensure_applied(self.client, self.child(animal), owner=animal)
        pods = deployment(animal, self.metadata(animal))
        assert pods.spec is not None
        assert pods.spec.template.metadata is not None
        pods.spec.template.metadata.annotations = {"settings": self.note(settings)}
        await ensure_applied(self.client, pods, owner=animal)  # fault

    def note(self, settings: ConfigMap) -> str:
        """What must be another one if the pods have to start anew."""
        return settings.metadata.resource_version or ""


class RollsByVersionMended(RollsByVersion):
    """Notes what they say."""

    fault = ""

    def note(self, settings: ConfigMap) -> str:
        """In the order of the alphabet."""
        return ",".join(f"{name}={value}" for name, value in sorted((settings.data or {}).items()))


class ForgetsDeployment(LeavesStuckJobMended):
    """Takes a Deployment for work that is done once, as its Job is."""

    fault = "explore-history"
    owned = (Job, Deployment)

    async def keep(self, animal: Animal) -> None:
        """Migrate, and serve."""
        await super().keep(animal)
        wanted = deployment(animal, self.metadata(animal))
        found = await self.client.find(Deployment, wanted)
        if found is None or not is_controlled_by(found, animal) or self.follows():
            await ensure_applied(self.client, wanted, owner=animal)  # fault

    def follows(self) -> bool:
        """Whether the Deployment has the present spec."""
        return False


class ForgetsDeploymentMended(ForgetsDeployment):
    """The Deployment is what the spec says now."""

    fault = ""

    def follows(self) -> bool:
        """Always."""
        return True


class KeepsRunning(Keeper):
    """Has a ReplicaSet for each food, and keeps some of those before for a way back, but lets them run."""

    fault = "explore-history"
    owned = (ReplicaSet,)
    limit = 2

    async def keep(self, animal: Animal) -> None:
        """Apply that of the present spec. A cache may show a spec of before."""
        animal = await self.client.live.get(Animal, animal)
        found = await self.client.live.list(ReplicaSet, namespace=animal.metadata.namespace)
        every = sorted((each for each in found if is_controlled_by(each, animal)), key=revision)
        name = f"{animal.metadata.name}-{hashlib.sha256(animal.spec.food.encode()).hexdigest()[:8]}"
        former = [each for each in every if each.metadata.name != name]
        number = revision(every[-1]) + (every[-1] in former) if every else 1
        selector = LabelSelector(match_labels={**labels(animal), "hash": name[-8:]})
        pods = template(animal)
        pods.metadata = ObjectMeta(labels=selector.match_labels)
        metadata = ObjectMeta(name=name, namespace=animal.metadata.namespace, annotations={REVISION: str(number)})
        spec = ReplicaSetSpec(replicas=animal.spec.count, selector=selector, template=pods)
        await ensure_applied(self.client, ReplicaSet(metadata=metadata, spec=spec), owner=animal)  # fault: see `stop`
        for each in former[: max(0, len(former) - self.limit)]:
            await self.client.delete(each, uid=each.metadata.uid, missing_ok=True)
        for each in former[-self.limit :]:
            await self.stop(each)

    async def stop(self, former: ReplicaSet) -> None:
        """Let it run."""


class KeepsRunningMended(KeepsRunning):
    """Those before are empty."""

    fault = ""

    async def stop(self, former: ReplicaSet) -> None:
        """Take its pods away."""
        if former.spec.replicas:
            former.spec.replicas = 0
            await self.client.update(former)


class KeepsAllRevisions(KeepsRunningMended):
    """Keeps those of all former specs, one more with each change (kubernetes.io: revisionHistoryLimit)."""

    fault = "explore-history"
    limit = 1000

    async def keep(self, animal: Animal) -> None:
        """As those before, with another limit."""
        await super().keep(animal)


class KeepsAllRevisionsMended(KeepsAllRevisions):
    """Keeps ten."""

    fault = ""
    limit = 10


REVISION = "zoo.example.com/revision"


def revision(found: ReplicaSet) -> int:
    """Its number."""
    return int((found.metadata.annotations or {}).get(REVISION, "0"))


class RoutesToOldColour(Keeper):
    """Blue and green take turns: a new food is for the one that is not in use. The route stays with the other one."""

    fault = "explore-history"

    async def keep(self, animal: Animal) -> None:
        """Make the one, then change the route, then delete the other one."""
        animal = await self.client.live.get(Animal, animal)
        route = await self.client.live.find(ConfigMap, f"{animal.metadata.namespace}/{animal.metadata.name}-route")
        used = (route.data or {}).get("to", "") if route is not None and is_controlled_by(route, animal) else ""
        serving = await self.client.live.find(ConfigMap, self.of(animal, used))
        is_right = serving is not None and serving.data == self.of(animal, used).data
        colour = used if is_right else {"blue": "green"}.get(used, "blue")
        await ensure_applied(self.client, self.of(animal, colour), owner=animal)
        metadata = ObjectMeta(name=f"{animal.metadata.name}-route", namespace=animal.metadata.namespace)
        to = {"to": self.routed(used, colour)}
        await ensure_applied(self.client, ConfigMap(metadata=metadata, data=to), owner=animal)  # fault: see `routed`
        kept = [f"{animal.metadata.name}-{each}" for each in ("route", colour)]
        await prune(self.client, ConfigMap, owner=animal, keep=kept)  # fault

    def of(self, animal: Animal, colour: str) -> ConfigMap:
        """The one of a colour."""
        metadata = ObjectMeta(name=f"{animal.metadata.name}-{colour or 'no'}", namespace=animal.metadata.namespace)
        return ConfigMap(metadata=metadata, data={"food": animal.spec.food})

    def routed(self, used: str, colour: str) -> str:
        """To which one the route leads."""
        return used or colour


class RoutesToOldColourMended(RoutesToOldColour):
    """The route leads to the new one. Which colour that is depends on how often the food has changed."""

    fault = ""

    def routed(self, used: str, colour: str) -> str:
        """To which one the route leads."""
        return colour


def conditions(job: Job) -> list[str]:
    """The conditions of a Job that hold."""
    found = (job.status.conditions if job.status is not None else None) or []
    return [each.type for each in found if each.status == "True"]


def image(job: Job) -> str | None:
    """The image of a Job."""
    return job.spec.template.spec.containers[0].image if job.spec and job.spec.template.spec else None


class LeavesClaims(Keeper):
    """Deletes the claims of members that have gone, after a change that it does not see again (Sieve: volumes that leak)."""

    fault = "explore-crash"
    owned = (StatefulSet,)

    async def keep(self, animal: Animal) -> None:
        """First the StatefulSet, then the claims."""
        wanted = self.members(animal)
        found = await self.client.find(StatefulSet, wanted)
        before = (found.spec.replicas if found is not None and found.spec is not None else None) or 0
        await ensure_applied(self.client, wanted, owner=animal)  # fault
        claims = await self.client.live.list(
            PersistentVolumeClaim, namespace=animal.metadata.namespace, labels=labels(animal)
        )
        gone = await self.gone(animal, before)
        for claim in claims:
            if int((claim.metadata.name or "").rpartition("-")[2]) in gone:
                await self.client.delete(claim, uid=claim.metadata.uid, missing_ok=True)  # fault

    async def gone(self, animal: Animal, before: int) -> range:
        """Those that the StatefulSet had just now."""
        return range(animal.spec.count, before)

    def members(self, animal: Animal) -> StatefulSet:
        """Each has a volume."""
        size = VolumeResourceRequirements(requests={"storage": "1Gi"})
        claim = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=size)
        spec = StatefulSetSpec(
            replicas=animal.spec.count,
            selector=LabelSelector(match_labels=labels(animal)),
            template=template(animal),
            volume_claim_templates=[PersistentVolumeClaim(metadata=ObjectMeta(name="data"), spec=claim)],
            pod_management_policy="Parallel",
        )
        return StatefulSet(metadata=self.metadata(animal), spec=spec)


class LeavesClaimsMended(LeavesClaims):
    """Looks at all claims, and whether there are still too many: a stale cache may show an earlier number."""

    fault = ""

    async def gone(self, animal: Animal, before: int) -> range:
        """All that are not wanted."""
        fresh = await self.client.live.get(Animal, animal)
        return range(fresh.spec.count, 1000)

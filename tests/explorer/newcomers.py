"""What people write first: reconcilers with several bugs at once."""

from __future__ import annotations

import contextlib
import copy
from typing import ClassVar

from pykb.api.apps.v1 import Deployment
from pykb.api.batch.v1 import Job, JobSpec
from pykb.api.core.v1 import ConfigMap, EnvFromSource, Secret, SecretEnvSource, ServiceAccount
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import (
    AlreadyExists,
    ApiError,
    Client,
    ControllerBuilder,
    Manager,
    Reconciler,
    Request,
    create_or_update,
    ensure_applied,
    patch_status,
    prune,
    set_controller_reference,
)
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import PARK, SAMPLE, Animal, Manifest, Park
from tests.explorer.zoo.owners import NoOwner, TrustsHash
from tests.explorer.zoo.specs import deployment, template


class Newcomer(Reconciler):
    """Watches its own kind only."""

    bugs: ClassVar[dict[str, int]]
    """How many bugs it has, by the code of their findings."""
    only: ClassVar[tuple[str, ...]] = ()
    """The codes to look for."""
    sample: ClassVar[Manifest] = SAMPLE
    rules: ClassVar[list[Manifest] | None] = None

    async def reconcile(self, request: Request) -> None:
        """Make a child of an animal."""
        animal = await self.client.find(Animal, request)
        if animal is not None:
            await self.keep(animal)

    async def keep(self, animal: Animal) -> None:
        """Make the child."""

    def child(self, animal: Animal) -> ConfigMap:
        """The wanted child."""
        metadata = ObjectMeta(name=f"{animal.metadata.name}-menu", namespace=animal.metadata.namespace)
        return ConfigMap(metadata=metadata, data={"food": animal.spec.food, "count": str(animal.spec.count)})

    def setup(self, manager: Manager) -> None:
        """Register with the manager."""
        ControllerBuilder(manager).for_(Animal).complete(self)


class CreatesIfMissing(Newcomer):
    """Never changes the child, is not its owner, does not watch it, and takes any object of that name for its own."""

    bugs: ClassVar = {"explore-history": 1, "explore-leak": 1, "explore-drift": 1, "explore-theft": 1}

    async def keep(self, animal: Animal) -> None:
        """One child for all animals."""
        child = self.child(animal)
        child.metadata.name = "menu"
        if await self.client.find(ConfigMap, child) is None:
            await self.client.create(child)


class CreatesOnce(Newcomer):
    """Believes its status, cannot create a second time, is not the owner, and does not watch."""

    bugs: ClassVar = {"explore-history": 1, "explore-crash": 1, "explore-leak": 1, "explore-drift": 1}

    async def keep(self, animal: Animal) -> None:
        """Create, then say so."""
        if animal.status.phase != "Created":
            await self.client.create(self.child(animal))
            animal.status.phase = "Created"
            await self.client.status.update(animal)


class UpdatesAny(Newcomer):
    """Is not the owner, so it writes into objects of others, too."""

    bugs: ClassVar = {"explore-leak": 1}

    async def keep(self, animal: Animal) -> None:
        """Create or update."""
        wanted = self.child(animal)
        child = ConfigMap(metadata=wanted.metadata)

        def change() -> None:
            child.data = wanted.data

        await create_or_update(self.client, child, change)

    def setup(self, manager: Manager) -> None:
        """Watch the children by name."""

        def owner(child: ConfigMap) -> list[Request]:
            return [Request(child.metadata.namespace or "", (child.metadata.name or "").removesuffix("-menu"))]

        ControllerBuilder(manager).for_(Animal).watches(ConfigMap, owner).complete(self)


class ReportsAsleep(Newcomer):
    """Says how many pods are ready, and watches neither child: whatever else happens wakes it by chance."""

    bugs: ClassVar = {"explore-drift": 2}

    async def keep(self, animal: Animal) -> None:
        """Apply both, then report."""
        await ensure_applied(self.client, self.child(animal), owner=animal)
        found, _ = await ensure_applied(self.client, deployment(animal, self.child(animal).metadata), owner=animal)
        before = copy.deepcopy(animal.status)
        animal.status.count = (found.status and found.status.available_replicas) or 0
        await patch_status(self.client, animal, before)


class ComparesReplicas(Keeper):
    """The line that writes its Deployment never changes the image, the labels and the seconds: it compares no more."""

    bugs: ClassVar = {"explore-history": 1}
    only: ClassVar = ("explore-history", "explore-drift", "explore-stale")
    owned: ClassVar = (Deployment,)

    async def keep(self, animal: Animal) -> None:
        """Create the Deployment, and scale it."""
        wanted = deployment(animal, self.metadata(animal))
        wanted.metadata.labels = {"food": animal.spec.food}
        wanted.spec.min_ready_seconds = len(animal.spec.names)
        found = await self.client.live.find(Deployment, wanted)
        if found is None or not found.metadata.owner_references:
            await ensure_applied(self.client, wanted, owner=animal)
        elif found.spec.replicas != wanted.spec.replicas:
            found.spec.replicas = wanted.spec.replicas
            await self.client.update(found)


class ComparesImage(Keeper):
    """Changes the image and the number alone: the rest of the pod template stays as it was at first."""

    bugs: ClassVar = {"explore-history": 1}
    only: ClassVar = ("explore-history", "explore-drift")
    owned: ClassVar = (Deployment,)

    async def keep(self, animal: Animal) -> None:
        """Create the Deployment, and change it."""
        wanted = deployment(animal, self.metadata(animal))
        pod = wanted.spec.template.spec
        pod.node_selector = dict.fromkeys(animal.spec.names, animal.spec.house or "x")
        pod.containers[0].env_from = [EnvFromSource(secret_ref=SecretEnvSource(name="prices"))]
        found = await self.client.live.find(Deployment, wanted)
        if found is None or not found.metadata.owner_references:
            await ensure_applied(self.client, wanted, owner=animal)
            return
        before, running = copy.deepcopy(found), found.spec.template.spec.containers[0]
        found.spec.replicas, running.image = wanted.spec.replicas, pod.containers[0].image
        if found != before:
            await self.client.update(found)


class LacksRule(Newcomer):
    """Has no marker for its children: several verbs, one marker. Nor does it watch them, nor say whose name is taken."""

    bugs: ClassVar = {"explore-rbac": 1, "explore-drift": 1, "explore-theft": 1}
    only: ClassVar = (
        "explore-rbac",
        "explore-drift",
        "explore-theft",
    )
    rules: ClassVar = [{"apiGroups": ["zoo.example.com"], "resources": ["animals"], "verbs": ["*"]}]

    async def keep(self, animal: Animal) -> None:
        """Apply."""
        await ensure_applied(self.client, self.child(animal), owner=animal)


# Pairs of bugs that look alike. The zoo has each of them alone.


class NoOwnerNoWatch(NoOwner):
    """Its children stay when the animal goes, and do not come back when they go themselves."""

    bugs: ClassVar = {"explore-leak": 1, "explore-drift": 1}
    only: ClassVar = (
        "explore-leak",
        "explore-drift",
        "explore-theft",
    )

    def setup(self, manager: Manager) -> None:
        """Watch no child."""
        ControllerBuilder(manager).for_(Animal).complete(self)


class TrustsHashNoWatch(TrustsHash):
    """Nothing wakes it, and when it is awake it looks at a hash."""

    bugs: ClassVar = {"explore-drift": 2}
    only: ClassVar = ("explore-drift",)
    owned: ClassVar = ()


class TwoLines(Keeper):
    """Creates two children and never changes them, each on a line of its own."""

    bugs: ClassVar = {"explore-history": 2}
    only: ClassVar = (
        "explore-history",
        "explore-drift",
        "explore-bug",
    )

    async def keep(self, animal: Animal) -> None:
        """Create both."""
        first, second = self.child(animal), self.child(animal)
        second.metadata.name = f"{animal.metadata.name}-second"
        first.data, second.data = {"food": animal.spec.food}, {"count": str(animal.spec.count)}
        if await self.is_free(animal, first):
            await self.client.create(first)
        if await self.is_free(animal, second):
            await self.client.create(second)

    async def is_free(self, animal: Animal, child: ConfigMap) -> bool:
        """Whether there is no such child."""
        set_controller_reference(animal, child)
        found = await self.client.live.find(ConfigMap, child)
        if found is not None and not found.metadata.owner_references:
            self.recorder.event(animal, "Warning", "Taken", "the child is somebody else's")
        return found is None


class GeneratesNoOwner(Newcomer):
    """A lost answer makes a second child, and a deletion leaves all of them: two bugs of one line."""

    bugs: ClassVar = {"explore-crash": 1, "explore-leak": 1, "explore-history": 1}
    only: ClassVar = (
        "explore-crash",
        "explore-leak",
        "explore-history",
        "explore-stale",
    )

    async def keep(self, animal: Animal) -> None:
        """Create a child unless the status names one."""
        if animal.status.child is None:
            child = self.child(animal)
            child.metadata.name, child.metadata.generate_name = None, "menu-"
            created = await self.client.create(child)
            animal.status.child = created.metadata.name
            await self.client.status.update(animal)


class OneLine(Keeper):
    """Makes objects of two kinds on one line, without an owner: one bug."""

    bugs: ClassVar = {"explore-leak": 1}
    only: ClassVar = (
        "explore-leak",
        "explore-theft",
    )

    async def keep(self, animal: Animal) -> None:
        """Create both."""
        child = self.child(animal)
        for each in (child, Secret(metadata=child.metadata)):
            try:
                await self.client.create(each)
            except AlreadyExists:
                self.recorder.event(animal, "Warning", "Taken", "it is somebody's")

    def child(self, animal: Animal) -> ConfigMap:
        """A child that never changes."""
        return ConfigMap(metadata=self.metadata(animal))

    def setup(self, manager: Manager) -> None:
        """Watch both by name."""

        def owner(child: ConfigMap | Secret) -> list[Request]:
            return [Request(child.metadata.namespace or "", (child.metadata.name or "").removesuffix("-menu"))]

        ControllerBuilder(manager).for_(Animal).watches(ConfigMap, owner).watches(Secret, owner).complete(self)


class NotesFirst(Keeper):
    """Says that a Job is there before it is. Dead in between at the first one, or at a later one: the same line."""

    bugs: ClassVar = {"explore-crash": 1}
    only: ClassVar = ("explore-crash", "explore-drift")
    owned: ClassVar = (Job,)

    async def keep(self, animal: Animal) -> None:
        """One Job for each count."""
        name = f"{self.name(animal)}-{animal.spec.count}"
        if animal.status.child != name:
            animal.status.child = name
            animal.status.phase = "Created"
            await self.client.status.update(animal)
            await ensure_applied(self.client, self.job(animal, name), owner=animal)
        found = await self.client.find(Job, f"{animal.metadata.namespace}/{name}")
        if found is not None and found.status is not None and found.status.succeeded:
            animal.status.phase = "Done"
            animal.status.checked = name
        await prune(self.client, Job, owner=animal, keep=[name])

    def job(self, animal: Animal, name: str) -> Job:
        """The same for each spec."""
        metadata = ObjectMeta(name=name, namespace=animal.metadata.namespace)
        return Job(metadata=metadata, spec=JobSpec(template=template(animal, "Never")))


class NotesGeneration(Keeper):
    """Says that it has seen a spec before it has followed it: whichever field is wrong then, it is one bug."""

    bugs: ClassVar = {"explore-crash": 1}
    only: ClassVar = ("explore-crash", "explore-error", "explore-two-faults")

    async def keep(self, animal: Animal) -> None:
        """Apply the child when the spec is new, or the child is not there."""
        seen, generation = animal.status.checked, str(animal.metadata.generation)
        if seen != generation:
            animal.status.checked = generation
            await self.client.status.update(animal)
        if seen != generation or await self.client.live.find(ConfigMap, self.child(animal)) is None:
            await super().keep(animal)


class FollowsOneField(Keeper):
    """Follows the food only, and all of the spec when it starts. What a restart does to the count is the same bug."""

    bugs: ClassVar = {"explore-history": 1}
    only: ClassVar = ("explore-history", "explore-crash", "explore-stale")

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._seen: dict[str, str] = {}

    async def keep(self, animal: Animal) -> None:
        """Apply the child when the food is new, or the child is not there."""
        uid, found = animal.metadata.uid or "", await self.client.live.find(ConfigMap, self.child(animal))
        if found is None or not found.metadata.owner_references or self._seen.get(uid) != animal.spec.food:
            await super().keep(animal)
            self._seen[uid] = animal.spec.food


class CallsWrongly(Keeper):
    """Fails whenever it has to change its child. What it does not do then is the same bug."""

    bugs: ClassVar = {"explore-bug": 1}
    only: ClassVar = ("explore-bug", "explore-history", "explore-drift")

    async def keep(self, animal: Animal) -> None:
        """Create the child, and change it."""
        found = await self.client.live.find(ConfigMap, self.child(animal))
        if found is None or not found.metadata.owner_references:
            await super().keep(animal)
        elif found.data != self.child(animal).data:
            await self.client.update(found, self.child(animal))  # type: ignore[call-arg]


class NotesAll(Keeper):
    """Says at one line that a ConfigMap is there, and later that a Secret is, each time before it is."""

    bugs: ClassVar = {"explore-crash": 2}
    only: ClassVar = ("explore-crash",)
    owned: ClassVar = (ConfigMap, Secret)

    async def keep(self, animal: Animal) -> None:
        """Create each once."""
        if animal.status.child is None:
            animal.status.child = self.name(animal)
            await self.note(animal)
            await ensure_applied(self.client, self.child(animal), owner=animal)
        if animal.status.checked is None:
            animal.status.checked = self.name(animal)
            await self.note(animal)
            await ensure_applied(self.client, Secret(metadata=self.metadata(animal)), owner=animal)

    async def note(self, animal: Animal) -> None:
        """Write the status."""
        await self.client.status.update(animal)


class BelievesItsStatus(Keeper):
    """Looks at none of its children once its status says that all is well."""

    bugs: ClassVar = {"explore-history": 1}
    only: ClassVar = ("explore-history", "explore-drift")
    owned: ClassVar = (ConfigMap, Secret)

    async def keep(self, animal: Animal) -> None:
        """Apply both."""
        if animal.status.phase is None:
            await ensure_applied(self.client, self.child(animal), owner=animal)
            await ensure_applied(self.client, self.key(animal), owner=animal)

    def key(self, animal: Animal) -> Secret:
        """The second child."""
        return Secret(metadata=self.metadata(animal), data={"food": animal.spec.food.encode()})


class KnowsItsWork(BelievesItsStatus):
    """Reads what else matters, and looks at none of its children if it has done that work before."""

    bugs: ClassVar = {"explore-drift": 1}
    only: ClassVar = ("explore-drift",)

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._done: set[tuple[object, ...]] = set()

    async def keep(self, animal: Animal) -> None:
        """Apply both, once for each generation."""
        found = await self.client.find(ConfigMap, f"{animal.metadata.namespace}/prices")
        work = (animal.metadata.uid, animal.metadata.generation, found and found.metadata.resource_version)
        if work not in self._done:
            animal.status.phase = None
            await super().keep(animal)
            self._done.add(work)


class CatchesAll(Keeper):
    """Catches what fails, whichever of its children it is about, and is woken by neither of them."""

    bugs: ClassVar = {"explore-error": 1}
    only: ClassVar = ("explore-error",)
    owned: ClassVar = ()

    async def keep(self, animal: Animal) -> None:
        """Apply both."""
        with contextlib.suppress(ApiError):
            await ensure_applied(self.client, self.child(animal), owner=animal)
            await ensure_applied(self.client, deployment(animal, self.metadata(animal)), owner=animal)


class AddsNotes(Keeper):
    """Adds an annotation for each name, and removes none. Keys with dots do not make it several bugs."""

    bugs: ClassVar = {"explore-history": 1}
    only: ClassVar = ("explore-history",)

    async def keep(self, animal: Animal) -> None:
        """Add them to those that are there."""
        child = self.child(animal)

        def change() -> None:
            notes = {f"{name}.example.com/note": "x" for name in animal.spec.names}
            child.metadata.annotations = {**(child.metadata.annotations or {}), **notes}
            child.data = self.child(animal).data

        await create_or_update(self.client, child, change, owner=animal)


class LooksAtOne(BelievesItsStatus):
    """Looks at one child, and compares only a part of it. Of the other one, it believes its status."""

    bugs: ClassVar = {"explore-history": 2}

    async def keep(self, animal: Animal) -> None:
        """Change the first one if its food is another."""
        await super().keep(animal)
        found = await self.client.find(ConfigMap, self.child(animal))
        if found is None or (found.data or {}).get("food") != animal.spec.food:
            await ensure_applied(self.client, self.child(animal), owner=animal)


class ForgetsOwner(Keeper):
    """Names no owner: nothing deletes the child, it does not wake the operator, and anybody's is taken for it."""

    bugs: ClassVar = {"explore-leak": 1}
    only: ClassVar = ("explore-leak", "explore-theft", "explore-drift", "explore-leader")

    async def keep(self, animal: Animal) -> None:
        """Apply the child."""
        await ensure_applied(self.client, self.child(animal))


class ForgetsSecondController(Newcomer):
    """Reports what becomes of an animal, and does not watch it. The controller of animals is awake meanwhile."""

    bugs: ClassVar = {"explore-drift": 1}
    only: ClassVar = ("explore-drift", "explore-crash", "explore-error", "explore-stale")
    sample: ClassVar = PARK

    async def reconcile(self, request: Request) -> None:
        """Make an animal for a park."""
        park = await self.client.find(Park, request)
        if park is None or park.metadata.deletion_timestamp is not None:
            return
        before, metadata = copy.deepcopy(park.status), ObjectMeta(name=park.metadata.name, namespace="default")
        animal, _ = await ensure_applied(self.client, Animal(metadata=metadata, spec=park.spec), owner=park)
        park.status.phase = animal.status.phase or "Waiting"
        await patch_status(self.client, park, before)

    def setup(self, manager: Manager) -> None:
        """Two controllers."""
        ControllerBuilder(manager).for_(Park).complete(self)
        Keeper(self.client).setup(manager)


class ReturnsEarly(BelievesItsStatus):
    """Returns if the first of its children is right, whatever became of the others."""

    bugs: ClassVar = {"explore-drift": 1}
    only: ClassVar = ("explore-drift",)
    owned: ClassVar = (ConfigMap, Secret, ServiceAccount)

    async def keep(self, animal: Animal) -> None:
        """Apply one after the other."""
        found = await self.client.find(ConfigMap, self.child(animal))
        if found is not None and found.data == self.child(animal).data:
            return
        await ensure_applied(self.client, self.child(animal), owner=animal)
        await ensure_applied(self.client, self.key(animal), owner=animal)
        await ensure_applied(self.client, ServiceAccount(metadata=self.metadata(animal)), owner=animal)

"""What the operators of the zoo have in common: sound operators with hooks, which the zoo spoils.

They stand outside the zoo's folder, so that findings name lines of the zoo.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import ClassVar

from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Object
from pykb.explore import Check, Subject
from pykb.explore._earlier import Earlier
from pykb.explore._recording import lives_of, named
from pykb.runtime import (
    ControllerBuilder,
    Manager,
    Reconciler,
    Request,
    Result,
    ensure_applied,
    ensure_finalizer,
    patch_status,
    release_finalizer,
)
from tests.explorer.zoo.kinds import CRDS, FINALIZER, SAMPLE, Animal, AnimalStatus, Manifest


class Keeper(Reconciler):
    """One ConfigMap for each Animal, kept right."""

    fault: ClassVar[str] = ""
    """The code that the explorer must report. Empty for a mended twin."""
    sample: ClassVar[Manifest] = SAMPLE
    rules: ClassVar[list[Manifest] | None] = None
    owned: ClassVar[tuple[type[Object], ...]] = (ConfigMap,)
    once: ClassVar[tuple[str, ...]] = ()
    """Kinds that have an effect when they are created."""
    invariants: ClassVar[tuple[Check, ...]] = ()
    """What must always hold."""
    neighbours: ClassVar[tuple[Manifest, ...]] = ()
    """Samples that are there meanwhile."""
    crds: ClassVar[list[Manifest]] = CRDS
    background: ClassVar[tuple[Manifest, ...]] = ()
    """Objects of other kinds that are there."""
    ignore: ClassVar[tuple[str, ...]] = ()
    """Fields that may differ."""

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
        animal.status.phase = animal.status.phase or "Ready"
        animal.status.count = animal.spec.count
        await patch_status(self.client, animal, before)
        return None

    def child(self, animal: Animal) -> ConfigMap:
        """The wanted child."""
        data = {"food": animal.spec.food, "count": str(animal.spec.count)}
        return ConfigMap(metadata=self.metadata(animal), data=data)

    def metadata(self, animal: Animal) -> ObjectMeta:
        """The name of the child."""
        return ObjectMeta(name=self.name(animal), namespace=animal.metadata.namespace)

    def name(self, animal: Animal) -> str:
        """The name of the child."""
        return f"{animal.metadata.name}-menu"

    def setup(self, manager: Manager) -> None:
        """Register with the manager."""
        builder = ControllerBuilder(manager).for_(Animal)
        for kind in self.owned:
            builder = builder.owns(kind)
        builder.complete(self)


class Guard(Keeper):
    """One Secret in another namespace for each Animal, behind a finalizer."""

    async def reconcile(self, request: Request) -> Result | None:
        """Make the secret, or clean up."""
        animal = await self.client.find(Animal, request)
        if animal is None:
            return None
        if animal.metadata.deletion_timestamp is not None:
            await self.end(animal)
            return None
        before = copy.deepcopy(animal.status)
        await self.begin(animal)
        return await self.report(animal, before)

    async def begin(self, animal: Animal) -> None:
        """The finalizer first."""
        await ensure_finalizer(self.client, animal, FINALIZER)
        await self.make(animal)

    async def end(self, animal: Animal) -> None:
        """The finalizer last."""
        await self.clean_up(animal)
        await release_finalizer(self.client, animal, FINALIZER)

    async def make(self, animal: Animal) -> None:
        """Create the secret, unless it is there."""
        secret = self.secret(animal)
        found = await self.client.find(Secret, secret)
        if found is None:
            await self.client.create(secret)
        elif not self.is_own(animal, found):
            self.recorder.event(animal, "Warning", "Taken", "the secret is somebody else's")

    async def clean_up(self, animal: Animal) -> None:
        """Delete the secret, if it is this animal's."""
        found = await self.client.find(Secret, self.secret(animal))
        if found is not None and self.is_own(animal, found):
            await self.client.delete(found, uid=found.metadata.uid, missing_ok=True)

    def secret(self, animal: Animal) -> Secret:
        """The wanted secret."""
        labels = {"animal": animal.metadata.uid or ""}
        return Secret(metadata=ObjectMeta(name=f"{animal.metadata.name}-key", namespace="kube-public", labels=labels))

    def is_own(self, animal: Animal, secret: Secret) -> bool:
        """Whether a secret was made for this animal, and not for one of the same name."""
        return (secret.metadata.labels or {}).get("animal") == animal.metadata.uid

    def setup(self, manager: Manager) -> None:
        """Watch the secrets by name."""

        def owner(secret: Secret) -> list[Request]:
            return [Request("default", (secret.metadata.name or "").removesuffix("-key"))]

        ControllerBuilder(manager).for_(Animal).watches(Secret, owner).complete(self)


def record(subject: Subject, name: str) -> Earlier:
    """Run an earlier operator in this process."""
    play = partial(lives_of, subject, 0)
    return Earlier(name, named(play(subject.samples)), subject.crds, play=play)

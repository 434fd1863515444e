"""Operators that do not look after what an earlier version of them has made."""

from __future__ import annotations

from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.runtime import ensure_applied, ensure_finalizer, release_finalizer
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.zoo.kinds import FINALIZER, Animal
from tests.explorer.zoo.specs import deployment

_OLD_FINALIZER = "zoo.example.com/keeper"


class RenamesChild(Keeper):
    """Calls the child by another name, and leaves the one of the old name."""

    fault = "explore-upgrade"

    async def keep(self, animal: Animal) -> None:
        """Apply the child."""
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault

    class Earlier(Keeper):
        """The name was that of the animal."""

        def name(self, animal: Animal) -> str:
            """The name of the child."""
            return animal.metadata.name or ""


class RenamesChildMended(RenamesChild):
    """The child of the old name goes."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Apply the child, and delete the old one."""
        await super().keep(animal)
        old = ConfigMap(metadata=ObjectMeta(name=animal.metadata.name, namespace=animal.metadata.namespace))
        found = await self.client.find(ConfigMap, old)
        owners = (found.metadata.owner_references or []) if found is not None else []
        if found is not None and any(owner.uid == animal.metadata.uid for owner in owners):
            await self.client.delete(found, uid=found.metadata.uid, missing_ok=True)


class RenamesFinalizer(Guard):
    """Knows only its new finalizer. The old one holds each object for ever."""

    fault = "explore-upgrade"

    async def end(self, animal: Animal) -> None:
        """The finalizer last."""
        await self.clean_up(animal)
        await release_finalizer(self.client, animal, FINALIZER)  # fault

    class Earlier(Guard):
        """The finalizer had another name."""

        async def begin(self, animal: Animal) -> None:
            """The finalizer first."""
            await ensure_finalizer(self.client, animal, _OLD_FINALIZER)
            await self.make(animal)

        async def end(self, animal: Animal) -> None:
            """The finalizer last."""
            await self.clean_up(animal)
            await release_finalizer(self.client, animal, _OLD_FINALIZER)


class RenamesFinalizerMended(RenamesFinalizer):
    """Both go."""

    fault = ""

    async def end(self, animal: Animal) -> None:
        """The finalizers last."""
        await self.clean_up(animal)
        await release_finalizer(self.client, animal, _OLD_FINALIZER)
        await release_finalizer(self.client, animal, FINALIZER)


class ChangesSelector(Keeper):
    """Selects pods by another label, which a Deployment never allows again."""

    fault = "explore-upgrade"
    owned = (Deployment,)
    label = "zoo.example.com/animal"

    async def keep(self, animal: Animal) -> None:
        """Apply the Deployment."""
        await ensure_applied(self.client, self.workload(animal), owner=animal)  # fault

    def workload(self, animal: Animal) -> Deployment:
        """The Deployment with its label."""
        made = deployment(animal, self.metadata(animal))
        labels = {self.label: animal.metadata.name or ""}
        made.spec.selector = LabelSelector(match_labels=labels)
        made.spec.template.metadata = ObjectMeta(labels=labels)
        return made

    class Earlier(Keeper):
        """The label was `app`."""

        owned = (Deployment,)

        async def keep(self, animal: Animal) -> None:
            """Apply the Deployment."""
            old = ChangesSelector(self.client)
            old.label = "app"
            await ensure_applied(self.client, old.workload(animal), owner=animal)


class ChangesSelectorMended(ChangesSelector):
    """The Deployment is made anew."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Delete the Deployment with the old selector, and apply the new one."""
        wanted = self.workload(animal)
        found = await self.client.find(Deployment, wanted)
        if found is not None and found.spec.selector != wanted.spec.selector:
            await self.client.delete(found, uid=found.metadata.uid, missing_ok=True)
        await super().keep(animal)

"""A sound operator with a workload, which the zoo spoils. It stands outside the zoo's folder as its parent does."""

from __future__ import annotations

from pykb.api.apps.v1 import Deployment
from pykb.runtime import ensure_applied
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal
from tests.explorer.zoo.specs import deployment


class Feeder(Keeper):
    """One Deployment for each Animal, and whether it is ready."""

    owned = (Deployment,)

    def wanted(self, animal: Animal) -> Deployment:
        """The Deployment, with the food as its image."""
        return deployment(animal, self.metadata(animal))

    async def keep(self, animal: Animal) -> None:
        """Apply the Deployment, and look at it."""
        found, _ = await ensure_applied(self.client, self.wanted(animal), owner=animal)
        self.look(animal, found)

    def look(self, animal: Animal, found: Deployment) -> None:
        """Note whether it is ready."""
        animal.status.phase = "Ready" if is_ready(animal, found) else "Waiting"


def is_ready(animal: Animal, found: Deployment) -> bool:
    """Whether all replicas are ready."""
    return found.status is not None and (found.status.ready_replicas or 0) == animal.spec.count

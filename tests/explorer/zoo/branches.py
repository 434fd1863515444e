"""Operators with faults in branches that the usual specs do not reach."""

from __future__ import annotations

from pykb.api.core.v1 import ConfigMap
from pykb.runtime import ensure_applied, prune
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal

_PACK = 7
_HERD = 20
"""Between these numbers, homeless animals are a pack."""


class ForgetsPool(Keeper):
    """Who eats fish has a pool, a second ConfigMap, which stays when the food changes."""

    fault = "explore-history"

    async def keep(self, animal: Animal) -> None:
        """Apply one child, or two."""
        await super().keep(animal)
        if animal.spec.food == "fish":
            await self.keep_pool(animal)
        else:
            await self.give_up_pool(animal)

    async def keep_pool(self, animal: Animal) -> None:
        """Apply it."""
        pool = self.child(animal)
        pool.metadata.name = f"{pool.metadata.name}-pool"
        await ensure_applied(self.client, pool, owner=animal)  # fault

    async def give_up_pool(self, animal: Animal) -> None:
        """Leave it."""


class ForgetsPoolMended(ForgetsPool):
    """Deletes what is no longer wanted."""

    fault = ""

    async def give_up_pool(self, animal: Animal) -> None:
        """Delete it."""
        await prune(self.client, ConfigMap, owner=animal, keep=[self.name(animal)])


class CountsPackFirst(Keeper):
    """Of a pack without a house, the status says that it was fed before it is."""

    fault = "explore-crash"

    async def keep(self, animal: Animal) -> None:
        """Feed a pack once, and others as usual."""
        if animal.spec.house is None:
            await self.keep_homeless(animal)
        else:
            animal.status.child = None
            await super().keep(animal)

    async def keep_homeless(self, animal: Animal) -> None:
        """Few or very many are fed as usual."""
        if _PACK < animal.spec.count <= _HERD:
            await self.feed(animal)
        else:
            animal.status.child = None
            await super().keep(animal)

    async def feed(self, animal: Animal) -> None:
        """The status first, then the child."""
        if animal.status.child != "fed":
            animal.status.child = "fed"
            await self.client.status.update(animal)  # fault
            await super().keep(animal)


class CountsPackFirstMended(CountsPackFirst):
    """The child first, in each reconcile."""

    fault = ""

    async def feed(self, animal: Animal) -> None:
        """Apply the child, then report."""
        await Keeper.keep(self, animal)
        animal.status.child = "fed"

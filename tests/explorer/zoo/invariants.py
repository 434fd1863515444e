"""Faults that only the project itself can name: what must never be, even for a moment."""

from __future__ import annotations

from typing import ClassVar

from pykb.api.core.v1 import ConfigMap
from pykb.api.object import Object
from pykb.api.policy.v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from pykb.explore import Check, ClusterView, always
from pykb.runtime import ensure_applied
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal


@always
def never_two_leaders(cluster: ClusterView) -> None:
    """Two members of one animal that both write lose data."""
    for animal in cluster.list(Animal):
        labels = {"role": "leader", "of": animal.metadata.name or ""}
        leaders = cluster.list(ConfigMap, namespace=animal.metadata.namespace, labels=labels)
        assert len(leaders) <= 1, f"{len(leaders)} leaders"


class PromotesFirst(Keeper):
    """Makes another member the leader before the former one stops to be it."""

    fault = "explore-invariant"
    invariants: ClassVar[tuple[Check, ...]] = (never_two_leaders,)

    async def keep(self, animal: Animal) -> None:
        """Apply both members."""
        leader = animal.spec.count % 2
        for number in self.order(leader):
            member = self.child(animal)
            member.metadata.name = f"{animal.metadata.name}-{number}"
            role = "leader" if number == leader else "follower"
            member.metadata.labels = {"role": role, "of": animal.metadata.name or ""}
            await ensure_applied(self.client, member, owner=animal)  # fault

    def order(self, leader: int) -> tuple[int, int]:
        """The leader first."""
        return (leader, 1 - leader)


class PromotesFirstMended(PromotesFirst):
    """Waits until the former leader is none."""

    fault = ""

    def order(self, leader: int) -> tuple[int, int]:
        """The leader last."""
        return (1 - leader, leader)


def nodes_can_be_drained(cluster: ClusterView) -> str | None:
    """A budget that needs all pods lets none go, so nobody can drain their nodes."""
    for animal in cluster.list(Animal):
        budget = cluster.find(PodDisruptionBudget, f"{animal.metadata.name}-menu", namespace=animal.metadata.namespace)
        needed = budget.spec.min_available if budget is not None else None
        if isinstance(needed, int) and needed >= animal.spec.count > 0:
            return f"{needed} of {animal.spec.count} pods are needed"
    return None


class BlocksDrains(Keeper):
    """Needs one pod, even if there is only one."""

    fault = "explore-invariant"
    owned: ClassVar[tuple[type[Object], ...]] = (PodDisruptionBudget,)
    invariants: ClassVar[tuple[Check, ...]] = (nodes_can_be_drained,)

    async def keep(self, animal: Animal) -> None:
        """Apply the budget."""
        spec = PodDisruptionBudgetSpec(min_available=self.needed(animal.spec.count))
        budget = PodDisruptionBudget(metadata=self.metadata(animal), spec=spec)
        await ensure_applied(self.client, budget, owner=animal)  # fault

    def needed(self, count: int) -> int:
        """All but one, and at least one."""
        return max(1, count - 1)


class BlocksDrainsMended(BlocksDrains):
    """Lets the last one go."""

    fault = ""

    def needed(self, count: int) -> int:
        """All but one."""
        return max(0, count - 1)

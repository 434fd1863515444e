"""What a verdict tolerates."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

import pytest

from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.explore._history import Identity
from pykb.explore._state import Difference
from pykb.explore._verdicts import _is_extended
from pykb.runtime import ControllerBuilder, Manager, Result
from tests.explorer.keeper import Guard
from tests.explorer.test_zoo import explored
from tests.explorer.zoo.kinds import Animal, AnimalStatus

SERVICE = Identity("v1", "Service", "default", "web")


@pytest.mark.parametrize(
    ("found", "tolerated"),
    [([{"port": 81}, {"port": 80}], True), ([{"port": 81}], False), ([], False), (None, False), ("80", False)],
)
def test_members_that_somebody_adds_to_a_list_may_stay(found, tolerated):
    """The API server keeps them too. Those of the operator must be there."""
    assert _is_extended(Difference(SERVICE, "spec.ports", [{"port": 80}], found)) is tolerated


class KeepsRow(Guard):
    """One row for each animal in a system that nobody can watch, named by its count."""

    async def make(self, animal: Animal) -> None:
        """Add the row, and take away that of an earlier count."""
        row = ConfigMap(
            metadata=ObjectMeta(name=f"{animal.metadata.name}-{animal.spec.count}", namespace="kube-public")
        )
        row.metadata.labels = {"animal": animal.metadata.uid or ""}
        if await self.rows.find(ConfigMap, row) is None:
            await self.client.create(row)
        await self.clean_up(animal, keep=row.metadata.name)

    async def clean_up(self, animal: Animal, keep: str | None = None) -> None:
        """Delete the rows of this animal."""
        found = await self.rows.list(ConfigMap, namespace="kube-public", labels={"animal": animal.metadata.uid or ""})
        for row in found:
            if row.metadata.name != keep:
                await self.client.delete(row, uid=row.metadata.uid, missing_ok=True)

    def setup(self, manager: Manager) -> None:
        """Ask for rows anew each time."""
        self.rows = manager.api_reader
        ControllerBuilder(manager).for_(Animal).complete(self)


class LooksAgain(KeepsRow):
    """Does so every ten minutes."""

    async def report(self, animal: Animal, before: AnimalStatus) -> Result:
        """Come back."""
        await super().report(animal, before)
        return Result(requeue_after=timedelta(minutes=10))


def test_who_cannot_watch_may_look_again():
    """A write of a former leader that comes late is seen at the next look, if there is one."""
    one, other = explored(KeepsRow, ("explore-leader",), most=40).diagnostics()
    assert "ConfigMap" in one.message
    assert "ConfigMap" in other.message
    assert explored(LooksAgain, ("explore-leader",), most=40).diagnostics() == []


class Borrows(Guard):
    """Scales a Deployment of somebody else, and back when it goes."""

    background: ClassVar = (
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
                },
            },
        },
    )

    async def make(self, animal: Animal) -> None:
        """Scale it."""
        await self.scale(5)

    async def clean_up(self, animal: Animal) -> None:
        """Scale it back."""
        await self.scale(2)

    async def scale(self, replicas: int) -> None:
        """Set the replicas."""
        web = await self.client.live.find(Deployment, "web", namespace="default")
        if web is not None and web.spec is not None and web.spec.replicas != replicas:
            await self.client.scale.set_replicas(web, replicas)


def test_what_the_cluster_says_of_what_was_there_before_may_stay():
    """It had no status before it was scaled for the first time."""
    explored(Borrows, ("explore-leak",)).check()


class NeedsToReturn(Borrows):
    """Cannot go when the Deployment has gone before."""

    async def clean_up(self, animal: Animal) -> None:
        """Fail without it."""
        await self.client.live.get(Deployment, "web", namespace="default")
        await super().clean_up(animal)


def test_what_has_gone_is_no_reason_to_stay():
    """Also if it was somebody else's."""
    [finding] = explored(NeedsToReturn, ("explore-leak",), most=None).findings
    assert finding.message == "Animal kiki is never let go: a finalizer stays"
    assert finding.story[1] == "Somebody deletes Deployment web"

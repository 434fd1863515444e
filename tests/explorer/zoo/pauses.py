"""Operators that leave an object alone for a time, and do not do the rest when it is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pykb.api.core.v1 import ConfigMap
from pykb.runtime import Client, ControllerBuilder, GenerationChanged, Manager, Request, Result, ensure_applied
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import GROUP_VERSION, Animal, AnimalStatus

_PAUSED = f"{GROUP_VERSION.group}/paused"


class SleepsOn(Keeper):
    """Is woken by changes of the spec only, so that nothing wakes it when the annotation goes."""

    fault = "explore-history"

    async def reconcile(self, request: Request) -> Result | None:
        """Do nothing while the annotation is there, as Cluster API does, whatever it says."""
        animal = await self.client.find(Animal, request)
        if animal is not None and _PAUSED in (animal.metadata.annotations or {}):
            return None
        return await super().reconcile(request)

    async def keep(self, animal: Animal) -> None:
        """Apply the child."""
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault

    def setup(self, manager: Manager) -> None:
        """Look at changes of the spec only."""
        builder = ControllerBuilder(manager).for_(Animal, predicates=[GenerationChanged()])
        builder.owns(ConfigMap).complete(self)


class SleepsOnMended(SleepsOn):
    """Is woken by each change."""

    fault = ""

    def setup(self, manager: Manager) -> None:
        """Look at all changes."""
        Keeper.setup(self, manager)


class AwaitsWord(Keeper):
    """A label stops it and starts it again, and nothing else does: not even that the label goes."""

    fault = "explore-history"

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._stopped: set[str] = set()

    async def reconcile(self, request: Request) -> Result | None:
        """Remember what was said last."""
        animal = await self.client.find(Animal, request)
        if animal is not None:
            uid = animal.metadata.uid or ""
            word = (animal.metadata.labels or {}).get("reconcile")
            if word == "disabled":
                self._stopped.add(uid)
            elif self.is_started(word):
                self._stopped.discard(uid)
            if uid in self._stopped:
                return None
        return await super().reconcile(request)

    def is_started(self, word: str | None) -> bool:
        """Whether a label says so."""
        return word == "enabled"

    async def keep(self, animal: Animal) -> None:
        """Apply the child."""
        await ensure_applied(self.client, self.child(animal), owner=animal)  # fault


class AwaitsWordMended(AwaitsWord):
    """Starts again when the label is gone."""

    fault = ""

    def is_started(self, word: str | None) -> bool:
        """Whether nothing stops it any more."""
        return word != "disabled"


class MissesWindow(Keeper):
    """Changes its child only from one to two at night, and says so. Nothing wakes it then."""

    fault = "explore-history"

    async def keep(self, animal: Animal) -> None:
        """Apply the child if there is none, or at its time."""
        found = await self.client.find(ConfigMap, self.child(animal))
        is_other = found is not None and (found.data or {}).get("food") != animal.spec.food
        animal.status.phase = "Ready"
        if is_other and datetime.now(UTC).hour != _HOUR:
            animal.status.phase = "WaitsForWindow"
        else:
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault: see `report`

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Write the status."""
        await super().report(animal, before)
        return self.later() if animal.status.phase == "WaitsForWindow" else None

    def later(self) -> Result | None:
        """Never."""
        return None


_HOUR = 1


class MissesWindowMended(MissesWindow):
    """Comes back when it begins."""

    fault = ""

    def later(self) -> Result | None:
        """At its time, today or tomorrow."""
        now = datetime.now(UTC)
        today = now.replace(hour=_HOUR, minute=0, second=0, microsecond=0)
        return Result(requeue_after=(today if today > now else today + timedelta(days=1)) - now)

"""Faults of kopf's handlers, in the manner of its tutorial and of operators at large."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, ClassVar

import kopf

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import (
    ApiError,
    MergePatch,
    NotControlled,
    NotFound,
    ServerUnreachable,
    ensure_applied,
    ensure_deleted,
    set_controller_reference,
)
from tests.explorer.handled import ANIMALS, Handled
from tests.explorer.zoo.kinds import Animal, Manifest


def rules(*, note: bool = True) -> list[Manifest]:
    """A role for an operator of this module."""
    read = ["get", "list", "watch"]
    return [
        {"apiGroups": ["zoo.example.com"], "resources": ["animals"], "verbs": [*read, *(["patch"] if note else [])]},
        {"apiGroups": ["zoo.example.com"], "resources": ["animals/status"], "verbs": ["patch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": [*read, "create", "patch"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    ]


class RemembersInMemo(Handled):
    """Knows only from kopf's memo how the child of an earlier spec is called. A memo ends with the process."""

    fault = "explore-crash"

    def child(self, animal: Animal) -> ConfigMap:
        """Named after the food, which can change."""
        child = super().child(animal)
        child.metadata.name = f"{animal.spec.food}-menu"
        return child

    async def keep(self, body: kopf.Body, patch: kopf.Patch, memo: kopf.Memo, status: kopf.Status, **_: Any) -> None:
        """Apply the child, and delete that of the earlier spec."""
        animal = Animal.from_wire(body)
        old = self.former(memo, status)
        wanted = f"{animal.spec.food}-menu"
        if old not in (None, wanted):
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault
            await ensure_deleted(self.client, ConfigMap, f"{animal.metadata.namespace}/{old}", owner=animal)
        await self.apply(animal, patch)
        memo.child = patch.status["child"] = wanted

    def former(self, memo: kopf.Memo, _status: kopf.Status) -> str | None:
        """The name of the child of the earlier spec."""
        return memo.get("child")


class RemembersInMemoMended(RemembersInMemo):
    """Reads it from the status."""

    fault = ""

    def former(self, _memo: kopf.Memo, status: kopf.Status) -> str | None:
        """The status has it until the new one is noted."""
        return status.get("child")


class CreatesPlainly(Handled):
    """Creates a second child as if nobody had tried before (the first example of kopf's tutorial)."""

    fault = "explore-error"

    def children(self, animal: Animal) -> Iterable[ConfigMap]:
        """Two."""
        return [self.child(animal), self.second(animal)]

    def second(self, animal: Animal) -> ConfigMap:
        """Another one."""
        return ConfigMap(metadata=ObjectMeta(name=f"{animal.metadata.name}-once", namespace="default"))

    async def keep(self, body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
        """Make the second child before the others."""
        animal = Animal.from_wire(body)
        await self.make_second(animal)
        await self.apply(animal, patch)

    async def make_second(self, animal: Animal) -> None:
        """Fail for ever if it is there and the status does not say so."""
        if animal.status.phase is None:
            second = self.second(animal)
            set_controller_reference(animal, second)
            await self.client.create(second)  # fault


class CreatesPlainlyMended(CreatesPlainly):
    """Applies it with the other one."""

    fault = ""

    async def make_second(self, animal: Animal) -> None:
        """Nothing is left to do."""


class NeverLooks(Handled):
    """Has handlers of its own kind only, as most of kopf's examples."""

    fault = "explore-drift"

    def register(self) -> None:
        """Keep the child at each change of the object."""
        for on in (kopf.on.create, kopf.on.update, kopf.on.resume):
            on(*ANIMALS, registry=self.registry)(self.keep)

    async def apply(self, animal: Animal, patch: kopf.Patch) -> None:
        """Apply the child."""
        try:
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault
        except NotControlled as error:
            patch.status["phase"] = "Conflict"
            raise kopf.TemporaryError(str(error), delay=60) from error
        patch.status["phase"] = "Ready"


class NeverLooksMended(NeverLooks):
    """Comes back each minute, by a timer."""

    fault = ""

    def register(self) -> None:
        """A timer can do what an event handler does."""
        super().register()
        kopf.timer(*ANIMALS, interval=60, registry=self.registry)(self.come_back)

    async def come_back(self, body: kopf.Body, **_: Any) -> None:
        """Apply the child again."""
        with contextlib.suppress(NotControlled):
            await ensure_applied(self.client, self.child(Animal.from_wire(body)), owner=Animal.from_wire(body))


class OptionalDeletion(Handled):
    """Cleans up in a handler that kopf does not wait for: without kopf's finalizer, the object is gone before."""

    fault = "explore-leak"
    optional: ClassVar[bool] = True

    def register(self) -> None:
        """Clean up by a handler."""
        super().register()
        kopf.on.delete(*ANIMALS, registry=self.registry, optional=self.optional)(self.clean_up)

    async def apply(self, animal: Animal, patch: kopf.Patch) -> None:
        """Apply the child, and an entry that no owner reference collects."""
        if not await self.is_free(animal):
            patch.status["phase"] = "Conflict"
            raise kopf.TemporaryError("the entry is somebody else's", delay=60)
        await self.client.apply(self.entry(animal), force=True)  # fault
        await super().apply(animal, patch)

    async def look(self, meta: kopf.Meta, **_: Any) -> None:
        """The entry comes back too."""
        await super().look(meta)
        owner = meta.labels.get("animal", "").replace("_", "/")
        animal = await self.client.find(Animal, owner) if owner else None
        if animal is not None and animal.metadata.deletion_timestamp is None and await self.is_free(animal):
            await self.client.apply(self.entry(animal), force=True)

    async def clean_up(self, body: kopf.Body, **_: Any) -> None:
        """Delete the entry."""
        animal = Animal.from_wire(body)
        if await self.is_free(animal):
            await self.client.delete(self.entry(animal), missing_ok=True)

    async def is_free(self, animal: Animal) -> bool:
        """Whether nobody else has an entry of this name."""
        found = await self.client.find(ConfigMap, self.entry(animal))
        wanted = self.entry(animal).metadata.labels
        return found is None or found.metadata.labels == wanted

    def entry(self, animal: Animal) -> ConfigMap:
        """What would be in a system of its own. Animals of one name in two namespaces want the same one."""
        name = animal.metadata.name or ""
        labels = {"animal": f"{animal.metadata.namespace}_{name}"}
        return ConfigMap(metadata=ObjectMeta(name=f"{name}-entry", namespace="default", labels=labels))


class OptionalDeletionMended(OptionalDeletion):
    """kopf waits."""

    fault = ""
    optional = False


class PatchesOnlyNew(Handled):
    """Patches the fields that the spec has, and forgets those that it had (`@kopf.on.update` of the tutorial)."""

    fault = "explore-history"

    async def apply(self, animal: Animal, patch: kopf.Patch) -> None:
        """Apply the child, then patch what may be missing."""
        await super().apply(animal, patch)
        await self.add(animal)

    async def look(self, meta: kopf.Meta, **_: Any) -> None:
        """Both also when somebody changes the child."""
        await super().look(meta)
        for owner in meta.get("ownerReferences") or ():
            animal = await self.client.find(Animal, f"{meta['namespace']}/{owner['name']}")
            if animal is not None and animal.metadata.deletion_timestamp is None:
                await self.add(animal)

    async def add(self, animal: Animal) -> None:
        """Patch the child."""
        with contextlib.suppress(NotFound):
            await self.client.patch(self.child(animal), MergePatch({"data": self.extra(animal)}))  # fault

    def extra(self, animal: Animal) -> dict[str, str | None]:
        """What else is wanted."""
        return dict.fromkeys(animal.spec.names, "yes")


class PatchesOnlyNewMended(PatchesOnlyNew):
    """A null removes."""

    fault = ""

    def extra(self, animal: Animal) -> dict[str, str | None]:
        """All fields that there may be."""
        return {name: "yes" if name in animal.spec.names else None for name in ("a", "b")}


class StampsByTimer(Handled):
    """Writes the time in each turn of a timer."""

    fault = "explore-loop"

    def register(self) -> None:
        """Look once a minute."""
        super().register()
        kopf.timer(*ANIMALS, interval=60, registry=self.registry)(self.check)

    async def check(self, spec: kopf.Spec, status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:  # fault
        """Note what is checked."""
        checked = self.checked(spec)
        if status.get("checked") != checked:
            patch.status["checked"] = checked

    def checked(self, _spec: kopf.Spec) -> str:
        """When it was checked."""
        return datetime.now(UTC).isoformat()


class StampsByTimerMended(StampsByTimer):
    """Notes what was checked."""

    fault = ""

    def checked(self, spec: kopf.Spec) -> str:
        """The food."""
        return str(spec.get("food"))


class DaemonOfOneMind(Handled):
    """A daemon that keeps what it read at its start."""

    fault = "explore-history"

    def register(self) -> None:
        """A daemon instead of handlers."""
        kopf.daemon(*ANIMALS, registry=self.registry)(self.watch_over)

    async def watch_over(self, body: kopf.Body, stopped: kopf.DaemonStopped, **_: Any) -> None:
        """Apply the child every half a minute, as long as the object exists."""
        first = Animal.from_wire(body)
        while not stopped:
            animal = self.latest(first, body)
            try:
                await ensure_applied(self.client, self.child(animal), owner=animal)  # fault
            except NotControlled as error:
                kopf.warn(body, reason="Conflict", message=str(error))
            await stopped.wait(30)

    def latest(self, first: Animal, _body: kopf.Body) -> Animal:
        """What it believes to be wanted."""
        return first


class DaemonOfOneMindMended(DaemonOfOneMind):
    """kopf keeps the body of a daemon fresh."""

    fault = ""

    def latest(self, _first: Animal, body: kopf.Body) -> Animal:
        """What is wanted."""
        return Animal.from_wire(body)


class NeedsHouse(Handled):
    """Takes what the schema does not require."""

    fault = "explore-bug"

    async def keep(self, body: kopf.Body, patch: kopf.Patch, spec: kopf.Spec, **_: Any) -> None:
        """Apply the child, and note where it is."""
        await super().keep(body, patch)
        patch.status["child"] = self.house(spec)

    def house(self, spec: kopf.Spec) -> str | None:
        """The house."""
        return str(spec["house"])  # fault


class NeedsHouseMended(NeedsHouse):
    """Asks for it."""

    fault = ""

    def house(self, spec: kopf.Spec) -> str | None:
        """The house, if there is one."""
        return spec.get("house")


class CountsInIndex(Handled):
    """Makes what an index does not have yet: an index is a cache."""

    fault = "explore-unseen"

    def register(self) -> None:
        """Index the extra children by their owner, and look twice whether there is one."""
        super().register()
        kopf.index("", "v1", "configmaps", registry=self.registry, id="extras")(self.extras)
        for field in ("spec.food", "spec.count"):
            kopf.on.field(*ANIMALS, field=field, registry=self.registry)(self.feed)

    async def apply(self, animal: Animal, patch: kopf.Patch) -> None:
        """Write nothing into the status: kopf loses that of a handler, if it dies before the next one."""
        try:
            await super().apply(animal, kopf.Patch())
        except kopf.TemporaryError as error:
            kopf.warn(animal.to_wire(), reason="Conflict", message=str(error))
            raise

    async def extras(self, meta: kopf.Meta, **_: Any) -> dict[str, str] | None:
        """The names of extra children."""
        owners = meta.get("ownerReferences") or [] if (meta.name or "").startswith("extra-") else []
        return {owner["uid"]: meta.name or "" for owner in owners} or None

    async def feed(self, body: kopf.Body, extras: kopf.Index[str, str], **_: Any) -> None:
        """Make an extra child if there is none."""
        if not extras.get(body.metadata["uid"]):
            await self.make(Animal.from_wire(body))

    async def make(self, animal: Animal) -> None:
        """With a name of the API server's."""
        extra = ConfigMap(metadata=ObjectMeta(generate_name="extra-", namespace=animal.metadata.namespace))
        set_controller_reference(animal, extra)
        await self.client.create(extra)  # fault


class CountsInIndexMended(CountsInIndex):
    """The name says whose it is."""

    fault = ""

    def children(self, animal: Animal) -> Iterable[ConfigMap]:
        """The extra child is one of all."""
        name = f"extra-{animal.metadata.name}"
        return [self.child(animal), ConfigMap(metadata=ObjectMeta(name=name, namespace=animal.metadata.namespace))]

    async def make(self, animal: Animal) -> None:
        """Nothing is left to do."""


class OnlyAdded(Handled):
    """Waits for an event that a list never has: after its start, the operator sees no object as added."""

    fault = "explore-crash"
    types: ClassVar[tuple[str | None, ...]] = ("ADDED", "MODIFIED")

    def register(self) -> None:
        """Events instead of changes."""
        kopf.on.event(*ANIMALS, registry=self.registry)(self.see)
        kopf.on.event("", "v1", "configmaps", registry=self.registry)(self.look)

    async def see(self, type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002 - kopf's name
        """Apply the child when the object is new or changes. kopf does not repeat it after an error."""
        animal = Animal.from_wire(body)
        for pause in (1, 10, 60) if type in self.types and animal.metadata.deletion_timestamp is None else ():
            try:
                await ensure_applied(self.client, self.child(animal), owner=animal)  # fault
            except NotControlled as error:
                kopf.warn(body, reason="Conflict", message=str(error))
            except (ApiError, ServerUnreachable):
                await asyncio.sleep(pause)
                continue
            return


class OnlyAddedMended(OnlyAdded):
    """A listed object has no type."""

    fault = ""
    types = (*OnlyAdded.types, None)


class ForcesItsWay(Handled):
    """Applies by force what may be somebody else's."""

    fault = "explore-theft"

    async def apply(self, animal: Animal, patch: kopf.Patch) -> None:
        """Apply without a look."""
        for child in self.children(animal):
            set_controller_reference(animal, child)
            await self.client.apply(child, force=True)  # fault
        patch.status["phase"] = "Ready"


class ForcesItsWayMended(ForcesItsWay):
    """Looks whose it is."""

    fault = ""

    async def apply(self, animal: Animal, patch: kopf.Patch) -> None:
        """Apply what is its own."""
        await Handled.apply(self, animal, patch)


class ScalesByIndex(CountsInIndex):
    """Looks by a timer how many there are in an index, which may lag, and makes what is missing."""

    fault = "explore-stale"

    def register(self) -> None:
        """A timer in place of changes."""
        Handled.register(self)
        kopf.index("", "v1", "configmaps", registry=self.registry, id="extras")(self.extras)
        kopf.timer(*ANIMALS, interval=20, registry=self.registry)(self.feed)

    async def make(self, animal: Animal) -> None:
        """With a name of the API server's."""
        extra = ConfigMap(metadata=ObjectMeta(generate_name="extra-", namespace=animal.metadata.namespace))
        set_controller_reference(animal, extra)
        await self.client.create(extra)  # fault


class ScalesByIndexMended(ScalesByIndex):
    """The name says whose it is."""

    fault = ""
    children = CountsInIndexMended.children
    make = CountsInIndexMended.make


class MayNotNote(Handled):
    """Its role allows what the handlers do, and not what kopf itself does: it notes its progress in the object."""

    fault = "explore-rbac"
    rules = rules(note=False)

    async def keep(self, body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:  # fault
        """Apply the child."""
        await self.apply(Animal.from_wire(body), patch)


class MayNotNoteMended(MayNotNote):
    """With the verb."""

    fault = ""
    rules = rules()


class SelectsWidely(Handled):
    """Deletes by a label that the children of all animals have. The others come back at once, as new ones."""

    fault = "explore-theft"
    selected: ClassVar[tuple[str, ...]] = ("app",)

    def register(self) -> None:
        """Clean up by hand as well."""
        super().register()
        kopf.on.delete(*ANIMALS, registry=self.registry)(self.clean_up)

    def child(self, animal: Animal) -> ConfigMap:
        """With labels, by which the clean-up finds it."""
        child = super().child(animal)
        child.metadata.labels = {"app": "menu", "animal": animal.metadata.name or ""}
        return child

    async def clean_up(self, body: kopf.Body, **_: Any) -> None:
        """Delete the children."""
        animal = Animal.from_wire(body)
        labels = {
            name: value for name, value in (self.child(animal).metadata.labels or {}).items() if name in self.selected
        }
        for child in await self.client.live.list(ConfigMap, namespace=animal.metadata.namespace, labels=labels):
            await self.client.delete(child, missing_ok=True)  # fault


class SelectsWidelyMended(SelectsWidely):
    """By the animal, too."""

    fault = ""
    selected = ("app", "animal")

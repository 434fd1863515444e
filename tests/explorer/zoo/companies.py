"""Faults that show only beside other objects: elsewhere, at the same time, before, or those that it copies."""

from __future__ import annotations

from typing import ClassVar

from pykb.api.core.v1 import ConfigMap, LocalObjectReference, Secret, ServiceAccount
from pykb.runtime import (
    Client,
    ControllerBuilder,
    Manager,
    Reconciler,
    Request,
    Result,
    create_or_update,
    ensure_applied,
    ensure_finalizer,
    prune,
    release_finalizer,
    set_controller_reference,
)
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.zoo.kinds import FINALIZER, PARK, SAMPLE, Animal, Manifest, Park

PRICES: Manifest = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "kiki-prices", "namespace": "default"},
    "data": {"hay": "Mw=="},
}
LABELLED: Manifest = {
    **PRICES,
    "metadata": {**PRICES["metadata"], "labels": {"zoo.example.com/market": "west", "zoo.example.com/team": "red"}},
}
ACCOUNT: Manifest = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "default", "namespace": "default"},
    "imagePullSecrets": [{"name": "corporate"}],
}
LODGER: Manifest = {**SAMPLE, "spec": {**SAMPLE["spec"], "house": "west"}}
"""Lives in the park of the samples."""
BOBO: Manifest = {**SAMPLE, "metadata": {"name": "bobo", "namespace": "default"}, "spec": {"food": "leaves"}}


class ForgetsNamespace(Guard):
    """Knows its secrets by the animal's name. Two namespaces can have an animal of that name."""

    fault = "explore-theft"

    async def clean_up(self, animal: Animal) -> None:
        """Delete the secret, if it is this animal's."""
        found = await self.client.find(Secret, self.secret(animal))
        if found is not None and self.is_own(animal, found):
            await self.client.delete(found, uid=found.metadata.uid, missing_ok=True)  # fault

    def secret(self, animal: Animal) -> Secret:
        """The wanted secret, with the name of the animal."""
        secret = super().secret(animal)
        secret.metadata.labels = {"animal": animal.metadata.name or ""}
        return secret

    def is_own(self, animal: Animal, secret: Secret) -> bool:
        """Whether a secret was made for an animal of this name."""
        return (secret.metadata.labels or {}).get("animal") == animal.metadata.name


class ForgetsNamespaceMended(ForgetsNamespace):
    """Knows them by the uid."""

    fault = ""
    secret = Guard.secret
    is_own = Guard.is_own


class SharesAttribute(Keeper):
    """Keeps the animal in an attribute, and works on two animals at a time."""

    fault = "explore-theft"
    animal: Animal

    async def keep(self, animal: Animal) -> None:
        """Look whether there is a discount before the child is applied."""
        self.animal = animal
        discount = await self.client.find(Secret, "discount", namespace="default")
        if discount is None:
            animal = self.chosen(animal)
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault: the one that came last

    def chosen(self, animal: Animal) -> Animal:
        """The animal to work on."""
        return self.animal

    def setup(self, manager: Manager) -> None:
        """Two at a time."""
        builder = ControllerBuilder(manager).for_(Animal).owns(ConfigMap)
        builder.with_options(max_concurrent_reconciles=2).complete(self)


class SharesAttributeMended(SharesAttribute):
    """Keeps it in a local variable."""

    fault = ""

    def chosen(self, animal: Animal) -> Animal:
        """The animal to work on."""
        return animal


class EmptiesNamespace(Guard):
    """Deletes the secrets of all animals of the namespace when one goes. They come back, with other content."""

    fault = "explore-leak"
    neighbours: ClassVar[tuple[Manifest, ...]] = (BOBO,)

    async def clean_up(self, animal: Animal) -> None:
        """Delete what has the label of the namespace."""
        for secret in await self.client.list(Secret, namespace="kube-public"):
            if self.is_to_go(animal, secret):
                await self.client.delete(secret, uid=secret.metadata.uid, missing_ok=True)  # fault

    def secret(self, animal: Animal) -> Secret:
        """The wanted secret, with the namespace."""
        secret = super().secret(animal)
        secret.metadata.labels = {**(secret.metadata.labels or {}), "place": animal.metadata.namespace or ""}
        return secret

    def is_to_go(self, animal: Animal, secret: Secret) -> bool:
        """Whether a secret goes with an animal."""
        return (secret.metadata.labels or {}).get("place") == animal.metadata.namespace


class EmptiesNamespaceMended(EmptiesNamespace):
    """Only its own."""

    fault = ""

    def is_to_go(self, animal: Animal, secret: Secret) -> bool:
        """Whether a secret goes with an animal."""
        return self.is_own(animal, secret)


class CopiesOnce(Keeper):
    """Copies the price from a Secret that it does not watch, and sees no change of it."""

    fault = "explore-drift"
    background: ClassVar[tuple[Manifest, ...]] = (PRICES,)

    async def keep(self, animal: Animal) -> None:
        """Apply the child with the price."""
        name, namespace = f"{animal.metadata.name}-prices", animal.metadata.namespace
        prices = await self.client.find(Secret, name, namespace=namespace)
        child = self.child(animal)
        child.data = {**(child.data or {}), "price": str((prices.data or {}).get("hay", "")) if prices else "unknown"}
        await ensure_applied(self.client, child, owner=animal)  # fault: nothing wakes it


class CopiesOnceMended(CopiesOnce):
    """Watches the Secret."""

    fault = ""

    def setup(self, manager: Manager) -> None:
        """By its name."""

        def animal(secret: Secret) -> list[Request]:
            name = secret.metadata.name or ""
            is_one = name.endswith("-prices")
            return [Request(secret.metadata.namespace, name.removesuffix("-prices"))] if is_one else []

        ControllerBuilder(manager).for_(Animal).owns(ConfigMap).watches(Secret, animal).complete(self)


class AddsLabels(Keeper):
    """Adds the labels of its Secret to those of its child. One that the Secret loses stays (copies by a merge patch)."""

    fault = "explore-drift"
    background: ClassVar[tuple[Manifest, ...]] = (LABELLED,)
    setup = CopiesOnceMended.setup

    async def keep(self, animal: Animal) -> None:
        """Add them."""
        prices = await self.client.find(Secret, f"{animal.metadata.name}-prices", namespace=animal.metadata.namespace)
        wanted = self.child(animal)
        child = ConfigMap(metadata=self.metadata(animal))

        def change() -> None:
            set_controller_reference(animal, child)
            child.data = wanted.data
            present = self.kept(child.metadata.labels or {})
            child.metadata.labels = {**present, **((prices.metadata.labels or {}) if prices is not None else {})}

        await create_or_update(self.client, child, change)  # fault

    def kept(self, present: dict[str, str]) -> dict[str, str]:
        """Which labels of the child stay."""
        return present


class AddsLabelsMended(AddsLabels):
    """Knows its own by their prefix."""

    fault = ""

    def kept(self, present: dict[str, str]) -> dict[str, str]:
        """Those of others."""
        return {name: value for name, value in present.items() if not name.startswith("zoo.example.com/")}


class ReplacesList(Guard):
    """Lets the account of the namespace pull with its secret, and with no other one (Kubernetes: lists are replaced)."""

    fault = "explore-leak"
    background: ClassVar[tuple[Manifest, ...]] = (ACCOUNT,)

    async def make(self, animal: Animal) -> None:
        """Add the secret to the list."""
        account = await self.account(animal)
        present = (account.image_pull_secrets or []) if account is not None else []
        mine = LocalObjectReference(name=f"{animal.metadata.name}-key")
        if account is not None and mine not in present:
            account.image_pull_secrets = [*self.kept(present), mine]
            await self.client.update(account)  # fault: those of others are lost

    async def clean_up(self, animal: Animal) -> None:
        """Take it off the list again."""
        account = await self.account(animal)
        mine = LocalObjectReference(name=f"{animal.metadata.name}-key")
        if account is not None and mine in (account.image_pull_secrets or []):
            account.image_pull_secrets = [each for each in account.image_pull_secrets or [] if each != mine] or None
            await self.client.update(account)

    async def account(self, animal: Animal) -> ServiceAccount | None:
        """The account of the namespace."""
        return await self.client.live.find(ServiceAccount, "default", namespace=animal.metadata.namespace)

    def kept(self, present: list[LocalObjectReference]) -> list[LocalObjectReference]:
        """What stays in the list."""
        return []

    def setup(self, manager: Manager) -> None:
        """Whoever changes an account wakes all animals of its namespace."""

        async def everyone(account: ServiceAccount) -> list[Request]:
            animals = await self.client.list(Animal, namespace=account.metadata.namespace)
            return [Request(each.metadata.namespace or "", each.metadata.name or "") for each in animals]

        ControllerBuilder(manager).for_(Animal).watches(ServiceAccount, everyone).complete(self)


class ReplacesListMended(ReplacesList):
    """Adds to the list."""

    fault = ""

    def kept(self, present: list[LocalObjectReference]) -> list[LocalObjectReference]:
        """All that was in it."""
        return present


class WakesNobody(Keeper):
    """Feeds one animal at a time, who came first. When that one goes, nobody wakes the next (queues with a limit)."""

    fault = "explore-drift"

    async def keep(self, animal: Animal) -> None:
        """Apply the child if it is the animal's turn."""
        if await self.has_turn(animal):
            await ensure_applied(self.client, self.child(animal), owner=animal)  # fault: see `setup`
            animal.status.phase = "Ready"
        else:
            await prune(self.client, ConfigMap, owner=animal)
            animal.status.phase = "Waiting"

    async def has_turn(self, animal: Animal) -> bool:
        """Whether it came first, of those that are there."""
        every = await self.client.live.list(Animal, namespace=animal.metadata.namespace)
        there = [each.metadata for each in every if each.metadata.deletion_timestamp is None]
        return min(there, key=lambda each: (each.creation_timestamp, each.name)).name == animal.metadata.name


class WakesNobodyMended(WakesNobody):
    """Wakes all others."""

    fault = ""

    def setup(self, manager: Manager) -> None:
        """Watch animals for animals."""

        async def others(animal: Animal) -> list[Request]:
            every = await self.client.list(Animal, namespace=animal.metadata.namespace)
            return [Request(each.metadata.namespace, each.metadata.name) for each in every]

        ControllerBuilder(manager).for_(Animal).owns(ConfigMap).watches(Animal, others).complete(self)


class RemembersTurn(WakesNobodyMended):
    """Has in memory whose turn it is. The next process begins with another one."""

    fault = "explore-crash"

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.turn = ""

    async def reconcile(self, request: Request) -> Result | None:
        """Note who has gone."""
        if self.turn == request.name and await self.client.find(Animal, request) is None:
            self.turn = ""
        return await super().reconcile(request)

    async def keep(self, animal: Animal) -> None:
        """Apply the child if it is the animal's turn."""
        if await self.has_turn(animal):
            await ensure_applied(self.client, self.child(animal), owner=animal)
            animal.status.phase = "Ready"
        else:
            await prune(self.client, ConfigMap, owner=animal)  # fault: see `has_turn`
            animal.status.phase = "Waiting"

    async def has_turn(self, animal: Animal) -> bool:
        """Whether it is the one that is remembered, if there is one."""
        self.turn = self.turn or animal.metadata.name or ""
        return self.turn == animal.metadata.name


class RemembersTurnMended(RemembersTurn):
    """Looks who came first."""

    fault = ""

    async def has_turn(self, animal: Animal) -> bool:
        """Whether it came first."""
        return await WakesNobody.has_turn(self, animal)


class IgnoresPark(Keeper):
    """Has the food from the park that the animal names, and does not see when the park comes or changes."""

    fault = "explore-drift"
    sample = LODGER
    neighbours: ClassVar[tuple[Manifest, ...]] = (PARK,)

    async def keep(self, animal: Animal) -> None:
        """Apply the child, with the food of the park."""
        park = await self.client.find(Park, animal.spec.house or "none")
        child = self.child(animal)
        child.data = {**(child.data or {}), "park": park.spec.food if park is not None else ""}
        await ensure_applied(self.client, child, owner=animal)  # fault


class IgnoresParkMended(IgnoresPark):
    """Watches parks for the animals that name them."""

    fault = ""

    def setup(self, manager: Manager) -> None:
        """Find the animals of a park."""

        async def lodgers(park: Park) -> list[Request]:
            every = [each for each in await self.client.list(Animal) if each.spec.house == park.metadata.name]
            return [Request(each.metadata.namespace, each.metadata.name) for each in every]

        ControllerBuilder(manager).for_(Animal).owns(ConfigMap).watches(Park, lodgers).complete(self)


class NeedsParkToGo(Guard):
    """Says goodbye to its park when it goes. If the park went first, that fails for ever."""

    fault = "explore-leak"
    sample = LODGER
    neighbours: ClassVar[tuple[Manifest, ...]] = (PARK,)

    async def clean_up(self, animal: Animal) -> None:
        """Look which park it was."""
        await self.leave(animal.spec.house or "none")
        await super().clean_up(animal)

    async def leave(self, park: str) -> None:
        """Tell the park."""
        if park == PARK["metadata"]["name"]:
            await self.client.get(Park, park)  # fault


class NeedsParkToGoMended(NeedsParkToGo):
    """What is gone needs no goodbye."""

    fault = ""

    async def leave(self, park: str) -> None:
        """Tell the park, if it is there."""
        await self.client.find(Park, park)


class StaysInUse(Reconciler):
    """Keeps a park while animals live in it. When the last one goes, nobody wakes it (Kubernetes: volumes in use)."""

    fault = "explore-leak"
    sample = PARK
    rules = None
    neighbours: ClassVar[tuple[Manifest, ...]] = (LODGER,)

    async def reconcile(self, request: Request) -> None:
        """Let the park go when nobody lives in it."""
        park = await self.client.find(Park, request)
        if park is None:
            return
        if park.metadata.deletion_timestamp is None:
            await ensure_finalizer(self.client, park, FINALIZER)  # fault: see `setup`
        elif not any(each.spec.house == request.name for each in await self.client.live.list(Animal)):
            await release_finalizer(self.client, park, FINALIZER)

    def setup(self, manager: Manager) -> None:
        """Look at parks only."""
        ControllerBuilder(manager).for_(Park).complete(self)


class StaysInUseMended(StaysInUse):
    """Watches the animals for their park."""

    fault = ""

    def setup(self, manager: Manager) -> None:
        """Find the park of an animal."""

        def house(animal: Animal) -> list[Request]:
            return [Request("", animal.spec.house)] if animal.spec.house else []

        ControllerBuilder(manager).for_(Park).watches(Animal, house).complete(self)

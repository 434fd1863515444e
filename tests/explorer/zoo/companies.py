"""Faults that show only beside other objects: elsewhere, at the same time, before, or those that it copies."""

from __future__ import annotations

from typing import ClassVar

from pykb.api.core.v1 import ConfigMap, LocalObjectReference, Secret, ServiceAccount
from pykb.runtime import ControllerBuilder, Manager, Request, ensure_applied
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.zoo.kinds import SAMPLE, Animal, Manifest

PRICES: Manifest = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "kiki-prices", "namespace": "default"},
    "data": {"hay": "Mw=="},
}
ACCOUNT: Manifest = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "default", "namespace": "default"},
    "imagePullSecrets": [{"name": "corporate"}],
}
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

"""Generated passwords. They are random, so that no two histories have the same."""

from __future__ import annotations

import copy
import secrets
import uuid
from typing import ClassVar

from pykb.api.core.v1 import ConfigMap, Secret
from pykb.runtime import Client, NotControlled, ensure_applied, is_controlled_by, set_controller_reference
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal, AnimalStatus


class RotatesPassword(Keeper):
    """Makes another password whenever the spec changes, so that nobody can log in any more."""

    fault = "explore-history"
    owned = (Secret,)
    rotates: ClassVar = True

    async def keep(self, animal: Animal) -> None:
        """Create the Secret with a password. It notes the food for which that was."""
        wanted = Secret(metadata=self.metadata(animal), string_data={"password": secrets.token_urlsafe()})
        set_controller_reference(animal, wanted)
        if self.rotates:
            wanted.metadata.labels = {"food": animal.spec.food}
        found = await self.client.find(Secret, wanted)
        if found is None:
            await self.client.create(wanted)
        elif not is_controlled_by(found, animal):
            self.recorder.event(animal, "Warning", "Taken", "the Secret is somebody else's")
        elif found.metadata.labels != wanted.metadata.labels and self.rotates:
            wanted.metadata.resource_version = found.metadata.resource_version
            await self.client.update(wanted)  # fault


class RotatesPasswordMended(RotatesPassword):
    """Creates it once."""

    fault = ""
    rotates = False


class NotesIdLast(Keeper):
    """Gives its child an id, and notes it afterwards. After a crash in between, it notes another one."""

    fault = "explore-crash"

    async def keep(self, animal: Animal) -> None:
        """Make the child with the id."""
        before = copy.deepcopy(animal.status)
        animal.status.child = animal.status.child or str(uuid.uuid4())
        await self.make(animal, before)

    async def make(self, animal: Animal, before: AnimalStatus) -> None:
        """The child first."""
        wanted = self.child(animal)
        set_controller_reference(animal, wanted)
        if await self.client.find(ConfigMap, wanted) is None:
            await self.client.create(wanted)  # fault

    def child(self, animal: Animal) -> ConfigMap:
        """With the id."""
        child = super().child(animal)
        child.data = {**(child.data or {}), "id": f"id {animal.status.child}"}
        return child


class NotesIdLastMended(NotesIdLast):
    """Notes it first."""

    fault = ""

    async def make(self, animal: Animal, before: AnimalStatus) -> None:
        """The status first. If a stale cache lacks the id, another one is refused."""
        if animal.status != before:
            await self.client.status.update(animal)
        await ensure_applied(self.client, self.child(animal), owner=animal)

    async def report(self, animal: Animal, before: AnimalStatus) -> None:
        """There is nothing else to say."""


class TakesSecret(Keeper):
    """Writes its password into any Secret of that name."""

    fault = "explore-theft"
    owned = (Secret,)

    async def keep(self, animal: Animal) -> None:
        """Apply by force."""
        wanted = self.secret(animal)
        found = await self.client.find(Secret, wanted)
        if found is None or (found.data or {}).get("food") != animal.spec.food.encode():
            set_controller_reference(animal, wanted)
            await self.client.apply(wanted, force=True)  # fault

    def secret(self, animal: Animal) -> Secret:
        """The food as a password."""
        return Secret(metadata=self.metadata(animal), string_data={"food": animal.spec.food})


class TakesSecretMended(TakesSecret):
    """Only into its own."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Warn when the name is taken."""
        try:
            await ensure_applied(self.client, self.secret(animal), owner=animal)
        except NotControlled as error:
            self.recorder.event(animal, "Warning", "Taken", str(error))
            raise


class KeepsSecret(TakesSecretMended):
    """Creates a Secret once. Whoever changes it has broken it for good."""

    fault = "explore-drift"

    async def keep(self, animal: Animal) -> None:
        """Create it, unless one that will do is there."""
        wanted = self.secret(animal)
        found = await self.client.find(Secret, wanted)
        if found is None or (found.metadata.annotations or {}).get("for") != animal.spec.food:
            await ensure_applied(self.client, wanted, owner=animal)  # fault

    def secret(self, animal: Animal) -> Secret:
        """With the food that it is for."""
        secret = super().secret(animal)
        secret.metadata.annotations = {"for": animal.spec.food}
        return secret


class KeepsSecretMended(KeepsSecret):
    """Applies it in each reconcile."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Warn when the name is taken."""
        await TakesSecretMended.keep(self, animal)


class SignsAnew(Keeper):
    """Each process signs the certificate anew, which the settings accept, and makes another password with it."""

    fault = "explore-crash"
    owned = (Secret,)
    ignore = ("Secret.data.tls.crt",)

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.signed: set[str | None] = set()

    async def keep(self, animal: Animal) -> None:
        """Sign it once in a process."""
        wanted = Secret(metadata=self.metadata(animal))
        found = await self.client.live.find(Secret, wanted)
        if found is not None and found.metadata.uid in self.signed:
            return
        wanted.data = {"tls.crt": secrets.token_bytes(), "password": self.password(found)}
        try:
            applied, _ = await ensure_applied(self.client, wanted, owner=animal)  # fault
        except NotControlled as error:
            self.recorder.event(animal, "Warning", "Taken", str(error))
            raise
        self.signed.add(applied.metadata.uid)

    def password(self, found: Secret | None) -> bytes:
        """The password."""
        return secrets.token_bytes()


class SignsAnewMended(SignsAnew):
    """Keeps the password."""

    fault = ""

    def password(self, found: Secret | None) -> bytes:
        """Make it once."""
        return ((found.data or {}) if found is not None else {}).get("password") or secrets.token_bytes()

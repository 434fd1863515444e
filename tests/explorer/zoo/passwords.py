"""Generated passwords. They are random, so that no two histories have the same."""

from __future__ import annotations

import secrets
from typing import ClassVar

from pykb.api.core.v1 import Secret
from pykb.runtime import is_controlled_by, set_controller_reference
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal


class RotatesPassword(Keeper):
    """Makes another password whenever the spec changes, so that nobody can log in any more."""

    fault = "explore-history"
    owned = (Secret,)
    rotates: ClassVar = True

    async def keep(self, animal: Animal) -> None:
        """Create the Secret with a password. It notes the food for which that was."""
        wanted = Secret(metadata=self.metadata(animal), string_data={"password": secrets.token_urlsafe()})
        wanted.immutable = not self.rotates
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

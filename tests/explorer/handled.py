"""What the operators of handlers in the zoo have in common: a sound operator of kopf, which the zoo spoils.

It stands outside the zoo's folder, so that findings name lines of the zoo.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any, ClassVar

import kopf

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import Client, Manager, NotControlled, ensure_applied
from tests.explorer.zoo.kinds import SAMPLE, Animal, Manifest

ANIMALS = ("zoo.example.com", "v1", "animals")


class Handled:
    """An operator of handlers. It makes one ConfigMap for each Animal."""

    fault: ClassVar[str] = ""
    sample: ClassVar[Manifest] = SAMPLE
    rules: ClassVar[list[Manifest] | None] = None

    def __init__(self, client: Client) -> None:
        self.client = client
        self.registry = kopf.OperatorRegistry()

    def setup(self, manager: Manager) -> None:
        """Register the handlers."""
        self.register()
        manager.add_kopf_handlers(self.registry)

    def register(self) -> None:
        """Keep the child at each change, and whenever somebody else changes it."""
        for on in (kopf.on.create, kopf.on.update, kopf.on.resume):
            on(*ANIMALS, registry=self.registry)(self.keep)
        kopf.on.event("", "v1", "configmaps", registry=self.registry)(self.look)

    async def keep(self, body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
        """Apply the child."""
        await self.apply(Animal.from_wire(body), patch)

    async def apply(self, animal: Animal, patch: kopf.Patch) -> None:
        """Apply the children, unless somebody else has one of their names."""
        try:
            for child in self.children(animal):
                await ensure_applied(self.client, child, owner=animal)
        except NotControlled as error:
            patch.status["phase"] = "Conflict"
            raise kopf.TemporaryError(str(error), delay=60) from error
        patch.status["phase"] = "Ready"

    async def look(self, meta: kopf.Meta, **_: Any) -> None:
        """Apply the child of which somebody has changed or deleted something."""
        for owner in meta.get("ownerReferences") or ():
            animal = await self.client.find(Animal, f"{meta['namespace']}/{owner['name']}")
            if animal is not None and animal.metadata.deletion_timestamp is None:
                for child in self.children(animal):
                    with contextlib.suppress(NotControlled):
                        await ensure_applied(self.client, child, owner=animal)

    def children(self, animal: Animal) -> Iterable[ConfigMap]:
        """All that is wanted."""
        return [self.child(animal)]

    def child(self, animal: Animal) -> ConfigMap:
        """The only child of most."""
        data = {"food": animal.spec.food, "names": ",".join(animal.spec.names)}
        meta = ObjectMeta(name=f"{animal.metadata.name}-menu", namespace=animal.metadata.namespace)
        return ConfigMap(metadata=meta, data=data)

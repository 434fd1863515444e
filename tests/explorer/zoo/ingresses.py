"""Faults about Ingresses: their class says which controller serves them."""

from __future__ import annotations

from pykb.api.meta.v1 import ObjectMeta
from pykb.api.networking.v1 import (
    HTTPIngressPath,
    HTTPIngressRuleValue,
    Ingress,
    IngressBackend,
    IngressRule,
    IngressServiceBackend,
    IngressSpec,
    ServiceBackendPort,
)
from pykb.runtime import NotControlled, ensure_applied, is_controlled_by, set_controller_reference
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal


def route(animal: Animal, name: str) -> Ingress:
    """The wanted Ingress, of the class `zoo`."""
    port = ServiceBackendPort(number=animal.spec.count + 1)
    backend = IngressBackend(service=IngressServiceBackend(name=animal.spec.food, port=port))
    paths = [HTTPIngressPath(backend=backend, path_type="Prefix", path="/")]
    rule = IngressRule(host=f"{animal.spec.house or 'no'}.example.com", http=HTTPIngressRuleValue(paths=paths))
    metadata = ObjectMeta(name=name, namespace=animal.metadata.namespace)
    return Ingress(metadata=metadata, spec=IngressSpec(ingress_class_name="zoo", rules=[rule]))


class LeavesClass(Keeper):
    """Compares the rules only: with a class that somebody else sets, another controller serves it (akyriako/typesense-operator #37)."""

    fault = "explore-drift"
    owned = (Ingress,)

    async def keep(self, animal: Animal) -> None:
        """Apply the Ingress, unless it is right."""
        wanted = route(animal, self.name(animal))
        found = await self.client.find(Ingress, wanted)
        if found is None or not is_controlled_by(found, animal) or not self.is_right(found, wanted):
            await ensure_applied(self.client, wanted, owner=animal)  # fault: not always called

    def is_right(self, found: Ingress, wanted: Ingress) -> bool:
        """Whether it has the wanted rules."""
        assert found.spec is not None
        assert wanted.spec is not None
        return found.spec.rules == wanted.spec.rules


class LeavesClassMended(LeavesClass):
    """Compares the class, too."""

    fault = ""

    def is_right(self, found: Ingress, wanted: Ingress) -> bool:
        """Whether it has the wanted rules and the wanted class."""
        return found.spec == wanted.spec


class TakesClass(Keeper):
    """Gives its class to an Ingress of somebody else, whose controller then drops it (kubernetes/kubernetes #24393)."""

    fault = "explore-theft"
    owned = (Ingress,)

    async def keep(self, animal: Animal) -> None:
        """Apply by force, without a look at the owner."""
        wanted = route(animal, self.name(animal))
        found = await self.client.find(Ingress, wanted)
        if found is None or found.spec != wanted.spec:
            set_controller_reference(animal, wanted)
            await self.client.apply(wanted, force=True)  # fault


class TakesClassMended(TakesClass):
    """Refuses, and says so."""

    fault = ""

    async def keep(self, animal: Animal) -> None:
        """Warn when the name is taken."""
        try:
            await ensure_applied(self.client, route(animal, self.name(animal)), owner=animal)
        except NotControlled as error:
            self.recorder.event(animal, "Warning", "Taken", str(error))
            raise

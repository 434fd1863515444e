"""Faults that show only where Kubernetes' own controllers act: the garbage collector, autoscalers."""

from __future__ import annotations

from pykb.api.apps.v1 import Deployment
from pykb.api.autoscaling.v2 import (
    CrossVersionObjectReference,
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec,
)
from pykb.api.core.v1 import ConfigMap, Namespace
from pykb.api.meta.v1 import ObjectMeta, OwnerReference
from pykb.api.rbac.v1 import ClusterRole, PolicyRule
from pykb.client.codec import to_wire
from pykb.runtime import (
    ControllerBuilder,
    Manager,
    MergePatch,
    NotControlled,
    Reconciler,
    Request,
    ensure_applied,
    ensure_finalizer,
)
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.zoo.kinds import FINALIZER, PARK, Animal, Park
from tests.explorer.zoo.specs import deployment

_RULES = [PolicyRule(api_groups=["zoo.example.com"], resources=["animals"], verbs=["get"])]


class OwnsClusterRole(Guard):
    """Makes an object of the cluster the child of one in a namespace: nothing collects it (kubernetes.io: owners)."""

    fault = "explore-leak"

    async def begin(self, animal: Animal) -> None:
        """Create the role, unless it is there."""
        await self.protect(animal)
        wanted = ClusterRole(metadata=self.about(animal), rules=_RULES)
        found = await self.client.find(ClusterRole, wanted)
        if found is None:
            await self.client.create(wanted)  # fault
        elif not self.is_made_for(animal, found):
            self.recorder.event(animal, "Warning", "Taken", "the role is somebody else's")
        elif found.rules != _RULES:
            await self.client.patch(found, MergePatch({"rules": to_wire(wanted)["rules"]}))

    async def protect(self, animal: Animal) -> None:
        """Nothing holds the animal."""

    def about(self, animal: Animal) -> ObjectMeta:
        """The name of the role, and its owner."""
        name, uid = animal.metadata.name or "", animal.metadata.uid or ""
        owner = OwnerReference(api_version="zoo.example.com/v1", kind="Animal", name=name, uid=uid)
        return ObjectMeta(name=f"{name}-reader", labels={"animal": uid}, owner_references=[owner])

    def is_made_for(self, animal: Animal, role: ClusterRole) -> bool:
        """Whether a role was made for this animal."""
        return (role.metadata.labels or {}).get("animal") == animal.metadata.uid

    async def clean_up(self, animal: Animal) -> None:
        """Delete the role, if it is this animal's."""
        found = await self.client.find(ClusterRole, ClusterRole(metadata=self.about(animal)))
        if found is not None and self.is_made_for(animal, found):
            await self.client.delete(found, uid=found.metadata.uid, missing_ok=True)

    def setup(self, manager: Manager) -> None:
        """Watch the roles by name."""

        def owner(role: ClusterRole) -> list[Request]:
            return [Request("default", (role.metadata.name or "").removesuffix("-reader"))]

        ControllerBuilder(manager).for_(Animal).watches(ClusterRole, owner).complete(self)


class OwnsClusterRoleMended(OwnsClusterRole):
    """A finalizer, and no owner."""

    fault = ""

    async def protect(self, animal: Animal) -> None:
        """Hold the animal."""
        await ensure_finalizer(self.client, animal, FINALIZER)

    def about(self, animal: Animal) -> ObjectMeta:
        """The name of the role."""
        return ObjectMeta(name=f"{animal.metadata.name}-reader", labels={"animal": animal.metadata.uid or ""})


class LeavesNamespace(Reconciler):
    """Gives each park a namespace without an owner, and also one that is there (operators for tenants)."""

    fault = "explore-leak"
    sample = PARK
    rules = None

    async def reconcile(self, request: Request) -> None:
        """Keep one child in the namespace."""
        park = await self.client.find(Park, request)
        if park is None or park.metadata.deletion_timestamp is not None:
            return
        namespace = f"park-{request.name}"
        await self.make(park, Namespace(metadata=ObjectMeta(name=namespace)))
        child = ConfigMap(metadata=ObjectMeta(name="map", namespace=namespace), data={"food": park.spec.food})
        await ensure_applied(self.client, child, owner=park)

    async def make(self, park: Park, namespace: Namespace) -> None:
        """Create the namespace."""
        if await self.client.find(Namespace, namespace) is None:
            await self.client.create(namespace)  # fault

    def setup(self, manager: Manager) -> None:
        """Register with the manager."""
        ControllerBuilder(manager).for_(Park).owns(Namespace).owns(ConfigMap).complete(self)


class LeavesNamespaceMended(LeavesNamespace):
    """The park owns it."""

    fault = ""

    async def make(self, park: Park, namespace: Namespace) -> None:
        """Apply the namespace."""
        try:
            await ensure_applied(self.client, namespace, owner=park)
        except NotControlled as error:
            self.recorder.event(park, "Warning", "Taken", str(error))
            raise


class FightsAutoscaler(Keeper):
    """Applies the replicas that its own autoscaler changes (operatorframework.io: best practices)."""

    fault = "explore-loop"
    owned = (Deployment, HorizontalPodAutoscaler)

    async def keep(self, animal: Animal) -> None:
        """Apply both."""
        metadata = self.metadata(animal)
        reference = CrossVersionObjectReference(api_version="apps/v1", kind="Deployment", name=metadata.name or "")
        spec = HorizontalPodAutoscalerSpec(scale_target_ref=reference, min_replicas=animal.spec.count, max_replicas=200)
        scaler = HorizontalPodAutoscaler(metadata=self.metadata(animal), spec=spec)
        await ensure_applied(self.client, self.workload(animal), owner=animal)  # fault
        await ensure_applied(self.client, scaler, owner=animal)

    def workload(self, animal: Animal) -> Deployment:
        """A Deployment with its replicas."""
        return deployment(animal, self.metadata(animal))


class FightsAutoscalerMended(FightsAutoscaler):
    """Leaves the replicas to the autoscaler."""

    fault = ""

    def workload(self, animal: Animal) -> Deployment:
        """A Deployment without replicas."""
        wanted = super().workload(animal)
        assert wanted.spec is not None
        wanted.spec.replicas = None
        return wanted

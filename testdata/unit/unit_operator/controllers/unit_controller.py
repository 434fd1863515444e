# Copyright fanux
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The controller of Unit."""

import copy
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from pykb.api.apps.v1 import Deployment, StatefulSet
from pykb.api.conditions import set_condition
from pykb.api.core.v1 import PersistentVolumeClaim, Service
from pykb.api.meta.v1 import Condition
from pykb.api.networking.v1 import Ingress
from pykb.runtime import (
    ApiError,
    Client,
    ControllerBuilder,
    EventRecorder,
    Manager,
    NotControlled,
    Reconciler,
    Request,
    Result,
    ensure_deleted,
    ensure_finalizer,
    patch_status,
    release_finalizer,
)

from unit_operator.api.v1 import Unit
from unit_operator.api.v1.unit_types import UnitStatus
from unit_operator.resources import resources_of

FINALIZER = "custom.example.com/pre-delete"
DRAIN_INTERVAL = timedelta(seconds=1)

PreDelete = Callable[[Client, Unit], Awaitable[bool]]
"""Runs before a Unit goes, again and again until it says that it is done; an error is tried again too."""


async def take_out_of_traffic(client: Client, unit: Unit) -> bool:
    """The pre-delete hook: nobody is sent to Pods that are about to go. Done when the Unit's Ingress is gone."""
    return await ensure_deleted(client.live, Ingress, unit, owner=unit)


Failure = ApiError | NotControlled
"""Why an object of a Unit could not be applied."""


def reason_of(failure: Failure) -> str:
    """What events and conditions call it."""
    return "ErrResourceExists" if isinstance(failure, NotControlled) else "ApplyFailed"


class UnitReconciler(Reconciler):
    """Keeps the workload, the Service, the Ingress and the claim of every Unit."""

    def __init__(
        self, client: Client, pre_delete: PreDelete = take_out_of_traffic, *, recorder: EventRecorder | None = None
    ) -> None:
        """Run the given hook before a Unit goes."""
        super().__init__(client, recorder=recorder)
        self.pre_delete = pre_delete

    # +kubebuilder:rbac:groups=custom.example.com,resources=units,verbs=get;list;watch;patch
    # +kubebuilder:rbac:groups=custom.example.com,resources=units/status,verbs=get;update;patch
    # +kubebuilder:rbac:groups=custom.example.com,resources=units/finalizers,verbs=update
    # +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;create;patch;delete
    # +kubebuilder:rbac:groups="",resources=services;persistentvolumeclaims,verbs=get;list;watch;create;patch;delete
    # +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=get;list;watch;create;patch;delete
    # +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
    async def reconcile(self, request: Request) -> Result:
        """Bring about what one Unit owns, then write its status, once.

        Raises:
            ExceptionGroup: Some objects were refused, or belong to somebody else; the manager tries again.
        """
        unit = await self.client.find(Unit, request)
        if unit is None:
            return Result()
        if unit.metadata.deletion_timestamp is not None:
            return await self.finish(unit)
        await ensure_finalizer(self.client, unit, FINALIZER)

        before = copy.deepcopy(unit.status)
        failures = await self.apply_all(unit)
        unit.status.conditions = self.conditions_of(unit, failures)
        await self.write_status(unit, before)
        if failures:
            raise ExceptionGroup(f"{len(failures)} objects of Unit {request} were refused", failures)
        return Result()

    async def apply_all(self, unit: Unit) -> list[Failure]:
        """Apply every object; one that is refused stops none of the others."""
        failures: list[Failure] = []
        for resource in resources_of(unit):
            try:
                found = await resource.apply(self.client)
            except (ApiError, NotControlled) as error:
                self.recorder.event(unit, "Warning", reason_of(error), f"{resource.kind.__name__}: {error}")
                failures.append(error)
                found = await resource.exists(self.client)
            resource.update_status(unit.status, found)
        return failures

    def conditions_of(self, unit: Unit, failures: list[Failure]) -> list[Condition]:
        """The condition Applied, which names what stands against it."""
        return set_condition(
            unit.status.conditions,
            "Applied",
            not failures,
            reason=reason_of(failures[0]) if failures else "Applied",
            message="; ".join(map(str, failures)),
            observed_generation=unit.metadata.generation,
        )

    async def write_status(self, unit: Unit, before: UnitStatus) -> None:
        """Write the status when it says something new; the time of the last update is nothing new."""
        unit.status.last_update_time = before.last_update_time
        if unit.status == before:
            return
        unit.status.last_update_time = datetime.now(UTC)
        await patch_status(self.client, unit, before)

    async def finish(self, unit: Unit) -> Result:
        """Hold a deleted Unit until its hook has done its work; what it owns is then collected as garbage."""
        if FINALIZER in (unit.metadata.finalizers or ()):
            if not await self.pre_delete(self.client, unit):
                return Result(requeue_after=DRAIN_INTERVAL)
            await release_finalizer(self.client, unit, FINALIZER)
        return Result()

    def setup(self, manager: Manager) -> None:
        """Register with the manager; a change of anything that a Unit owns wakes the Unit."""
        controller = ControllerBuilder(manager).for_(Unit)
        for kind in (Deployment, StatefulSet, Service, Ingress, PersistentVolumeClaim):
            controller.owns(kind)
        controller.complete(self)

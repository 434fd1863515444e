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

"""The controller of VirtulMachine."""

from datetime import UTC, datetime

from pykb.api.conditions import find_condition, set_condition
from pykb.runtime import (
    Client,
    ControllerBuilder,
    Manager,
    Reconciler,
    Request,
    Result,
    TerminalError,
    ensure_finalizer,
    release_finalizer,
)

from sealvm.api.v1 import VirtulMachine
from sealvm.hypervisor import Hypervisor, Machine, NoRoomError

FINALIZER = "infra.sealyun.com/machine"


def uid_of(machine: VirtulMachine) -> str:
    """What tells an object from another one that has its name later."""
    return machine.metadata.uid or ""


class VirtulMachineReconciler(Reconciler):
    """Runs a machine for every VirtulMachine, and stops it before the object goes."""

    def __init__(self, client: Client, hypervisor: Hypervisor) -> None:
        """Run the machines on the given hypervisor."""
        super().__init__(client)
        self.hypervisor = hypervisor

    # +kubebuilder:rbac:groups=infra.sealyun.com,resources=virtulmachines,verbs=get;list;watch;create;update;patch;delete
    # +kubebuilder:rbac:groups=infra.sealyun.com,resources=virtulmachines/status,verbs=get;update;patch
    # +kubebuilder:rbac:groups=infra.sealyun.com,resources=virtulmachines/finalizers,verbs=update
    # +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
    async def reconcile(self, request: Request) -> Result:
        """Start one machine, delete it when its time is over, or stop it when it is deleted."""
        machine = await self.client.find(VirtulMachine, request)
        await self.stop_others(request, machine)
        if machine is None:
            return Result()
        if machine.metadata.deletion_timestamp is not None:
            self.hypervisor.stop(uid_of(machine))
            await release_finalizer(self.client, machine, FINALIZER)
            return Result()

        # First the finalizer, then the machine: without one, a machine could outlive its object.
        await ensure_finalizer(self.client, machine, FINALIZER)
        self.start(str(request), machine)
        await self.report_running(machine)
        return await self.retire(machine)

    async def stop_others(self, request: Request, machine: VirtulMachine | None) -> None:
        """Stop machines of objects that had this name before.

        Their finalizer was taken off by hand, or this process has not seen their end. The cache may be behind, and
        show the old one of two objects of one name. So the API server says which one is there.
        """
        known = machine.metadata.uid if machine is not None else None
        if others := [uid for uid in self.hypervisor.named(str(request)) if uid != known]:
            live = await self.client.live.find(VirtulMachine, request)
            for uid in others:
                if live is None or live.metadata.uid != uid:
                    self.hypervisor.stop(uid)

    def start(self, name: str, machine: VirtulMachine) -> None:
        """Start the machine; an error is raised, so that the manager tries again until there is room."""
        self.logger.info("machine %s: cpu %s, memory %s", name, machine.spec.cpu, machine.spec.memory)
        try:
            self.hypervisor.start(uid_of(machine), Machine(name, int(machine.spec.cpu)))
        except NoRoomError as error:
            self.recorder.event(machine, "Warning", "NoRoom", str(error))
            raise
        except ValueError as error:  # the machine is older than the webhook that refuses it
            self.recorder.event(machine, "Warning", "NotANumber", f"spec.cpu: {error}")
            raise TerminalError("the number of CPUs must be corrected first") from error

    async def report_running(self, machine: VirtulMachine) -> None:
        """Write the status, once, through its subresource."""
        if machine.status.status == "Running":
            return
        machine.status.status = "Running"
        machine.status.conditions = set_condition(machine.status.conditions, "Running", True, reason="Started")
        await self.client.status.update(machine)
        alike = await self.alike(machine)
        self.recorder.event(machine, "Normal", "Started", f"{len(alike)} with {machine.spec.cpu} CPUs in the namespace")

    async def retire(self, machine: VirtulMachine) -> Result:
        """Delete the machine when it has run for its lifetime, else come back then."""
        started = find_condition(machine.status.conditions, "Running")
        if machine.spec.lifetime is None or started is None:
            return Result()
        left = started.last_transition_time + machine.spec.lifetime - datetime.now(UTC)
        if left.total_seconds() > 0:
            return Result(requeue_after=left)
        # Only this object as it was read: not another of its name, nor one that has been given more time.
        await self.client.delete(
            machine, uid=machine.metadata.uid, resource_version=machine.metadata.resource_version, missing_ok=True
        )
        return Result()

    async def alike(self, machine: VirtulMachine) -> list[str]:
        """Name the machines of the namespace with as many CPUs; the API server selects them by the field."""
        fields = {"spec.cpu": machine.spec.cpu}
        found = await self.client.live.list(VirtulMachine, namespace=machine.metadata.namespace, fields=fields)
        return [other.metadata.name or "" for other in found]

    def setup(self, manager: Manager) -> None:
        """Register with the manager."""
        ControllerBuilder(manager).for_(VirtulMachine).complete(self)

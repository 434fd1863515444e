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

"""VirtulMachineReconciler against a real API server."""

from datetime import timedelta

import pytest
import yaml
from pykb.api import Quantity
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import Client, Conflict, ManagerOptions, Request, Result
from pykb.testing import RunManager, eventually

from sealvm.api.v1 import VirtulMachine
from sealvm.api.v1.virtulmachine_types import VirtulMachineSpec
from sealvm.controllers.virtulmachine_controller import FINALIZER, VirtulMachineReconciler
from sealvm.hypervisor import Hypervisor, Machine, NoRoomError

pytestmark = pytest.mark.usefixtures("crds")
SAMPLE = "config/samples/infra_v1_virtulmachine.yaml"


async def create(client: Client, namespace: str, name: str, cpu: int, lifetime: timedelta | None = None) -> Request:
    """Create a machine and return the request for it."""
    spec = VirtulMachineSpec(cpu=str(cpu), memory=Quantity("1Gi"), lifetime=lifetime)
    await client.create(VirtulMachine(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec))
    return Request(namespace, name)


async def test_runs_the_sample(client: Client, namespace: str, pytestconfig: pytest.Config) -> None:
    """The API server accepts the sample; its machine runs, its status says so, and it is seen to again in time."""
    sample = yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8"))
    machine = VirtulMachine.from_wire(sample)
    machine.metadata.namespace = namespace
    await client.create(machine)
    request = Request(namespace, "virtulmachine-sample")
    hypervisor = Hypervisor(cpus=4)

    result = await VirtulMachineReconciler(client, hypervisor).reconcile(request)

    assert result.requeue_after is not None
    assert timedelta(0) < result.requeue_after <= timedelta(seconds=10)
    machine = await client.get(VirtulMachine, request)
    assert hypervisor.machines == {machine.metadata.uid: Machine(str(request), 1)}
    assert machine.status.status == "Running"
    assert machine.metadata.finalizers == [FINALIZER]


async def test_leaves_an_absent_object_alone(client: Client, namespace: str) -> None:
    """A request may outlive its object."""
    reconciler = VirtulMachineReconciler(client, Hypervisor(cpus=4))
    assert await reconciler.reconcile(Request(namespace, "absent")) == Result()


async def test_stops_the_machine_before_the_object_goes(client: Client, namespace: str) -> None:
    """The finalizer holds a deleted object until its machine was stopped."""
    request = await create(client, namespace, "held", cpu=1)
    hypervisor = Hypervisor(cpus=4)
    reconciler = VirtulMachineReconciler(client, hypervisor)
    await reconciler.reconcile(request)

    machine = await client.get(VirtulMachine, request)
    await client.delete(machine)
    assert (await client.get(VirtulMachine, request)).metadata.deletion_timestamp is not None
    assert hypervisor.machines

    await reconciler.reconcile(request)
    assert not hypervisor.machines
    assert await client.find(VirtulMachine, request) is None


async def test_stops_a_machine_whose_object_has_gone(client: Client, namespace: str) -> None:
    """Somebody took the finalizer off by hand: the machine does not outlive its object for long."""
    request = await create(client, namespace, "gone", cpu=1)
    hypervisor = Hypervisor(cpus=4)
    reconciler = VirtulMachineReconciler(client, hypervisor)
    await reconciler.reconcile(request)
    machine = await client.get(VirtulMachine, request)
    machine.metadata.finalizers = None
    await client.delete(await client.update(machine))
    assert await reconciler.reconcile(request) == Result()
    assert not hypervisor.machines


async def test_a_cache_that_is_behind_stops_no_namesake(client: Client, namespace: str) -> None:
    """It still shows the end of an object, and the machine of another one with its name runs already."""
    request = await create(client, namespace, "again", cpu=1)
    hypervisor = Hypervisor(cpus=4)
    reconciler = VirtulMachineReconciler(client, hypervisor)
    await reconciler.reconcile(request)
    machine = await client.get(VirtulMachine, request)
    await client.delete(machine)
    ending = await client.get(VirtulMachine, request)
    await reconciler.reconcile(request)
    await create(client, namespace, "again", cpu=2)
    await reconciler.reconcile(request)
    running = dict(hypervisor.machines)
    for cached in (machine, ending, None):
        await reconciler.stop_others(request, cached)
        assert hypervisor.machines == running

    hypervisor.start(machine.metadata.uid or "", Machine(str(request), 1))  # by the cache that is behind
    await reconciler.reconcile(request)
    assert hypervisor.machines == running


async def test_a_machine_that_was_given_more_time_stays(client: Client, namespace: str) -> None:
    """What the controller read a moment ago does not count any more."""
    request = await create(client, namespace, "longer", cpu=1, lifetime=timedelta(0))
    reconciler = VirtulMachineReconciler(client, Hypervisor(cpus=4))
    machine = await client.get(VirtulMachine, request)
    await reconciler.report_running(machine)
    longer = machine.model_copy(deep=True)
    longer.spec.lifetime = timedelta(hours=1)
    await client.update(longer)
    with pytest.raises(Conflict):
        await reconciler.retire(machine)
    assert (await client.get(VirtulMachine, request)).metadata.deletion_timestamp is None


async def test_finds_machines_alike(client: Client, namespace: str) -> None:
    """The API server lists machines by their number of CPUs."""
    request = await create(client, namespace, "small", cpu=1)
    await create(client, namespace, "large", cpu=2)
    await create(client, namespace, "small-too", cpu=1)
    machine = await client.get(VirtulMachine, request)
    assert sorted(await VirtulMachineReconciler(client, Hypervisor(cpus=4)).alike(machine)) == ["small", "small-too"]


async def test_reports_that_there_is_no_room(client: Client, namespace: str) -> None:
    """A machine that finds no room is an error, for the manager to try again, and an event, for people."""
    request = await create(client, namespace, "large", cpu=8)
    with pytest.raises(NoRoomError, match="needs 8 CPUs, 4 are free"):
        await VirtulMachineReconciler(client, Hypervisor(cpus=4)).reconcile(request)
    assert (await client.get(VirtulMachine, request)).status.status is None


async def test_tries_again_until_there_is_room(client: Client, namespace: str, run_manager: RunManager) -> None:
    """The machine that did not fit runs as soon as another one has gone."""
    hypervisor = Hypervisor(cpus=4)

    async def runs(request: Request) -> None:
        assert (await client.get(VirtulMachine, request)).status.status == "Running"

    options = ManagerOptions(namespaces=(namespace,))
    async with run_manager(
        lambda manager: VirtulMachineReconciler(manager.client, hypervisor).setup(manager), options=options
    ):
        first = await create(client, namespace, "first", cpu=3)
        await eventually(lambda: runs(first))
        second = await create(client, namespace, "second", cpu=3)
        with pytest.raises(AssertionError):
            await eventually(lambda: runs(second), timeout=timedelta(seconds=1))
        await client.delete(await client.get(VirtulMachine, first))
        await eventually(lambda: runs(second), timeout=timedelta(seconds=30))


async def test_deletes_a_machine_when_its_time_is_over(client: Client, namespace: str, run_manager: RunManager) -> None:
    """A machine with a lifetime is deleted after it, and stopped."""
    hypervisor = Hypervisor(cpus=4)

    async def is_gone(request: Request) -> bool:
        return await client.find(VirtulMachine, request) is None

    options = ManagerOptions(namespaces=(namespace,))
    async with run_manager(
        lambda manager: VirtulMachineReconciler(manager.client, hypervisor).setup(manager), options=options
    ):
        request = await create(client, namespace, "short-lived", cpu=1, lifetime=timedelta(seconds=2))
        await eventually(lambda: is_gone(request), timeout=timedelta(seconds=30))
        assert not hypervisor.machines

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

"""The webhooks of VirtulMachine, called by a real API server."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import pytest_asyncio
import yaml
from pykb.api import Quantity
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import Client, Invalid
from pykb.testing import RunManager

from sealvm.api.v1 import VirtulMachine
from sealvm.api.v1.virtulmachine_types import VirtulMachineSpec
from sealvm.webhooks.v1.virtulmachine_webhook import VirtulMachineValidator, setup_virtulmachine_webhook

pytestmark = pytest.mark.usefixtures("crds")
SAMPLE = "config/samples/infra_v1_virtulmachine.yaml"


@pytest_asyncio.fixture
async def machines(client: Client, namespace: str, run_manager: RunManager) -> AsyncIterator["Machines"]:
    """Makes machines in a cluster that asks the webhooks."""
    async with run_manager(setup_virtulmachine_webhook):
        yield Machines(client, namespace)


class Machines:
    """The machines of a namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        """Make them with a client."""
        self.client = client
        self.namespace = namespace

    async def create(self, name: str, cpu: str, memory: str | None = None, seconds: int = 600) -> VirtulMachine:
        """Make a machine; what the cluster made of it."""
        size = Quantity(memory) if memory is not None else None
        spec = VirtulMachineSpec(cpu=cpu, memory=size, lifetime=timedelta(seconds=seconds))
        metadata = ObjectMeta(name=name, namespace=self.namespace)
        return await self.client.create(VirtulMachine(metadata=metadata, spec=spec))


async def test_the_sample_is_admitted(machines: Machines, pytestconfig: pytest.Config) -> None:
    """As it is: it says its memory itself."""
    sample = yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8"))
    resource = VirtulMachine.from_wire(sample)
    resource.metadata.namespace = machines.namespace
    created = await machines.client.create(resource)
    assert created.spec == resource.spec


async def test_memory_goes_by_the_cpus(machines: Machines) -> None:
    """Where the author says nothing; what he says stays."""
    assert (await machines.create("three", cpu="3")).spec.memory == Quantity("6Gi")
    assert (await machines.create("own", cpu="3", memory="1Gi")).spec.memory == Quantity("1Gi")


@pytest.mark.parametrize(
    ("cpu", "memory", "seconds", "fields"),
    [
        ("many", "1Gi", 600, ["spec.cpu"]),
        ("0", None, 600, ["spec.cpu"]),
        ("65", "1Gi", 600, ["spec.cpu"]),
        ("1", "64Mi", 600, ["spec.memory"]),
        ("1", "1Gi", -1, ["spec.lifetime"]),
        ("-1", "1", 0, ["spec.cpu", "spec.memory", "spec.lifetime"]),
    ],
)
async def test_what_makes_no_sense_is_refused(
    machines: Machines, cpu: str, memory: str | None, seconds: int, fields: list[str]
) -> None:
    """With all of it in one answer, each at its field."""
    with pytest.raises(Invalid) as refused:
        await machines.create("odd", cpu, memory, seconds)
    assert [cause.field for cause in refused.value.causes] == fields


async def test_a_machine_keeps_its_size(machines: Machines) -> None:
    """Its lifetime may change, and everything that is not its spec."""
    machine = await machines.create("fixed", cpu="1")
    machine.spec.lifetime = timedelta(hours=1)
    machine.metadata.labels = {"kept": "longer"}
    machine = await machines.client.update(machine)
    machine.spec.cpu = "2"
    with pytest.raises(Invalid, match="a machine keeps its size"):
        await machines.client.update(machine)


async def test_a_short_life_is_said() -> None:
    """A warning, no refusal."""
    spec = VirtulMachineSpec(cpu="1", lifetime=timedelta(seconds=10))
    warnings = await VirtulMachineValidator().validate_create(VirtulMachine(spec=spec))
    assert warnings == ["the machine is deleted after 10 seconds"]


async def test_what_was_stored_before_the_rules_can_still_go(
    client: Client, namespace: str, run_manager: RunManager
) -> None:
    """Its finalizer goes by an update, which is defaulted and judged like any other."""
    before = Machines(client, namespace)
    odd = await before.create("odd", cpu="many", seconds=-1)
    plain = await before.create("plain", cpu="1")
    async with run_manager(setup_virtulmachine_webhook):
        for machine in (odd, plain):
            machine.metadata.labels = {"seen": "yes"}
            await client.update(machine)
        assert (await client.get(VirtulMachine, plain)).spec.memory == Quantity("2Gi")

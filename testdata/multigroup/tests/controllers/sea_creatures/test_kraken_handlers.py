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

"""The kopf handlers of Kraken against a real API server."""

import pytest
import yaml
from pykb.runtime import Client, ManagerOptions
from pykb.testing import RunManager, eventually

from fleet.api.sea_creatures.v1alpha1 import Kraken
from fleet.controllers.sea_creatures import kraken_handlers as kraken_handlers

pytestmark = pytest.mark.usefixtures("crds")
SAMPLE = "config/samples/sea-creatures_v1alpha1_kraken.yaml"


async def test_handle_the_sample(
    client: Client, namespace: str, run_manager: RunManager, pytestconfig: pytest.Config
) -> None:
    """The handlers run when the sample is created and deleted. kopf's finalizer keeps it until they are done."""
    sample = yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8"))
    resource = Kraken.from_wire(sample)
    resource.metadata.namespace = namespace

    async def is_held() -> bool:
        found = await client.get(Kraken, resource)
        return bool(found.metadata.finalizers)

    async def is_gone() -> bool:
        return await client.find(Kraken, resource) is None

    async with run_manager(options=ManagerOptions(namespaces=(namespace,))):
        resource = await client.create(resource)
        await eventually(is_held)
        await client.delete(resource)
        await eventually(is_gone)

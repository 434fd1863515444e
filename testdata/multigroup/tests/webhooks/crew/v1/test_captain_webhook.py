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

"""The webhooks of Captain, called by a real API server."""

import pytest
import yaml
from pykb.runtime import Client
from pykb.testing import RunManager

from fleet.api.crew.v1 import Captain
from fleet.webhooks.crew.v1.captain_webhook import setup_captain_webhook

pytestmark = pytest.mark.usefixtures("crds")
SAMPLE = "config/samples/crew_v1_captain.yaml"


async def test_the_sample_is_admitted(
    client: Client, namespace: str, run_manager: RunManager, pytestconfig: pytest.Config
) -> None:
    """The API server calls the webhooks, and they accept the sample."""
    sample = yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8"))
    resource = Captain.from_wire(sample)
    resource.metadata.namespace = namespace
    async with run_manager(setup_captain_webhook):
        await client.create(resource)

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

"""HarbourReconciler against a real API server."""

import pytest
import yaml
from pykb.runtime import Client, Request

from fleet.api.ship.v1 import Harbour
from fleet.controllers.ship.harbour_controller import HarbourReconciler

pytestmark = pytest.mark.usefixtures("crds")
SAMPLE = "config/samples/ship_v1_harbour.yaml"


async def test_reconciles_the_sample(client: Client, namespace: str, pytestconfig: pytest.Config) -> None:
    """The API server accepts the sample, and reconciling it raises no error."""
    sample = yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8"))
    resource = Harbour.from_wire(sample)
    resource.metadata.name = namespace  # cluster-scoped: a unique name keeps the tests apart
    await client.create(resource)
    reconciler = HarbourReconciler(client)
    request = Request("", namespace)
    await reconciler.reconcile(request)


async def test_leaves_an_absent_object_alone(client: Client) -> None:
    """Reconciling a deleted object is not an error."""
    reconciler = HarbourReconciler(client)
    request = Request("", "absent")
    await reconciler.reconcile(request)

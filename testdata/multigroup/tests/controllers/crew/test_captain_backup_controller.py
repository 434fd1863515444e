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

"""CaptainBackupReconciler against a real API server."""

import pytest
from pykb.runtime import Client, Request

from fleet.controllers.crew.captain_backup_controller import CaptainBackupReconciler

pytestmark = pytest.mark.usefixtures("crds")


async def test_leaves_an_absent_object_alone(client: Client, namespace: str) -> None:
    """Reconciling a deleted object is not an error."""
    reconciler = CaptainBackupReconciler(client)
    request = Request(namespace, "absent")
    await reconciler.reconcile(request)

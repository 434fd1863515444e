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

"""AppReconciler against a real API server."""

from datetime import timedelta

import pytest
import yaml
from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import Service
from pykb.api.events.v1 import Event
from pykb.runtime import Client, ManagerOptions, Request, Result, is_controlled_by
from pykb.testing import RunManager, eventually

from app_operator.api.v1 import App
from app_operator.controllers.app_controller import AppReconciler

pytestmark = pytest.mark.usefixtures("crds")
SAMPLE = "config/samples/appcontroller_v1_app.yaml"


@pytest.fixture
async def app(client: Client, namespace: str, pytestconfig: pytest.Config) -> App:
    """The sample, as the API server took it."""
    app = App.from_wire(yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8")))
    app.metadata.namespace = namespace
    return await client.create(app)


async def reasons(client: Client, namespace: str) -> list[str]:
    """The reasons of the events in the namespace, sorted; what happens again is counted in its first event."""
    return sorted(event.reason or "" for event in await client.list(Event, namespace=namespace))


async def test_makes_both_objects(client: Client, namespace: str, app: App) -> None:
    """Both are the App's own, and the Service chooses the Pods of the Deployment."""
    await AppReconciler(client).reconcile(Request(namespace, "app-sample"))

    deployment = await client.get(Deployment, f"{namespace}/web")
    service = await client.get(Service, f"{namespace}/web")
    assert is_controlled_by(deployment, app)
    assert is_controlled_by(service, app)
    assert deployment.spec is not None
    assert service.spec is not None
    assert deployment.spec.replicas == 2
    assert service.spec.selector == deployment.spec.selector.match_labels


async def test_writes_nothing_when_nothing_changed(client: Client, namespace: str, app: App) -> None:
    """The second time, no object has a new version."""
    reconciler = AppReconciler(client)
    await reconciler.reconcile(Request(namespace, "app-sample"))
    versions = [
        (await client.get(kind, f"{namespace}/{name}")).metadata.resource_version
        for kind, name in ((App, "app-sample"), (Deployment, "web"), (Service, "web"))
    ]
    assert await reconciler.reconcile(Request(namespace, "app-sample")) == Result()
    assert versions == [
        (await client.get(kind, f"{namespace}/{name}")).metadata.resource_version
        for kind, name in ((App, "app-sample"), (Deployment, "web"), (Service, "web"))
    ]


async def test_leaves_an_absent_object_alone(client: Client, namespace: str) -> None:
    """A request may outlive its object."""
    assert await AppReconciler(client).reconcile(Request(namespace, "absent")) == Result()


async def test_repairs_drift_and_says_so(client: Client, namespace: str, app: App, run_manager: RunManager) -> None:
    """Under a manager: a Service that was deleted comes back, an image changed by hand is changed back."""

    async def image() -> str | None:
        deployment = await client.get(Deployment, f"{namespace}/web")
        assert deployment.spec is not None
        assert deployment.spec.template.spec is not None
        return deployment.spec.template.spec.containers[0].image

    async def is_whole() -> bool:
        return await client.find(Service, f"{namespace}/web") is not None and await image() == app.spec.deployment.image

    async def was_said() -> bool:
        return await reasons(client, namespace) == ["Created", "Created", "Updated"]

    options = ManagerOptions(namespaces=(namespace,))
    async with run_manager(lambda manager: AppReconciler(manager.client).setup(manager), options=options):
        await eventually(lambda: client.get(Service, f"{namespace}/web"), timeout=timedelta(seconds=30))
        await eventually(is_whole, timeout=timedelta(seconds=30))
        await client.delete(await client.get(Service, f"{namespace}/web"))
        deployment = await client.get(Deployment, f"{namespace}/web")
        assert deployment.spec is not None
        assert deployment.spec.template.spec is not None
        deployment.spec.template.spec.containers[0].image = "example.com/another"
        await client.update(deployment)
        await eventually(is_whole, timeout=timedelta(seconds=30))
        await eventually(was_said, timeout=timedelta(seconds=30))

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

import logging
from collections.abc import Callable
from datetime import timedelta

import pytest
import yaml
from pykb.api.apps.v1 import Deployment
from pykb.api.conditions import find_condition
from pykb.api.core.v1 import Service, ServicePort, ServiceSpec
from pykb.api.events.v1 import Event
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import (
    CacheOptions,
    Client,
    InformerOptions,
    Manager,
    ManagerOptions,
    NotControlled,
    Request,
    Result,
    VirtualClock,
    is_controlled_by,
)
from pykb.runtime.fake import fake_client
from pykb.testing import RecordedEvents, RunManager, eventually, running

from app_operator.api.v1 import App
from app_operator.controllers.app_controller import RETRIES, AppReconciler

pytestmark = pytest.mark.usefixtures("crds")
SAMPLE = "config/samples/appcontroller_v1_app.yaml"


@pytest.fixture
def sample(pytestconfig: pytest.Config) -> App:
    """The sample, as it is written."""
    return App.from_wire(yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8")))


@pytest.fixture
async def app(client: Client, namespace: str, sample: App) -> App:
    """The sample, as the API server took it."""
    sample.metadata.namespace = namespace
    return await client.create(sample)


def foreign_service(namespace: str) -> Service:
    """A Service of the name that the sample asks for, made by somebody else."""
    spec = ServiceSpec(selector={"app": "theirs"}, ports=[ServicePort(port=8080)])
    return Service(metadata=ObjectMeta(name="web", namespace=namespace), spec=spec)


async def change(client: Client, request: Request, edit: Callable[[App], None]) -> None:
    """Change the App that is there."""
    app = await client.get(App, request)
    edit(app)
    await client.update(app)


async def reasons(client: Client, namespace: str) -> list[str]:
    """The reasons of the events about Apps, sorted; what happens again is counted in its first event.

    The API server reports on Services by events as well.
    """
    events = await client.list(Event, namespace=namespace)
    return sorted(event.reason or "" for event in events if event.regarding and event.regarding.kind == "App")


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


async def test_reports_the_available_replicas(client: Client, namespace: str, app: App) -> None:
    """The status mirrors the Deployment's, and the event tells that the App is in sync."""
    events = RecordedEvents()
    reconciler, request = AppReconciler(client, recorder=events), Request(namespace, "app-sample")
    await reconciler.reconcile(request)
    deployment = await client.get(Deployment, f"{namespace}/web")
    assert deployment.status is not None
    deployment.status.replicas = deployment.status.ready_replicas = deployment.status.available_replicas = 2
    await client.status.update(deployment)
    await reconciler.reconcile(request)
    assert (await client.get(App, request)).status.available_replicas == 2
    assert events.of(app)[-1] == "Normal Synced App synced successfully"


async def test_leaves_a_service_of_others_alone(client: Client, namespace: str, app: App) -> None:
    """A Service that somebody else made stays as it is; event and condition tell why the App is not applied."""
    theirs = await client.create(foreign_service(namespace))
    events = RecordedEvents()
    reconciler, request = AppReconciler(client, recorder=events), Request(namespace, "app-sample")
    with pytest.raises(NotControlled):
        await reconciler.reconcile(request)

    assert await client.get(Service, theirs) == theirs
    message = f"Service `{namespace}/web` already exists and is not controlled by App `app-sample`"
    assert events.of(app)[-1] == f"Warning ErrResourceExists {message}"
    applied = find_condition((await client.get(App, request)).status.conditions, "Applied")
    assert applied is not None
    assert (applied.status, applied.reason, applied.message) == ("False", "ErrResourceExists", message)

    await client.delete(theirs)
    await reconciler.reconcile(request)
    assert is_controlled_by(await client.get(Service, theirs), app)
    applied = find_condition((await client.get(App, request)).status.conditions, "Applied")
    assert applied is not None
    assert (applied.status, applied.message) == ("True", "")


async def test_renamed_objects_leave_none_behind(client: Client, namespace: str, app: App) -> None:
    """The objects of the former names go; those of others stay."""
    reconciler, request = AppReconciler(client), Request(namespace, "app-sample")
    await reconciler.reconcile(request)
    theirs = foreign_service(namespace)
    theirs.metadata.name = "theirs"
    await client.create(theirs)

    def rename(app: App) -> None:
        app.spec.deployment.name = app.spec.service.name = "other"

    await change(client, request, rename)
    await reconciler.reconcile(request)
    deployments = await client.list(Deployment, namespace=namespace)
    services = await client.list(Service, namespace=namespace)
    assert [deployment.metadata.name for deployment in deployments] == ["other"]
    assert [service.metadata.name for service in services] == ["other", "theirs"]


async def test_is_tried_ten_times_again_and_then_at_each_resync(sample: App, caplog: pytest.LogCaptureFixture) -> None:
    """Under a manager whose time passes when the test says so, on an API server in memory."""
    caplog.set_level(logging.ERROR, logger="pykb.runtime.controller.controller")
    sample.metadata.namespace = "team"
    client, clock, events = fake_client(sample, foreign_service("team")), VirtualClock(), RecordedEvents()
    resync = InformerOptions(resync=timedelta(seconds=30))
    manager = Manager(ManagerOptions(cache=CacheOptions(default=resync)), client=client, clock=clock)
    AppReconciler(manager.client, recorder=events).setup(manager)

    def outcomes() -> list[str]:
        clock.advance(timedelta(seconds=1))
        return [record.message for record in caplog.records]

    def was_given_up() -> bool:
        return "reconcile failed, giving up" in outcomes()

    def is_synced() -> bool:
        return bool(outcomes()) and events.of(sample)[-1] == "Normal Synced App synced successfully"

    async with running(manager):
        await eventually(was_given_up)
        failures = outcomes()
        assert failures[: failures.index("reconcile failed, giving up")] == ["reconcile failed, will retry"] * RETRIES
        await client.delete(Service, "team/web")
        await eventually(is_synced)


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

    async def was_said() -> None:
        assert await reasons(client, namespace) == ["Created", "Created", "Synced", "Updated"]

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

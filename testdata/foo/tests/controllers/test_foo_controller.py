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

"""FooReconciler against a real API server."""

from datetime import timedelta

import pytest
import yaml
from pykb.api.apps.v1 import Deployment
from pykb.api.events.v1 import Event
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import Client, ManagerOptions, NotControlled, Request, Result, is_controlled_by
from pykb.testing import RecordedEvents, RunManager, eventually

from sample_controller.api.v1alpha1 import Foo
from sample_controller.api.v1alpha1.foo_types import FooSpec
from sample_controller.controllers.foo_controller import FooReconciler, deployment_spec

pytestmark = pytest.mark.usefixtures("crds")
SAMPLE = "config/samples/samplecontroller_v1alpha1_foo.yaml"


async def create(client: Client, namespace: str, name: str, replicas: int | None = 1) -> tuple[Foo, Request]:
    """Create a Foo, and return it with the request for it."""
    spec = FooSpec(deployment_name=f"example-{name}", replicas=replicas)
    foo = await client.create(Foo(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec))
    return foo, Request(namespace, name)


async def replicas(client: Client, namespace: str, name: str) -> int | None:
    """How many replicas a Deployment asks for."""
    deployment = await client.get(Deployment, f"{namespace}/{name}")
    return deployment.spec.replicas if deployment.spec else None


async def test_creates_the_deployment_of_the_sample(
    client: Client, namespace: str, pytestconfig: pytest.Config
) -> None:
    """The Foo controls the Deployment of the name that it asks for."""
    sample = yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8"))
    foo = Foo.from_wire(sample)
    foo.metadata.namespace = namespace
    await client.create(foo)

    assert await FooReconciler(client).reconcile(Request(namespace, "foo-sample")) == Result()

    deployment = await client.get(Deployment, f"{namespace}/example-foo")
    assert is_controlled_by(deployment, foo)
    assert await replicas(client, namespace, "example-foo") == 1


async def test_scales_the_deployment(client: Client, namespace: str) -> None:
    """A changed number of replicas reaches the Deployment; none leaves the Deployment's own."""
    _, request = await create(client, namespace, "scaled", replicas=1)
    reconciler = FooReconciler(client)
    await reconciler.reconcile(request)
    foo = await client.get(Foo, request)
    foo.spec.replicas = 3
    await client.update(foo)
    await reconciler.reconcile(request)
    assert await replicas(client, namespace, "example-scaled") == 3

    foo = await client.get(Foo, request)
    foo.spec.replicas = None
    await client.update(foo)
    await reconciler.reconcile(request)
    assert await replicas(client, namespace, "example-scaled") == 3


async def test_reports_the_available_replicas(client: Client, namespace: str) -> None:
    """The status mirrors the Deployment's."""
    _, request = await create(client, namespace, "counted")
    reconciler = FooReconciler(client)
    await reconciler.reconcile(request)
    deployment = await client.get(Deployment, f"{namespace}/example-counted")
    assert deployment.status is not None
    deployment.status.replicas = deployment.status.ready_replicas = deployment.status.available_replicas = 1
    await client.status.update(deployment)
    await reconciler.reconcile(request)
    assert (await client.get(Foo, request)).status.available_replicas == 1


async def test_leaves_a_deployment_of_others_alone(client: Client, namespace: str) -> None:
    """A Deployment that somebody else made stays as it is: an event, and an error for the manager to try again."""
    foo, request = await create(client, namespace, "late")
    metadata = ObjectMeta(name="example-late", namespace=namespace)
    theirs = await client.create(Deployment(metadata=metadata, spec=deployment_spec(foo)))
    events = RecordedEvents()
    message = f"Deployment `{namespace}/example-late` already exists and is not controlled by Foo `late`"
    with pytest.raises(NotControlled, match=message):
        await FooReconciler(client, recorder=events).reconcile(request)
    assert await client.get(Deployment, theirs) == theirs
    assert events.of(foo) == [f"Warning ErrResourceExists {message}"]


async def test_a_renamed_deployment_leaves_none_behind(client: Client, namespace: str) -> None:
    """The one of the former name goes when the new one is there."""
    _, request = await create(client, namespace, "renamed")
    reconciler = FooReconciler(client)
    await reconciler.reconcile(request)
    foo = await client.get(Foo, request)
    foo.spec.deployment_name = "another"
    await client.update(foo)
    await reconciler.reconcile(request)
    deployments = await client.list(Deployment, namespace=namespace)
    assert [deployment.metadata.name for deployment in deployments] == ["another"]


async def test_a_deleted_foo_makes_nothing(client: Client, namespace: str) -> None:
    """A deletion in the foreground waits for the Deployment to go, so it must not come back."""
    foo, request = await create(client, namespace, "deleted")
    reconciler = FooReconciler(client)
    await reconciler.reconcile(request)
    await client.delete(foo, propagation="Foreground")
    await client.delete(Deployment, f"{namespace}/example-deleted")
    assert await reconciler.reconcile(request) == Result()
    assert await client.find(Deployment, f"{namespace}/example-deleted") is None


async def test_leaves_an_absent_object_alone(client: Client, namespace: str) -> None:
    """A request may outlive its object."""
    assert await FooReconciler(client).reconcile(Request(namespace, "absent")) == Result()


async def test_repairs_drift_and_says_so(client: Client, namespace: str, run_manager: RunManager) -> None:
    """Under a manager, a Deployment scaled by hand is scaled back, and the Foo's event tells that it is in sync."""

    async def is_one() -> bool:
        return await replicas(client, namespace, "example-driven") == 1

    async def was_told() -> bool:
        events = await client.list(Event, namespace=namespace)
        return any(
            event.reason == "Synced" and event.regarding and event.regarding.name == "driven" for event in events
        )

    options = ManagerOptions(namespaces=(namespace,))
    async with run_manager(lambda manager: FooReconciler(manager.client).setup(manager), options=options):
        await create(client, namespace, "driven")
        await eventually(was_told, timeout=timedelta(seconds=30))
        deployment = await client.get(Deployment, f"{namespace}/example-driven")
        assert deployment.spec is not None
        deployment.spec.replicas = 5
        await client.update(deployment)
        await eventually(is_one, timeout=timedelta(seconds=30))

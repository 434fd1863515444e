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

"""MemcachedReconciler against a real API server."""

import pytest
import yaml
from pykb.api.apps.v1 import Deployment, DeploymentCondition, DeploymentSpec, DeploymentStatus
from pykb.api.conditions import find_condition
from pykb.api.core.v1 import Container, Namespace, Pod, PodSpec, PodTemplateSpec
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.runtime import Client, NotControlled, Request, is_controlled_by
from pykb.testing import RecordedEvents

from memcached_operator.api.v1 import Memcached
from memcached_operator.controllers.memcached_controller import IMAGE, MemcachedReconciler

pytestmark = pytest.mark.usefixtures("crds")
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
SAMPLE = "config/samples/cache_v1_memcached.yaml"


@pytest.fixture
async def resource(client: Client, namespace: str, pytestconfig: pytest.Config) -> Memcached:
    """The sample, as the API server accepts it."""
    sample = Memcached.from_wire(yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8")))
    sample.metadata.namespace = namespace
    return await client.create(sample)


def request_of(resource: Memcached) -> Request:
    """The request for an object."""
    return Request(resource.metadata.namespace or "", resource.metadata.name or "")


async def state(client: Client, request: Request, name: str) -> str:
    """The status and the reason of a condition."""
    stored = await client.get(Memcached, request)
    found = find_condition(stored.status.conditions, name)
    assert found is not None
    return f"{found.status} {found.reason}"


async def test_deploys_the_image(client: Client, resource: Memcached) -> None:
    """The Deployment belongs to the Memcached, and a second reconcile writes nothing."""
    events = RecordedEvents()
    reconciler = MemcachedReconciler(client, recorder=events)
    request = request_of(resource)
    await reconciler.reconcile(request)

    deployment = await client.get(Deployment, request)
    assert is_controlled_by(deployment, resource)
    assert deployment.spec is not None
    assert deployment.spec.template.spec is not None
    assert deployment.spec.replicas == resource.spec.size
    assert deployment.spec.template.spec.containers[0].image == IMAGE
    assert [event.split()[1] for event in events.of(resource)] == ["Created"]

    before = await client.get(Memcached, request)
    await reconciler.reconcile(request)
    assert await client.get(Deployment, request) == deployment
    stored = await client.get(Memcached, request)
    assert stored == before


async def test_pods_pass_the_restricted_standard(client: Client, resource: Memcached) -> None:
    """A namespace with the restricted Pod Security Standard accepts them."""
    request = request_of(resource)
    reconciler = MemcachedReconciler(client)
    await reconciler.reconcile(request)
    deployment = await client.get(Deployment, request)
    assert deployment.spec is not None
    namespace = await client.get(Namespace, Request("", request.namespace))
    namespace.metadata.labels = RESTRICTED
    await client.update(namespace)
    metadata = ObjectMeta(name="test", namespace=request.namespace)
    pod = Pod(metadata=metadata, spec=deployment.spec.template.spec)
    await client.with_options(dry_run=True).create(pod)


async def test_reports_the_state_of_the_pods(client: Client, resource: Memcached) -> None:
    """In the conditions Available and Degraded."""
    reconciler = MemcachedReconciler(client)
    request = request_of(resource)
    await reconciler.reconcile(request)
    assert await state(client, request, "Available") == "False PodsStarting"

    deployment = await client.get(Deployment, request)
    pods, seen = resource.spec.size, deployment.metadata.generation
    deployment.status = DeploymentStatus(
        replicas=pods, ready_replicas=pods, available_replicas=pods, observed_generation=seen
    )
    deployment = await client.status.update(deployment)
    await reconciler.reconcile(request)
    assert await state(client, request, "Available") == "True PodsAvailable"
    assert await state(client, request, "Degraded") == "False AsExpected"

    failure = DeploymentCondition(type="Progressing", status="False", reason="TooLate")
    deployment.status = DeploymentStatus(conditions=[failure], observed_generation=seen)
    await client.status.update(deployment)
    await reconciler.reconcile(request)
    assert await state(client, request, "Available") == "False PodsStarting"
    assert await state(client, request, "Degraded") == "True TooLate"
    before = await client.get(Memcached, request)
    await reconciler.reconcile(request)
    stored = await client.get(Memcached, request)
    assert stored == before


async def test_leaves_a_deployment_of_others_alone(client: Client, resource: Memcached) -> None:
    """A Deployment of the same name stays as it is. The Memcached says why it has none."""
    labels = {"app": "theirs"}
    container = Container(name="theirs", image="example.com/theirs")
    pods = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[container]))
    spec = DeploymentSpec(selector=LabelSelector(match_labels=labels), template=pods)
    metadata = ObjectMeta(name=resource.metadata.name, namespace=resource.metadata.namespace)
    theirs = await client.create(Deployment(metadata=metadata, spec=spec))
    request = request_of(resource)
    reconciler = MemcachedReconciler(client)
    with pytest.raises(NotControlled):
        await reconciler.reconcile(request)
    assert await client.get(Deployment, request) == theirs
    assert await state(client, request, "Degraded") == "True NotControlled"


async def test_leaves_an_absent_object_alone(client: Client, namespace: str) -> None:
    """Reconciling a deleted object is not an error."""
    reconciler = MemcachedReconciler(client)
    await reconciler.reconcile(Request(namespace, "absent"))

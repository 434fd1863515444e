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

"""UnitReconciler against a real API server."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import yaml
from pykb.api import Object
from pykb.api.apps.v1 import Deployment, StatefulSet, StatefulSetSpec
from pykb.api.conditions import find_condition
from pykb.api.core.v1 import Container, EnvVar, PersistentVolumeClaim, Service, ServicePort, ServiceSpec
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.networking.v1 import Ingress, IngressBackend
from pykb.runtime import Client, ManagerOptions, NotControlled, Request, Result, is_controlled_by
from pykb.testing import RecordedEvents, RunManager, eventually

from unit_operator.api.v1 import Unit
from unit_operator.api.v1.unit_types import UnitCategory
from unit_operator.controllers.unit_controller import FINALIZER, UnitReconciler
from unit_operator.resources.pods import pod_template

pytestmark = pytest.mark.usefixtures("crds")
SAMPLE = "config/samples/custom_v1_unit.yaml"
OWNED = (Deployment, StatefulSet, Service, Ingress, PersistentVolumeClaim)


@pytest.fixture
def sample(pytestconfig: pytest.Config) -> Unit:
    """The sample, as it is written."""
    return Unit.from_wire(yaml.safe_load((pytestconfig.rootpath / SAMPLE).read_text(encoding="utf-8")))


@pytest.fixture
async def unit(client: Client, namespace: str, sample: Unit) -> Unit:
    """The sample, as the API server took it."""
    sample.metadata.namespace = namespace
    return await client.create(sample)


@pytest.fixture
def request_(namespace: str) -> Request:
    """The request for the sample."""
    return Request(namespace, "unit-sample")


async def owned(client: Client, unit: Unit) -> set[type[Object]]:
    """The kinds of the objects that are there and are the Unit's."""
    found = [await client.find(kind, f"{unit.metadata.namespace}/{unit.metadata.name}") for kind in OWNED]
    return {type(obj) for obj in found if obj is not None and is_controlled_by(obj, unit)}


async def change(client: Client, request: Request, edit: Callable[[Unit], None]) -> None:
    """Change the Unit that is there."""
    unit = await client.get(Unit, request)
    edit(unit)
    await client.update(unit)


async def applied(client: Client, request: Request) -> tuple[str, str, str]:
    """Status, reason and message of the condition Applied."""
    condition = find_condition((await client.get(Unit, request)).status.conditions, "Applied")
    assert condition is not None
    return condition.status, condition.reason, condition.message


async def test_makes_what_the_sample_describes(client: Client, unit: Unit, request_: Request) -> None:
    """A Deployment, a Service, an Ingress and a claim; the status mirrors them."""
    assert await UnitReconciler(client).reconcile(request_) == Result()
    assert await owned(client, unit) == {Deployment, Service, Ingress, PersistentVolumeClaim}
    stored = await client.get(Unit, request_)
    assert stored.metadata.finalizers == [FINALIZER]
    assert stored.status.deployment is not None
    assert stored.status.stateful_set is None
    assert stored.status.last_update_time is not None
    assert stored.status.pvc is not None
    assert stored.status.pvc.phase == "Pending"


async def test_switching_the_category_cleans_up(client: Client, unit: Unit, request_: Request) -> None:
    """A StatefulSet in place of the Deployment, and back; a relation that is dropped goes too."""
    reconciler = UnitReconciler(client)
    await reconciler.reconcile(request_)

    def to_stateful_set(unit: Unit) -> None:
        unit.spec.category = UnitCategory.STATEFUL_SET
        unit.spec.relation_resource.ingress = None

    await change(client, request_, to_stateful_set)
    await reconciler.reconcile(request_)
    assert await owned(client, unit) == {StatefulSet, Service, PersistentVolumeClaim}
    status = (await client.get(Unit, request_)).status
    assert (status.deployment, status.ingress) == (None, None)
    assert status.stateful_set is not None


async def test_writes_nothing_when_nothing_changed(client: Client, unit: Unit, request_: Request) -> None:
    """The first reconcile writes the status once; the second one writes no object at all."""
    reconciler = UnitReconciler(client)
    await reconciler.reconcile(request_)

    async def versions() -> list[str | None]:
        kinds = (Unit, Deployment, Service, Ingress, PersistentVolumeClaim)
        return [(await client.get(kind, str(request_))).metadata.resource_version for kind in kinds]

    before = await versions()
    await reconciler.reconcile(request_)
    assert await versions() == before


async def test_one_refused_object_stops_no_other(client: Client, unit: Unit, request_: Request) -> None:
    """The Ingress is invalid: everything else is made, the status is written, and the error is tried again."""

    def break_ingress(unit: Unit) -> None:
        unit.spec.relation_resource.ingress.default_backend = IngressBackend()  # type: ignore[union-attr]

    await change(client, request_, break_ingress)
    with pytest.raises(ExceptionGroup, match=r"1 objects of Unit .* were refused"):
        await UnitReconciler(client).reconcile(request_)
    assert await owned(client, unit) == {Deployment, Service, PersistentVolumeClaim}
    assert (await client.get(Unit, request_)).status.pvc is not None


async def test_leaves_what_others_made_alone(client: Client, unit: Unit, request_: Request) -> None:
    """A Service of the Unit's name stays as it is; its siblings are made; event and condition tell why."""
    spec = ServiceSpec(selector={"app": "theirs"}, ports=[ServicePort(port=8080)])
    theirs = await client.create(
        Service(metadata=ObjectMeta(name="unit-sample", namespace=request_.namespace), spec=spec)
    )
    events = RecordedEvents()
    reconciler = UnitReconciler(client, recorder=events)
    with pytest.raises(ExceptionGroup) as caught:
        await reconciler.reconcile(request_)
    assert caught.group_contains(NotControlled)
    assert await client.get(Service, theirs) == theirs
    assert await owned(client, unit) == {Deployment, Ingress, PersistentVolumeClaim}
    message = f"Service `{request_}` already exists and is not controlled by Unit `unit-sample`"
    assert events.of(unit) == [f"Warning ErrResourceExists Service: {message}"]
    assert await applied(client, request_) == ("False", "ErrResourceExists", message)

    await client.delete(theirs)
    await reconciler.reconcile(request_)
    assert Service in await owned(client, unit)
    assert await applied(client, request_) == ("True", "Applied", "")


async def test_what_others_made_outlives_the_unit(client: Client, unit: Unit, request_: Request) -> None:
    """A Unit deletes what it owns: not another's workload of its name, nor, with the hook, another's Ingress."""
    metadata = ObjectMeta(name="unit-sample", namespace=request_.namespace)
    workload = StatefulSetSpec(selector=unit.spec.selector, template=pod_template(unit), service_name="theirs")
    stateful_set = await client.create(StatefulSet(metadata=metadata.model_copy(), spec=workload))
    ingress = Ingress(metadata=metadata.model_copy(), spec=unit.spec.relation_resource.ingress)
    ingress = await client.create(ingress)
    reconciler = UnitReconciler(client)
    with pytest.raises(ExceptionGroup):
        await reconciler.reconcile(request_)
    await client.delete(await client.get(Unit, request_))
    await reconciler.reconcile(request_)
    assert await client.find(Unit, request_) is None
    assert await client.get(StatefulSet, stateful_set) == stateful_set
    assert await client.get(Ingress, ingress) == ingress


async def test_children_have_the_labels_of_the_unit(client: Client, unit: Unit, request_: Request) -> None:
    """Also those that come later; who manages the children is the operator."""
    reconciler = UnitReconciler(client)

    def label(unit: Unit) -> None:
        unit.metadata.labels = {"team": "web", "app.kubernetes.io/managed-by": "kustomize"}

    await change(client, request_, label)
    await reconciler.reconcile(request_)
    for kind in (Deployment, Service, Ingress, PersistentVolumeClaim):
        labels = (await client.get(kind, str(request_))).metadata.labels
        assert labels == {"team": "web", "app.kubernetes.io/managed-by": "unit-operator"}


def test_variables_are_injected_once(sample: Unit) -> None:
    """The first container has POD_NAME and APPNAME, whatever its author set; labels come from the selector."""
    assert sample.spec.template.spec is not None
    sample.spec.template.spec.containers[0].env = [EnvVar(name="APPNAME", value="mine"), EnvVar(name="OWN", value="1")]
    sample.spec.template.spec.containers.append(Container(name="side", env=[EnvVar(name="APPNAME", value="side")]))
    template = pod_template(sample)
    assert template.metadata is not None
    assert template.metadata.labels == {"app": "unit-sample"}
    assert template.spec is not None
    web, side = template.spec.containers
    assert [(variable.name, variable.value) for variable in web.env or []] == [
        ("OWN", "1"),
        ("POD_NAME", None),
        ("APPNAME", "unit-sample"),
    ]
    assert [(variable.name, variable.value) for variable in side.env or []] == [("APPNAME", "side")]

    sample.spec.template = template
    assert pod_template(sample) == template


async def test_the_hook_runs_before_the_unit_goes(client: Client, unit: Unit, request_: Request) -> None:
    """A deleted Unit is held until it is out of traffic; an unfinished hook is asked again."""
    answers = iter([False, True])

    async def hook(_client: Client, _unit: Unit) -> bool:
        return next(answers)

    reconciler = UnitReconciler(client, hook)
    await reconciler.reconcile(request_)
    await client.delete(await client.get(Unit, request_))
    assert (await reconciler.reconcile(request_)).requeue_after is not None
    assert await client.find(Unit, request_) is not None
    assert await reconciler.reconcile(request_) == Result()
    assert await client.find(Unit, request_) is None


async def test_leaves_an_absent_object_alone(client: Client, namespace: str) -> None:
    """A request may outlive its object."""
    assert await UnitReconciler(client).reconcile(Request(namespace, "absent")) == Result()


async def test_follows_its_objects(
    client: Client, namespace: str, unit: Unit, request_: Request, run_manager: RunManager
) -> None:
    """Under a manager, the status follows the Deployment's, and a deleted Unit leaves its Ingress first."""

    async def status_follows() -> bool:
        status = (await client.get(Unit, request_)).status
        return status.deployment is not None and status.deployment.ready_replicas == 2

    async def is_gone() -> bool:
        return await client.find(Unit, request_) is None and Ingress not in await owned(client, unit)

    options = ManagerOptions(namespaces=(namespace,))
    async with run_manager(lambda manager: UnitReconciler(manager.client).setup(manager), options=options):
        deployment = await eventually(lambda: client.get(Deployment, str(request_)), timeout=timedelta(seconds=30))
        assert deployment.status is not None
        deployment.status.replicas = deployment.status.ready_replicas = 2
        await client.status.update(deployment)
        await eventually(status_follows, timeout=timedelta(seconds=30))
        await client.delete(await client.get(Unit, request_))
        await eventually(is_gone, timeout=timedelta(seconds=30))

"""The explorer's stand-ins for Kubernetes' controllers do what a real cluster did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from pykb.api import Unstructured
from pykb.api.core.v1 import Namespace
from pykb.api.meta.v1 import ObjectMeta
from pykb.explore import Fault, FaultKind
from pykb.explore._actors import KINDS, NO_SUCH, Actors, Health, status_of
from pykb.explore._time import VirtualTime
from pykb.runtime import Client, MergePatch
from pykb.runtime.fake import FakeApiServer
from tests.explorer.actors import scenarios
from tests.explorer.actors.golden import read

RECORDED = read()
until = scenarios.polling(1)
OTHERS = ("owners", "namespace", "pods and claims", "quota", "disruption budget", "autoscaler", "cron job")
FACTS = tuple(name for name in RECORDED if name != "version")


def played(scenario: Callable[[Client], Awaitable[scenarios.Facts]], fault: Fault | None = None) -> scenarios.Facts:
    """What a scenario observes of the actors, in virtual time."""

    async def play() -> scenarios.Facts:
        server = FakeApiServer()
        client = Client(server)
        for name in ("one", "other"):
            await client.create(Namespace(metadata=ObjectMeta(name=name)))
        acting = asyncio.create_task(Actors(server, client, fault=fault).run())
        try:
            return await scenario(client)
        finally:
            acting.cancel()

    return VirtualTime().run(play, 0)


async def nothing() -> None:
    """No node and no volume is needed."""


@pytest.mark.parametrize("name", scenarios.CASES)
def test_the_status_of_a_workload_is_that_of_a_cluster(name):
    """While it starts, and when it is ready or has failed."""
    kind, _ = scenarios.CASES[name]
    fault = Fault(FaultKind.FAIL if name.endswith("fails") else FaultKind.LATE, seconds=60)
    found = played(lambda client: scenarios.workload(client, until, "one", kind, nothing), fault)
    assert found == RECORDED[name]


def test_owners_are_collected_as_in_a_cluster():
    """In the background, in the foreground, orphaned; blocked; one of two, abroad, gone."""
    assert played(lambda client: scenarios.owners(client, until, "one", "other")) == RECORDED["owners"]


def test_a_namespace_goes_as_in_a_cluster():
    """With all that is in it, and not before."""
    assert played(lambda client: scenarios.namespace_goes(client, until, "one")) == RECORDED["namespace"]


def test_a_stateful_set_makes_pods_and_claims_as_in_a_cluster():
    """One pod after the other. Claims stay when it shrinks, and when it goes."""
    fault = Fault(FaultKind.LATE, seconds=60)
    found = played(lambda client: scenarios.stateful_set(client, until, "one"), fault)
    assert found == RECORDED["pods and claims"]


def test_a_quota_refuses_pods_as_in_a_cluster():
    """A Deployment says so in a condition, others in events. Without the quota, they start."""
    fault = Fault(FaultKind.LATE, seconds=60)
    assert played(lambda client: scenarios.quota(client, until, "one"), fault) == RECORDED["quota"]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job"])
def test_a_workload_without_its_image_waits_until_the_image_is_right(kind):
    """As one whose pods have not become ready."""
    api_version, spec = scenarios.WORKLOADS[kind]
    broken = json.loads(json.dumps(spec).replace("example.com/it:v1", f"example.com/it:v1{NO_SUCH}"))

    async def observed(client: Client) -> list[scenarios.Facts]:
        made = await client.create(Unstructured(scenarios.manifest(api_version, kind, "one", spec=broken)))
        facts = [await scenarios.settled(client, until, made)]
        if kind == "Job":  # its template cannot be changed
            return facts
        await client.patch(made, MergePatch({"spec": spec}))
        return [*facts, await scenarios.settled(client, until, made, other_than=facts[0])]

    counted = {"observedGeneration": 2}
    starting, ready = RECORDED[kind]
    assert played(observed) == ([starting] if kind == "Job" else [starting, ready | counted])


def test_a_service_that_is_balanced_no_more_loses_its_address():
    """As the service controller of a cloud does it. Operators report the address."""
    ports = {"ports": [{"port": 80}]}

    async def observed(client: Client) -> list[scenarios.Facts]:
        spec = {"type": "LoadBalancer", **ports}
        made = await client.create(Unstructured(scenarios.manifest("v1", "Service", "one", spec=spec)))
        balanced = await scenarios.settled(client, until, made)
        await client.patch(made, MergePatch({"spec": {"type": "ClusterIP"}}))
        return [balanced, await scenarios.settled(client, until, made, other_than=balanced)]

    balanced, plain = played(observed)
    assert "ingress" in balanced["loadBalancer"]
    assert not plain.get("loadBalancer")


def test_what_looks_at_pods_does_as_in_a_cluster():
    """A budget counts them, an autoscaler changes how many are wanted, a CronJob says when it ran."""
    fault = Fault(FaultKind.LATE, seconds=60)
    budget = played(lambda client: scenarios.disruption_budget(client, until, "one", nothing), fault)
    assert budget == RECORDED["disruption budget"]
    assert played(lambda client: scenarios.autoscaler(client, until, "one")) == RECORDED["autoscaler"]
    assert played(lambda client: scenarios.cron_job(client, until, "one"), fault) == RECORDED["cron job"]


def test_the_load_of_an_autoscaler_does_not_depend_on_its_former_limits():
    """Or an operator that changes the limits, and changes them back, would be accused of the replicas."""

    async def observed(client: Client) -> scenarios.Facts:
        target = await client.create(
            Unstructured(scenarios.manifest("apps/v1", "Deployment", "one", spec=scenarios.WORKLOADS["Deployment"][1]))
        )
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "it"}
        spec = {"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 20}
        made = await client.create(
            Unstructured(scenarios.manifest("autoscaling/v2", "HorizontalPodAutoscaler", "one", spec=spec))
        )
        found = []
        for least in (2, 10, 2):
            await client.patch(made, MergePatch({"spec": {"minReplicas": least}}))
            await asyncio.sleep(120)
            found.append((await client.get(target.gvk, target)).data["spec"]["replicas"])
        return {"replicas": found}

    assert played(observed) == {"replicas": [3, 11, 3]}


@pytest.mark.parametrize("health", Health)
async def test_the_server_takes_each_status(health):
    """Otherwise, an operator would wait for ever."""
    template = {
        "metadata": {"labels": {"app": "it"}},
        "spec": {"containers": [{"name": "c", "image": "example.com/it"}]},
    }
    once = {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}
    pods = {"selector": {"matchLabels": {"app": "it"}}, "template": template}
    specs = {
        "apps/v1": {"DaemonSet": pods, "Deployment": pods, "StatefulSet": {**pods, "serviceName": "it"}},
        "autoscaling/v2": {
            "HorizontalPodAutoscaler": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "it"}}
        },
        "batch/v1": {
            "CronJob": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": once}}},
            "Job": {"template": once},
        },
        "networking.k8s.io/v1": {
            "Ingress": {"ingressClassName": "it", "defaultBackend": {"resource": {"kind": "A", "name": "a"}}}
        },
        "policy/v1": {"PodDisruptionBudget": {"selector": {"matchLabels": {"app": "it"}}}},
        "v1": {
            "PersistentVolumeClaim": scenarios.WORKLOADS["PersistentVolumeClaim"][1],
            "Pod": template["spec"],
            "Service": {"type": "LoadBalancer", "ports": [{"port": 80}]},
        },
    }
    client = Client(FakeApiServer())
    every = [
        (await client.create(Unstructured(scenarios.manifest(version, kind, "default", spec=spec)))).data
        for version, kinds in specs.items()
        for kind, spec in kinds.items()
    ]
    assert {obj["kind"] for obj in every} >= {*KINDS}
    for obj in every:
        status = status_of(obj, health, "2030-01-01T00:00:00Z", every)
        await client.status.patch(Unstructured(obj), MergePatch({"status": status}))


def test_every_record_is_compared():
    """None is left out."""
    assert set(FACTS) == {*scenarios.CASES, *OTHERS}

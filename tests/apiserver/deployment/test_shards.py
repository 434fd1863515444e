"""What `edit --shards` writes, on a real API server: the objects are valid, and the permissions are enough."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.api.coordination.v1 import Lease
from pykb.api.core.v1 import ConfigMap
from pykb.client.login import KubeconfigSource
from pykb.commands.edit import plan_edit
from pykb.commands.init import plan_project
from pykb.commands.options import Edits, NewProject
from pykb.deployment.manifests import of_kind
from pykb.envtest import ControlPlane, get_assets
from pykb.files.apply import apply
from pykb.project.file import read
from pykb.runtime import (
    CacheOptions,
    Client,
    ControllerBuilder,
    InformerOptions,
    Manager,
    ManagerOptions,
    Reconciler,
    Request,
    Result,
)
from pykb.testing import eventually
from pykb.tools.kubectl import build_kustomization

NAMESPACE = "shoal-system"
Object = dict[str, Any]
NAMESPACE_OBJECT: Object = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
}
RBAC = "rbac.authorization.k8s.io"
LONG = timedelta(seconds=60)


@pytest.fixture
def objects(tmp_path: Path) -> list[Object]:
    """What kustomize renders of a project with shards, the autoscaler, and records for `pykb inspect`."""
    program = get_assets(kubectl=True).kubectl
    assert program is not None
    root = tmp_path / "shoal"
    root.mkdir()
    plan, _ = plan_project(NewProject("example.com"), root, year="2026")
    assert plan is not None
    assert apply(plan) is None
    plan, _ = plan_edit(Edits(shards=16), read(root)[0], root)
    assert plan is not None
    assert apply(plan) is None
    file = root / "config/default/kustomization.yaml"
    text = file.read_text().replace("#components:", "components:")
    for name in ("autoscaling", "records"):
        text = text.replace(f"#- ../{name}", f"- ../{name}")
    file.write_text(text)
    return list(yaml.safe_load_all(build_kustomization(file.parent, folders=(program.parent,))))


@pytest.fixture
async def admin(control_plane: ControlPlane) -> AsyncIterator[Client]:
    """A client as administrator."""
    async with Client.from_kubeconfig(control_plane.kubeconfig) as client:
        yield client


async def test_the_api_server_accepts_them(admin: Client, objects: list[Object]) -> None:
    """In a dry run. The pods keep the standard `restricted`."""
    by_kind = {each["kind"]: each for each in objects}
    for each in (NAMESPACE_OBJECT, *of_kind(objects, "ServiceAccount")):
        await admin.apply(each, field_manager="tests", force=True)
    dry = admin.with_options(dry_run=True)
    for kind in ("PodDisruptionBudget", "HorizontalPodAutoscaler", "Deployment"):
        await dry.create(by_kind[kind])
    template = by_kind["Deployment"]["spec"]["template"]
    assert "--records-bind-address=127.0.0.1:8083" in template["spec"]["containers"][0]["args"]
    pod = {"metadata": {**template["metadata"], "name": "shoal", "namespace": NAMESPACE}, "spec": template["spec"]}
    await dry.create({"apiVersion": "v1", "kind": "Pod", **pod})


class Idle(Reconciler):
    """Does nothing."""

    async def reconcile(self, request: Request) -> Result | None:
        """Reconcile nothing."""


def replica(plane: ControlPlane, shards: int) -> Manager:
    """A manager with the permissions of the scaffold, and those to read the objects."""
    options = ManagerOptions(
        shards=shards,
        leader_elect=not shards,
        leader_election_id="shoal.example.com",
        leader_election_namespace=NAMESPACE,
        cache=CacheOptions(default=InformerOptions(namespaces=(NAMESPACE,))),
        lease_duration=timedelta(seconds=15),
        renew_deadline=timedelta(seconds=10),
        retry_period=timedelta(milliseconds=300),
    )
    manager = Manager(options, credentials=KubeconfigSource([plane.user("shoal")]))
    ControllerBuilder(manager).for_(ConfigMap).complete(Idle(manager.client))
    return manager


async def test_the_permissions_are_enough(control_plane: ControlPlane, admin: Client, objects: list[Object]) -> None:
    """Two replicas share the ranges with the scaffolded Role. One stops, and the other takes what it had.

    A replica without shards waits until both have stopped.
    """
    role = next(each for each in objects if each["metadata"]["name"] == "shoal-leader-election-role")
    reads = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": role["metadata"],
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": role["metadata"]["name"]},
        "subjects": [{"kind": "User", "name": "shoal", "apiGroup": RBAC}],
    }
    for each in (NAMESPACE_OBJECT, {**role, "rules": [*role["rules"], reads]}, binding):
        await admin.apply(each, field_manager="tests", force=True)

    async def shares() -> dict[str | None, int]:
        """How many Leases name each replica: its own, and those of its ranges."""
        found = await admin.list(Lease, namespace=NAMESPACE, labels={"pykb-sharding-group": "shoal.example.com"})
        return Counter(each.spec.holder_identity for each in found.items if each.spec)

    async def are_shared(*numbers: int) -> None:
        assert sorted((await shares()).values()) == sorted(numbers)

    managers = [replica(control_plane, 4) for _ in range(2)]
    tasks = [asyncio.create_task(manager.start()) for manager in managers]
    try:
        await eventually(lambda: are_shared(3, 3), timeout=LONG)
        managers[0].stop()
        await tasks[0]
        await eventually(lambda: are_shared(5), timeout=LONG)
        managers.append(replica(control_plane, 0))
        tasks.append(asyncio.create_task(managers[2].start()))
        await eventually(managers[2].readyz.pass_all, timeout=LONG)
        assert not managers[2].elected.is_set()
        managers[1].stop()
        await eventually(managers[2].elected.is_set, timeout=LONG)
        await tasks[1]
    finally:
        for manager in managers:
            manager.stop()
        await asyncio.gather(*tasks, return_exceptions=True)

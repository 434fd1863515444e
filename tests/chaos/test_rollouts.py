"""Rollouts between replicas without shards and with them, by ``kubectl`` and the Deployment controller alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pykb.envtest import ControlPlane, get_assets
from pykb.tools.kubectl import Kubectl
from tests.chaos.cluster import Cluster
from tests.chaos.journal import modes_at_once, shared_overlaps
from tests.chaos.load import Load
from tests.chaos.node import NODE, StandIn
from tests.chaos.verdict import until_right

pytestmark = pytest.mark.apiserver

NAMESPACE = "rollouts"
LONG = timedelta(seconds=100)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane with the controllers of Deployments."""
    assets = get_assets(controller_manager=True, kubectl=True)
    with ControlPlane(assets=assets, controller_manager=True) as running:
        yield running


@pytest.fixture
async def cluster(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Cluster]:
    """The same, ready for operators."""
    async with Cluster(plane, tmp_path) as cluster:
        await cluster.make_namespace(NAMESPACE)
        await cluster.make_namespace(f"{NAMESPACE}-objects")
        yield cluster


def deployment(argument: str) -> dict[str, Any]:
    """A Deployment with the strategy of the scaffold."""
    labels = {"app": "gadgets"}
    container = {"name": "manager", "image": "none", "args": [argument]}
    pod = {"nodeName": NODE, "terminationGracePeriodSeconds": 35, "containers": [container]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "gadgets", "namespace": NAMESPACE},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


@pytest.mark.timeout(300)
async def test_rollouts_and_undos_proceed_and_no_object_is_worked_on_twice(cluster: Cluster, tmp_path: Path) -> None:
    """From one leader to 8 ranges, to 16, back to 8, and back to one leader, while objects change all the time."""
    program = cluster.plane.assets.kubectl
    assert program is not None
    kubectl = Kubectl(program, cluster.plane.kubeconfig)
    objects = f"{NAMESPACE}-objects"
    user = cluster.token_file_user(tmp_path / "token")
    arguments = [f"--kubeconfig={cluster.kubeconfig('pods', cluster.plane.url, user)}", "--lease=8"]
    node = StandIn(cluster.client, NAMESPACE, tmp_path, [*arguments, f"--leader-election-namespace={NAMESPACE}"])
    running = asyncio.create_task(node.run())
    load = Load(cluster.client, objects, 16)
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(node.close)
        stack.callback(running.cancel)
        stack.push_async_callback(load.abort)

        def workers() -> set[int]:
            return {line.pid for line in node.lines if line.do == "object"}

        async def rolled_out(*command: str, manifest: dict[str, Any] | None = None) -> None:
            """Change the Deployment, and wait until a replica that it did not have before has worked."""
            before = workers()
            words = (*command, f"--namespace={NAMESPACE}")
            await asyncio.to_thread(kubectl, *words, stdin=json.dumps(manifest) if manifest else None)
            status = ("rollout", "status", "deployment/gadgets", f"--timeout={LONG.seconds}s")
            await asyncio.to_thread(kubectl, *status, f"--namespace={NAMESPACE}", timeout=LONG)
            await load.progress(12)
            # Those of the mode before may still work to their end.
            async with asyncio.timeout(LONG.total_seconds()):
                while not workers() - before:
                    assert not running.done(), running.exception()
                    await asyncio.sleep(0.1)

        apply = ("apply", "--filename=-")
        await load.create_all()
        load.start()
        await load.trouble("slow", load.names[:8])
        await rolled_out(*apply, manifest=deployment("--leader-elect"))
        await rolled_out(*apply, manifest=deployment("--shards=8"))
        await rolled_out(*apply, manifest=deployment("--shards=16"))
        await rolled_out("rollout", "undo", "deployment/gadgets")
        await rolled_out("rollout", "undo", "deployment/gadgets", "--to-revision=1")
        await load.trouble(None, load.names[:8])
        await load.stop()
        moment, found = await until_right(cluster.client, objects, LONG)
        assert moment, found
        lines = node.lines
        assert {line.about for line in lines if line.do == "mode"} == {"--leader-elect", "--shards=8", "--shards=16"}
        assert (modes_at_once(lines), shared_overlaps(lines)) == (0, 0)
        assert set(node.codes.values()) == {0}

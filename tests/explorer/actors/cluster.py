"""Runs the scenarios on a real cluster: `make test-actors`, and writes what it does with `--update-golden`.

It needs KUBECONFIG with rights on everything, and a kube-controller-manager. Nodes are not needed.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pykb.api.core.v1 import Namespace
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.connection import Call
from pykb.runtime import Client
from tests.explorer.actors import scenarios
from tests.explorer.actors.golden import GOLDEN, read

until = scenarios.polling(0.3)


async def namespace_of(client: Client) -> str:
    """A new namespace."""
    name = f"actors-{secrets.token_hex(4)}"
    await client.create(Namespace(metadata=ObjectMeta(name=name)))
    return name


async def with_nodes(
    client: Client, scenario: Callable[[Client, scenarios.Until, str], Awaitable[scenarios.Facts]], phase: str
) -> scenarios.Facts:
    """What a scenario observes where nodes bring each pod to a phase."""
    namespace = await namespace_of(client)

    async def keep_running() -> None:
        while True:
            await scenarios.kubelet(client, namespace, phase)

    running = asyncio.create_task(keep_running())
    try:
        return await scenario(client, until, namespace)
    finally:
        running.cancel()


async def observed(client: Client) -> scenarios.Facts:
    """What the controllers of the cluster do."""
    facts: dict[str, scenarios.Facts] = {}
    await scenarios.node(client, f"node-{secrets.token_hex(4)}")
    for name, (kind, phase) in scenarios.CASES.items():
        namespace = await namespace_of(client)

        async def act(namespace: str = namespace, kind: str = kind, phase: str = phase) -> None:
            if phase:
                await scenarios.kubelet(client, namespace, phase)
            elif kind == "PersistentVolumeClaim":
                await scenarios.volume(client, namespace)

        facts[name] = await scenarios.workload(client, until, namespace, kind, act)
    facts["pods and claims"] = await with_nodes(client, scenarios.stateful_set, "Running")
    facts["cron job"] = await with_nodes(client, scenarios.cron_job, "Succeeded")
    namespace = await namespace_of(client)

    async def run() -> None:
        await scenarios.kubelet(client, namespace, "Running")

    facts["disruption budget"] = await scenarios.disruption_budget(client, until, namespace, run)
    facts["autoscaler"] = await scenarios.autoscaler(client, until, await namespace_of(client))
    facts["quota"] = await scenarios.quota(client, until, await namespace_of(client))
    facts["owners"] = await scenarios.owners(client, until, await namespace_of(client), await namespace_of(client))
    facts["namespace"] = await scenarios.namespace_goes(client, until, await namespace_of(client))
    return facts


async def test_the_cluster_does_what_was_recorded(request: pytest.FixtureRequest) -> None:
    """The recorded facts are those of a real cluster."""
    async with Client.from_kubeconfig(Path(os.environ["KUBECONFIG"])) as client:
        version = json.loads(await client.connection.request(Call("GET", "/version")))["gitVersion"]
        facts = {"version": version, **await observed(client)}
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert {**read(), "version": version} == facts

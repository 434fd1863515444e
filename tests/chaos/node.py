"""A stand-in for a scheduler and a node: the pods of a namespace are processes of this machine.

It does what Deployments see of a kubelet: it starts a pod, makes it ready when its ``/readyz`` says so, and ends it with
SIGTERM when it is to be deleted. The container's arguments are those of :mod:`tests.chaos.program`.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from pykb.api.core.v1 import Node, NodeCondition, NodeStatus, Pod, PodCondition, PodStatus
from pykb.api.meta.v1 import ObjectMeta
from pykb.envtest.components import Component
from pykb.envtest.processes import Processes
from pykb.runtime import Client, Conflict, NotFound
from tests.chaos.journal import Journal, JournalReader, Line

ROOT = Path(__file__).parents[2]
NODE = "stand-in"
PAUSE = 0.2
HEARTBEAT = timedelta(seconds=10)


class StandIn:
    """The node of one namespace.

    Args:
        client: Of the administrator.
        namespace: Whose pods have ``nodeName: stand-in``.
        folder: For the journal and the logs.
        arguments: Of each program, besides those of its container.
    """

    def __init__(self, client: Client, namespace: str, folder: Path, arguments: list[str]) -> None:
        self._client = client
        self._namespace = namespace
        self._folder = folder
        self._arguments = arguments
        self._processes = Processes()
        self._journal = folder / "pods.journal"
        self._reader = JournalReader(self._journal)
        self._started: set[str] = set()
        self._terminated: set[str] = set()
        self.codes: dict[str, int] = {}
        """How the pods ended, by name."""

    @property
    def lines(self) -> list[Line]:
        """What the pods did."""
        return self._reader.lines

    def close(self) -> None:
        """End whatever still runs."""
        self._processes.close()

    async def run(self) -> None:
        """Run until cancelled."""
        beat = None
        while True:
            if beat is None or datetime.now(UTC) - beat > HEARTBEAT:
                beat = await self._beat()
            for pod in await self._client.list(Pod, namespace=self._namespace):
                with contextlib.suppress(Conflict, NotFound):
                    await self._sync(pod)
            await asyncio.sleep(PAUSE)

    async def _beat(self) -> datetime:
        """Say that the node lives. Otherwise its pods would be deleted."""
        now = datetime.now(UTC)
        if await self._client.find(Node, NODE) is None:
            await self._client.create(Node(metadata=ObjectMeta(name=NODE)))
        node = await self._client.get(Node, NODE)
        ready = NodeCondition(type="Ready", status="True", reason="StandIn", last_heartbeat_time=now)
        node.status = NodeStatus(conditions=[ready])
        await self._client.status.update(node)
        return now

    async def _sync(self, pod: Pod) -> None:
        name = pod.metadata.name or ""
        state = self._processes.state()
        if pod.metadata.deletion_timestamp is not None:
            if name in state.running:
                if name not in self._terminated:
                    self._terminated.add(name)
                    self._processes.signal(name, signal.SIGTERM)
                return
            self.codes[name] = state.exited.get(name, 0)
            await self._client.delete(pod, grace_period=timedelta(0))
        elif name not in self._started:
            self._started.add(name)
            assert pod.spec is not None
            self._start(name, pod.spec.containers[0].args or [])
        elif name in state.running:
            await self._probe(pod, state.running[name])
        else:  # it would be started again; nothing here ends by itself
            self.codes[name] = state.exited[name]

    def _start(self, name: str, arguments: list[str]) -> None:
        argv = [sys.executable, "-m", "tests.chaos.program", "--journal", str(self._journal), "--log-format=json"]
        argv += ["--metrics-bind-address=127.0.0.1:0", "--metrics-secure=false"]
        argv += ["--health-probe-bind-address=127.0.0.1:0", *self._arguments, *arguments]
        pid = self._processes.start(Component(name, tuple(argv), self._folder / f"{name}.log", ROOT))
        Journal(self._journal).note("mode", " ".join(arguments), pid=pid)

    async def _probe(self, pod: Pod, pid: int) -> None:
        port = next((line.about for line in self.lines if line.do == "probes" and line.pid == pid), None)
        is_ready = port is not None and await _answers(f"http://127.0.0.1:{port}/readyz")
        status = "True" if is_ready else "False"
        conditions = (pod.status.conditions if pod.status else None) or []
        if status in [each.status for each in conditions if each.type == "Ready"]:
            return
        now = datetime.now(UTC)
        pod.status = PodStatus(
            phase="Running",
            start_time=now,
            conditions=[PodCondition(type=kind, status=status, last_transition_time=now) for kind in ("Ready",)],
        )
        await self._client.status.update(pod)
        Journal(self._journal).note("pod ready" if is_ready else "pod not ready", pod.metadata.name or "", pid=pid)


async def _answers(url: str) -> bool:
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False

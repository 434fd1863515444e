"""``--processes``: a program that runs as several processes, which share its objects."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.testing import eventually

from .conftest import client_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

PROGRAM = """
from datetime import timedelta

from pykb.api.core.v1 import ConfigMap
from pykb.runtime import ControllerBuilder, Manager, ManagerOptions, Reconciler


class Marker(Reconciler):
    async def reconcile(self, request):
        found = await self.client.find(ConfigMap, request)
        if found is not None and request.name.startswith("shared-") and (found.data or {}).get("seen") != "yes":
            found.data = {"seen": "yes"}
            await self.client.update(found)


seconds = lambda value: timedelta(seconds=value)
manager = Manager(ManagerOptions.from_args(
    leader_election_id="processes", lease_duration=seconds(5), renew_deadline=seconds(3), retry_period=seconds(0.3),
))
ControllerBuilder(manager).for_(ConfigMap).complete(Marker(manager.client))
manager.run()
"""
START = timedelta(seconds=60)


def free_port():
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


class Program:
    """The program, as a user would start it."""

    def __init__(self, plane, folder, *flags):
        self.probes, self.metrics = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.log = folder / "log"
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-c", PROGRAM, f"--kubeconfig={plane.kubeconfig}", "--watch-namespace=default"),
                    *("--leader-election-namespace=default", "--metrics-secure=false"),
                    *(f"--metrics-bind-address={self.metrics}", f"--health-probe-bind-address={self.probes}"),
                    *flags,
                ],
                stderr=log,
                env={name: value for name, value in os.environ.items() if name != "KUBECONFIG"},
            )

    async def get(self, address, path):
        """Return the answer's status and text; ``None`` without an answer."""

        def read():
            try:
                with urllib.request.urlopen(f"http://{address}{path}", timeout=30) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()
            except OSError:
                return None

        return await asyncio.to_thread(read)

    async def is_ready(self):
        """Whether the pod would get requests."""
        return (await self.get(self.probes, "/readyz") or (0, ""))[0] == 200

    async def sample(self, name):
        """A sample of the metrics."""
        _, text = await self.get(self.metrics, "/metrics") or (0, "")
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else None

    def children(self):
        """The pids of its processes."""
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)  # noqa: PLW1510
        return [int(pid) for pid in listed.stdout.split()]

    async def end(self, number=signal.SIGTERM):
        """Send a signal, wait for the end of the program and all its processes, and return its exit code."""
        children = self.children()
        self.process.send_signal(number)
        code = await asyncio.to_thread(self.process.wait, 60)
        await eventually(lambda: not any(is_alive(child) for child in children), timeout=START)
        return code


def is_alive(pid):
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def start(control_plane, tmp_path):
    """Start the program. It is gone after the test."""
    started = []

    def one(*flags):
        started.append(Program(control_plane, tmp_path, *flags))
        return started[-1]

    yield one
    for program in started:
        with contextlib.suppress(ProcessLookupError):
            program.process.kill()
        program.process.wait()


async def mark(client, name):
    """Create an object, and wait until a process has reconciled it."""
    await client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))

    async def is_marked():
        return (await client.get(ConfigMap, f"default/{name}")).data == {"seen": "yes"}

    await eventually(is_marked, timeout=START)


async def test_processes_share_the_work_and_one_that_dies_is_started_again(control_plane, start):
    """Probes and metrics speak for all, before, during and after the death of one."""
    program = start("--shards=4", "--processes=2")
    await eventually(program.is_ready, timeout=START)
    first = program.children()
    assert len(first) == 2
    async with client_for(control_plane) as client:

        async def each_works():
            """Whether the shares are equal."""
            return await program.sample("pykb_shard_members") == 2 and await held() == 4

        async def held():
            return await program.sample("pykb_shard_ranges_held")

        await eventually(each_works, timeout=START)
        for number in range(8):
            await mark(client, f"shared-{number}")
        done = await program.sample('controller_runtime_reconcile_total{controller="configmap",result="success"}')
        assert done >= 8
        assert await program.sample("pykb_processes") == 2
        assert (await program.get(program.probes, "/healthz"))[0] == 200

        os.kill(first[0], signal.SIGKILL)

        async def is_back():
            restarts = [await program.sample(f'pykb_process_restarts_total{{process="{n}"}}') for n in (1, 2)]
            return sum(map(bool, restarts)) == 1 and await program.sample("pykb_processes") == 2

        await eventually(is_back, timeout=START)
        await eventually(each_works, timeout=START)
        await eventually(program.is_ready, timeout=START)
        await mark(client, "shared-after")
        again = await program.sample('controller_runtime_reconcile_total{controller="configmap",result="success"}')
        assert again > done, "what the dead process has counted was lost"
    assert await program.end() == 0
    log = program.log.read_text(encoding="utf-8")
    assert {"member=1", "member=2"} <= set(log.split())
    assert "process ended" in log


async def test_processes_end_with_their_parent(start):
    """Nothing is left behind, even if the parent was killed."""
    program = start("--shards=4", "--processes=2")
    await eventually(program.is_ready, timeout=START)
    assert await program.end(signal.SIGKILL) == -signal.SIGKILL


async def test_a_program_that_cannot_start_ends(start):
    """It fails as a single process does. It is not started again and again."""
    program = start("--shards=4", "--processes=2", "--context=missing")
    assert await asyncio.to_thread(program.process.wait, 60) == 1
    log = program.log.read_text(encoding="utf-8")
    assert "missing" in log
    assert "restart" not in log


async def test_more_than_one_process_needs_shards(start):
    """Without ranges there is nothing to share."""
    program = start("--processes=2")
    assert await asyncio.to_thread(program.process.wait, 60) == 2
    assert "`processes` must be from 1 to `shards`" in program.log.read_text(encoding="utf-8")

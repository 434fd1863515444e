"""The manager's servers against a real API server, which decides who may read the metrics."""

import contextlib
import json
import os
import subprocess
import sys

import aiohttp
import pytest

from pykb.api.core.v1 import ServiceAccount
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import ControllerBuilder, Reconciler
from pykb.runtime._stream import MOST_READERS
from pykb.testing import eventually, running

from .conftest import Widget, client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

READER = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "runtime-test-metrics-reader"},
    "rules": [{"nonResourceURLs": ["/metrics", "/records"], "verbs": ["get"]}],
}


class Idle(Reconciler):
    """Does nothing."""

    async def reconcile(self, request):
        """Do nothing."""


def binding(namespace):
    """Lets one account read metrics."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"metrics-{namespace}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER["metadata"]["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    }


async def tokens_for(client, widgets, namespace):
    """Tokens of an account that may read metrics and records, and of one that may not."""
    for name in ("reader", "stranger"):
        await client.create(ServiceAccount(metadata=ObjectMeta(name=name, namespace=namespace)))
    await client.apply(dict(READER), force=True)
    await client.create(binding(namespace))
    return {name: widgets.service_account_token(namespace, name) for name in ("reader", "stranger")}


async def test_metrics_are_served_by_tls_to_those_who_may_read_them(widgets, namespace):
    """401 without a token, 403 for an account without the role, the metrics for one that has it; no plain HTTP."""
    async with client_for(widgets) as client:
        tokens = await tokens_for(client, widgets, namespace)
        manager = manager_for(widgets, namespaces=(namespace,), metrics_bind_address="127.0.0.1:0")
        ControllerBuilder(manager).for_(Widget).complete(Idle(manager.client))
        async with running(manager), aiohttp.ClientSession() as session:
            await eventually(lambda: manager.servers.metrics is not None)
            await manager.servers.metrics.listening()
            url = f"https://127.0.0.1:{manager.servers.metrics.port}/metrics"

            async def read(token):
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                async with session.get(url, headers=headers, ssl=False) as answer:
                    return answer.status, await answer.text()

            assert (await read(None))[0] == 401
            assert (await read("nonsense"))[0] == 401
            assert (await read(tokens["stranger"]))[0] == 403
            status, text = await read(tokens["reader"])
            assert status == 200
            assert 'controller_runtime_max_concurrent_reconciles{controller="widget"} 1.0' in text
            assert 'workqueue_depth{controller="widget",name="widget",priority="0"}' in text
            with pytest.raises(aiohttp.ClientError):
                await session.get(url.replace("https", "http"))


async def test_records_are_made_for_those_who_may_read_them_while_they_do(widgets, namespace):
    """401 without a token, also on loopback, 403 without the role; a bound on readers. Nothing is recorded for nobody."""
    async with client_for(widgets) as client, contextlib.AsyncExitStack() as stack:
        tokens = await tokens_for(client, widgets, namespace)
        manager = manager_for(widgets, namespaces=(namespace,), records_bind_address="127.0.0.1:0")
        controller, webhooks = (
            ControllerBuilder(manager).for_(Widget).complete(Idle(manager.client)),
            manager.webhook_server,
        )

        def is_recorded():
            return (controller.queue.tracker is not None, webhooks.recorder is not None)

        await stack.enter_async_context(running(manager))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        await eventually(lambda: manager.servers.records is not None)
        await manager.servers.records.listening()
        url = f"https://127.0.0.1:{manager.servers.records.port}/records"

        def read(token):
            return session.get(url, headers={"Authorization": f"Bearer {token}"}, ssl=False)

        for token, status in (("", 401), ("nonsense", 401), (tokens["stranger"], 403)):
            async with read(token) as answer:
                assert answer.status == status
        assert is_recorded() == (False, False)
        async with contextlib.AsyncExitStack() as readers:
            first, *_ = [await readers.enter_async_context(read(tokens["reader"])) for _ in range(MOST_READERS)]
            assert await first.content.readline() == b"\n"
            assert is_recorded() == (True, True)
            await client.create(Widget(metadata=ObjectMeta(name="seen", namespace=namespace)))
            while b"ended" not in (line := await first.content.readline()):
                pass
            told = json.loads(line)
            assert (told["request"], told["causes"][0]["event"]) == (f"{namespace}/seen", "create")
            async with read(tokens["reader"]) as answer:
                assert answer.status == 503
        await eventually(lambda: is_recorded() == (False, False))


READ_ONLY = """
import os, sys

def refuse(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path, _, flags = arguments
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not os.fsdecode(path).startswith(("/dev/", "/proc/"))
    else:
        writes = event in ("os.mkdir", "os.rename", "tempfile.mkstemp", "tempfile.mkdtemp")
    if writes:
        os.write(2, f"WRITES {event} {arguments}\\n".encode())
        raise OSError(30, "Read-only file system")

sys.addaudithook(refuse)
# These libraries write the certificates in a kubeconfig to files. Those of a pod are files already.
sys.modules["kubernetes"] = sys.modules["kubernetes_asyncio"] = None
"""

MANAGER = """
import asyncio, sys
import kopf
from pykb.api.core.v1 import ConfigMap
from pykb.runtime import ControllerBuilder, Manager, ManagerOptions, Reconciler
from pykb.runtime.webhook import allowed

manager = Manager(ManagerOptions.from_args())

class Idle(Reconciler):
    async def reconcile(self, request):
        pass

async def judge(request):
    return allowed()

@kopf.on.event("v1", "secrets")
def seen(**_):
    pass

async def stop_when_all_runs():
    await manager.webhook_server.listening()
    while manager.cache.unsynced or manager.servers.metrics is None:
        await asyncio.sleep(0.05)
    await manager.servers.metrics.listening()
    await manager.servers.probes.listening()
    print("all runs")
    manager.stop()

ControllerBuilder(manager).for_(ConfigMap).complete(Idle(manager.client))
manager.webhook_server.register("/judge", judge)
manager.add(stop_when_all_runs)
manager.run()
"""


def test_a_manager_writes_no_file(widgets, tmp_path):
    """Its root file system is read-only in a pod, and no volume is there to write to: such a volume blocks a drain."""
    (tmp_path / "sitecustomize.py").write_text(READ_ONLY, encoding="utf-8")
    flags = (
        *("--kubeconfig", widgets.kubeconfig, "--leader-elect", "--leader-election-namespace", "default"),
        *("--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"),
        *("--webhook-port", "0", "--webhook-bind-host", "127.0.0.1"),
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", MANAGER, *flags],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "WRITES" not in done.stderr, done.stderr
    assert (done.returncode, done.stdout) == (0, "all runs\n"), done.stderr

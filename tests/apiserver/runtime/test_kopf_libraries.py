"""Handlers use the client libraries that kopf's login configures on its way: `kubernetes` and its async sister."""

import asyncio
import base64
import json
import logging
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import kubernetes
import kubernetes_asyncio
import pytest
import yaml

from pykb.api.core.v1 import ConfigMap, ServiceAccount
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.login import Credentials, InClusterSource, KubeconfigSource, StaticCredentials
from pykb.runtime import Client
from pykb.runtime._kopf.watch import configure_libraries
from pykb.testing import eventually

from .conftest import NO_PORTS  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

LONG = timedelta(seconds=60)

PROGRAM = """\
import sys
import kopf, kubernetes, kubernetes_asyncio
from pykb.runtime import Manager, ManagerOptions

options = ManagerOptions.from_args(sys.argv[1:])
manager = Manager(options)

@kopf.on.create("", "v1", "configmaps", when=lambda name, **_: name == "a")
def sync_fn(namespace, name, body, **_):
    owned = {"metadata": {"name": "sync", "namespace": namespace}}
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace=namespace, body=owned)

@kopf.on.create("", "v1", "configmaps", when=lambda name, **_: name == "a")
async def async_fn(namespace, **_):
    owned = {"metadata": {"name": "async", "namespace": namespace}}
    async with kubernetes_asyncio.client.ApiClient() as api:
        await kubernetes_asyncio.client.CoreV1Api(api).create_namespaced_config_map(namespace, owned)

manager.add_kopf_handlers()
manager.run()
"""


async def test_handlers_find_the_cluster_of_the_command_line(control_plane, namespace, tmp_path: Path) -> None:
    """Neither KUBECONFIG nor a pod's variables name it, and the current context of the file leads nowhere."""
    program, kubeconfig = tmp_path / "program.py", tmp_path / "some.kubeconfig"
    program.write_text(PROGRAM, encoding="utf-8")
    config = yaml.safe_load(control_plane.kubeconfig.read_text(encoding="utf-8"))
    wrong = {"name": "wrong", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "wrong", "context": {"cluster": "wrong", "user": config["users"][0]["name"]}}
    right = config["current-context"]
    config |= {"clusters": [wrong, *config["clusters"]], "contexts": [context, *config["contexts"]]}
    kubeconfig.write_text(json.dumps({**config, "current-context": "wrong"}), encoding="utf-8")
    words = ("--kubeconfig", str(kubeconfig), "--context", right, "--watch-namespace", namespace)
    async with Client.from_kubeconfig(control_plane.kubeconfig) as client:
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(program), *words, *NO_PORTS),
            env={"PATH": "/usr/bin", "HOME": str(tmp_path)},
            stderr=subprocess.PIPE,
        )

        async def made() -> None:
            assert process.returncode is None
            for name in ("sync", "async"):
                assert await client.find(ConfigMap, f"{namespace}/{name}") is not None

        try:
            await eventually(made, timeout=LONG)
        finally:
            process.terminate()
            _, log = await process.communicate()
    assert "is not configured" not in log.decode()


@pytest.fixture
async def account(control_plane, namespace: str, tmp_path: Path) -> Path:
    """The files that a pod of a ServiceAccount has."""
    async with Client.from_kubeconfig(control_plane.kubeconfig) as client:
        await client.create(ServiceAccount(metadata=ObjectMeta(name="robot", namespace=namespace)))
    (tmp_path / "token").write_text(control_plane.service_account_token(namespace, "robot"), encoding="utf-8")
    (tmp_path / "ca.crt").write_bytes(_authority(control_plane))
    return tmp_path


def _authority(control_plane) -> bytes:
    config = yaml.safe_load(control_plane.kubeconfig.read_text(encoding="utf-8"))
    return base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])


async def _who() -> tuple[str, str]:
    """The user whom the API server sees, for both libraries."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    first = await asyncio.to_thread(kubernetes.client.AuthenticationV1Api().create_self_subject_review, review)
    async with kubernetes_asyncio.client.ApiClient() as api:
        second = await kubernetes_asyncio.client.AuthenticationV1Api(api).create_self_subject_review(review)
    return first.status.user_info.username, second.status.user_info.username


@pytest.mark.parametrize("kind", ["pod", "pod with another server", "token", "kubeconfig with another server"])
async def test_every_way_to_log_in_is_theirs(kind: str, control_plane, account: Path, namespace: str, caplog) -> None:
    """The files of a pod, `--master`, and credentials that a program brought itself."""
    host, port = control_plane.url.removeprefix("https://").split(":")
    here = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    token = (account / "token").read_text(encoding="utf-8")
    source = {
        "pod": InClusterSource(directory=account, environ=here),
        "pod with another server": InClusterSource(
            directory=account, environ={**here, "KUBERNETES_SERVICE_PORT": "1"}, server=control_plane.url
        ),
        "token": StaticCredentials(Credentials(control_plane.url, ca_data=_authority(control_plane), token=token)),
        "kubeconfig with another server": KubeconfigSource(
            [control_plane.service_account(namespace, "robot")], server=control_plane.url
        ),
    }[kind]
    await configure_libraries(source, await source.current())
    assert await _who() == (f"system:serviceaccount:{namespace}:robot",) * 2
    assert not caplog.records


async def test_a_library_that_fails_is_named(tmp_path: Path, caplog) -> None:
    """The manager goes on: most handlers do not need it."""
    (tmp_path / "config").write_text("{}", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        await configure_libraries(KubeconfigSource([tmp_path / "config"]), Credentials("https://127.0.0.1:1"))
    assert [record.library for record in caplog.records] == ["kubernetes", "kubernetes_asyncio"]

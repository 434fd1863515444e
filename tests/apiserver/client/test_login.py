"""Login against a real API server: every kind of credentials, and their renewal."""

import asyncio
import base64
import contextlib
import json
import sys

import pytest
import yaml

from pykb.api.authentication.v1 import SelfSubjectReview
from pykb.api.core.v1 import ConfigMap, ServiceAccount
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import Client, ClientOptions
from pykb.client.errors import Forbidden, ServerUnreachable, Unauthorized
from pykb.client.login import InClusterSource, KubeconfigSource
from pykb.diagnostics import EnvironmentProblem
from pykb.runtime import Manager, ManagerOptions
from pykb.testing import running

pytestmark = pytest.mark.apiserver


async def _whoami(client):
    review = await client.create(SelfSubjectReview())
    return review.status.user_info.username


async def _token(client, namespace, name="robot"):
    account = ServiceAccount(metadata=ObjectMeta(name=name, namespace=namespace))
    await client.apply(account)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    await client.subresource("token").create(account, request)
    return request["status"]["token"]


@pytest.fixture
def kubeconfig(control_plane, tmp_path):
    """Writes a kubeconfig for the control plane with another user (and cluster) entry."""
    original = yaml.safe_load(control_plane.kubeconfig.read_text())

    def write(user, **cluster):
        document = {**original, "users": [{"name": "u", "user": user}]}
        document["clusters"] = [{"name": "c", "cluster": {**original["clusters"][0]["cluster"], **cluster}}]
        document["contexts"] = [{"name": "x", "context": {"cluster": "c", "user": "u"}}]
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump({**document, "current-context": "x"}))
        return path

    return write


async def test_a_client_certificate_in_files_is_enough(control_plane, kubeconfig, tmp_path):
    """Certificate and key beside the kubeconfig; the server takes the name and the groups from it."""
    user = yaml.safe_load(control_plane.user("ann", ["painters"]).read_text())["users"][0]["user"]
    for field in ("client-certificate", "client-key"):
        (tmp_path / f"{field}.pem").write_bytes(base64.b64decode(user[f"{field}-data"]))
    entry = {field: f"{field}.pem" for field in ("client-certificate", "client-key")}
    async with Client.from_kubeconfig(kubeconfig(entry)) as mine:
        review = await mine.create(SelfSubjectReview())
    assert review.status.user_info.username == "ann"
    assert "painters" in review.status.user_info.groups


async def _tunnel(reader, writer):
    """One connection of an HTTP proxy: CONNECT, then bytes both ways."""
    line = await reader.readline()
    if not line:  # a client that is stopped may give up between the connection and its request
        writer.close()
        return
    _, target, _ = line.decode().split()
    while (await reader.readline()).strip():
        pass
    host, _, port = target.rpartition(":")
    there_reader, there_writer = await asyncio.open_connection(host, int(port))
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

    async def pump(source, sink):
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()
        sink.close()
        with contextlib.suppress(OSError):
            await sink.wait_closed()

    await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer))


async def test_a_proxy_of_the_kubeconfig_is_gone_through(control_plane, kubeconfig, namespace):
    """`proxy-url`: requests, watches and the lists of a manager reach the server by it."""
    original = yaml.safe_load(control_plane.kubeconfig.read_text())["users"][0]["user"]
    tunnels = []

    async def count(reader, writer):
        tunnels.append(asyncio.current_task())
        await _tunnel(reader, writer)

    proxy = await asyncio.start_server(count, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    path = kubeconfig(original, **{"proxy-url": f"http://127.0.0.1:{port}"})
    async with Client.from_kubeconfig(path) as mine:
        await mine.create(ConfigMap(metadata=ObjectMeta(name="x", namespace=namespace)))
        assert len(tunnels) == 1
        async with mine.watch(ConfigMap, namespace=namespace) as events:
            assert (await anext(events)).object.metadata.name == "x"
        direct = len(tunnels)
        manager = Manager(ManagerOptions(namespaces=(namespace,)), credentials=KubeconfigSource([path]))
        informer = manager.cache.informer(ConfigMap)
        async with running(manager):
            assert informer.lister.get("x", namespace=namespace) is not None
        assert len(tunnels) > direct
    proxy.close()
    await asyncio.gather(*tunnels)


async def test_a_plugin_whose_credentials_are_refused_is_run_again(client, namespace, kubeconfig, tmp_path):
    """401 runs the plugin again; the request succeeds, and nobody notices."""
    good = await _token(client, namespace)
    runs = tmp_path / "runs"
    script = tmp_path / "plugin"
    script.write_text(
        f"""#!{sys.executable}
import json, pathlib
runs = pathlib.Path({str(runs)!r})
runs.write_text((runs.read_text() if runs.exists() else "") + "x")
token = {good!r} if len(runs.read_text()) > 1 else "stale"
status = {{"token": token}}
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}}))
"""
    )
    script.chmod(0o755)
    entry = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script), "interactiveMode": "Never"}
    }
    async with Client.from_kubeconfig(kubeconfig(entry)) as mine:
        assert await _whoami(mine) == f"system:serviceaccount:{namespace}:robot"
        assert await _whoami(mine) == f"system:serviceaccount:{namespace}:robot"
    assert runs.read_text() == "xx"


async def test_a_rotated_token_file_is_used_after_a_401(client, namespace, kubeconfig, tmp_path):
    """The kubelet replaced the file, the server no longer takes the old token: the file is read again at once."""
    file = tmp_path / "token"
    file.write_text("stale")
    async with Client.from_kubeconfig(kubeconfig({"tokenFile": "token"})) as mine:
        with pytest.raises(Unauthorized):
            await _whoami(mine)
        file.write_text(await _token(client, namespace))
        assert await _whoami(mine) == f"system:serviceaccount:{namespace}:robot"


async def test_a_watch_renews_its_credentials_too(client, namespace, kubeconfig, tmp_path):
    """A stream that is refused is opened with new credentials."""
    file = tmp_path / "token"
    file.write_text("stale")
    path = kubeconfig({"tokenFile": "token", "as": "boss", "as-groups": ["system:masters"]})
    async with Client.from_kubeconfig(path) as mine:
        source = mine.connection.source
        await source.current()
        file.write_text(await _token(client, namespace))
        await source.current()
        with pytest.raises(Forbidden, match="impersonate"):
            await anext(mine.watch(ConfigMap, namespace=namespace, resource_version="0"))


async def test_a_pod_logs_in_with_its_files(client, namespace, control_plane, tmp_path):
    """Token and CA from the service account's directory, the server from the environment."""
    cluster = yaml.safe_load(control_plane.kubeconfig.read_text())["clusters"][0]["cluster"]
    (tmp_path / "token").write_text(await _token(client, namespace))
    (tmp_path / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    (tmp_path / "namespace").write_text(namespace)
    host, port = cluster["server"].removeprefix("https://").split(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    source = InClusterSource(directory=tmp_path, environ=environ)
    assert source.is_available
    async with Client.from_credentials(source) as mine:
        assert await _whoami(mine) == f"system:serviceaccount:{namespace}:robot"


async def test_impersonation_of_the_kubeconfig_and_of_the_client(kubeconfig, control_plane):
    """`as` in the user entry, and the client's own, which is stronger."""
    admin = yaml.safe_load(control_plane.kubeconfig.read_text())["users"][0]["user"]
    path = kubeconfig({**admin, "as": "ann", "as-groups": ["system:authenticated"]})
    async with Client.from_kubeconfig(path) as mine:
        assert await _whoami(mine) == "ann"
        assert await _whoami(mine.impersonate("bob", groups=("system:authenticated",))) == "bob"


async def test_a_server_name_may_differ_from_the_host(kubeconfig, control_plane):
    """`tls-server-name` is what the certificate must carry: a right one works, a wrong one is told."""
    admin = yaml.safe_load(control_plane.kubeconfig.read_text())["users"][0]["user"]
    async with Client.from_kubeconfig(kubeconfig(admin, **{"tls-server-name": "kubernetes.default.svc"})) as mine:
        assert await _whoami(mine)
    async with Client.from_kubeconfig(kubeconfig(admin, **{"tls-server-name": "elsewhere.example"})) as mine:
        with pytest.raises(ServerUnreachable, match="certificate") as caught:
            await _whoami(mine)
    assert "tls-server-name" in caught.value.diagnostic.help[0]


async def test_a_certificate_that_is_not_trusted_is_told_or_waved_through(kubeconfig, control_plane):
    """Without the right CA the connection is refused by us, unless the kubeconfig says to skip the check."""
    admin = yaml.safe_load(control_plane.kubeconfig.read_text())["users"][0]["user"]
    async with Client.from_kubeconfig(kubeconfig(admin, **{"certificate-authority-data": ""})) as mine:
        with pytest.raises(ServerUnreachable, match="certificate verify failed"):
            await _whoami(mine)
    async with Client.from_kubeconfig(kubeconfig(admin, **{"insecure-skip-tls-verify": True})) as mine:
        assert await _whoami(mine)


async def test_certificates_that_are_none_are_told(kubeconfig):
    """Key material that is no PEM names the kubeconfig and the fields."""
    junk = base64.b64encode(b"junk").decode()
    async with Client.from_kubeconfig(kubeconfig({"client-certificate-data": junk, "client-key-data": junk})) as mine:
        with pytest.raises(EnvironmentProblem, match="cannot be used") as caught:
            await _whoami(mine)
    assert "client-certificate" in caught.value.diagnostic.help[0]


async def test_the_field_manager_of_the_options_is_recorded(control_plane, namespace):
    """Every write of a client carries its manager's name."""
    options = ClientOptions(field_manager="my-operator")
    async with Client.from_kubeconfig(control_plane.kubeconfig, options=options) as mine:
        obj = await mine.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace), data={"k": "v"}))
    assert [entry.manager for entry in obj.metadata.managed_fields] == ["my-operator"]
    assert json.dumps(obj.to_wire())

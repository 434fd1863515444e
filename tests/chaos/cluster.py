"""The control plane that the faults befall, and ways into it."""

from __future__ import annotations

import asyncio
import base64
import copy
import json
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import aiohttp

from pykb.api.core.v1 import Namespace, ServiceAccount
from pykb.api.meta.v1 import ObjectMeta
from pykb.envtest import ControlPlane
from pykb.envtest.crds import wait_until_deleted
from pykb.runtime import Client, NoKindMatch, NotFound
from pykb.testing import eventually
from tests.chaos.kinds import DEFINITION, DEFINITION_NAME, GADGETS, RULES, Gadget

ACCOUNT = "chaos-manager"
LONG = timedelta(minutes=5)


class Cluster:
    """A control plane with the kind and a service account for operators.

    Args:
        plane: Runs already.
        folder: For kubeconfigs, logs and journals.
    """

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane = plane
        self.folder = folder
        self.client = Client.from_kubeconfig(plane.kubeconfig)

    async def __aenter__(self) -> Self:
        try:
            await self.prepare()
        except BaseException:
            await self.client.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    async def prepare(self) -> None:
        """Define the kind and admit the operators; done already, it changes nothing."""
        await self.define()
        await self.admit()
        role = {"metadata": {"name": ACCOUNT}, "apiVersion": "rbac.authorization.k8s.io/v1"}
        await self.client.apply({**role, "kind": "ClusterRole", "rules": RULES}, force=True)
        subject = {"kind": "ServiceAccount", "namespace": "default", "name": ACCOUNT}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ACCOUNT}
        binding = {"kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": reference}
        await self.client.apply({**role, **binding}, force=True)

    async def define(self) -> None:
        """Define the kind, and wait until it is served."""
        await self.client.apply(copy.deepcopy(GADGETS), force=True)

        async def is_served() -> bool:
            found = await self.client.get(DEFINITION, DEFINITION_NAME)
            conditions = found.data.get("status", {}).get("conditions") or ()
            if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
                return False
            try:
                await self.client.list(Gadget, namespace="default")
            except (NoKindMatch, NotFound):  # discovery follows a moment later
                return False
            return True

        await eventually(is_served, timeout=LONG)

    async def undefine(self) -> None:
        """Delete the kind, and wait until it and all its objects are gone."""
        await self.client.delete(DEFINITION, DEFINITION_NAME)
        deadline = time.monotonic() + LONG.total_seconds()
        await asyncio.to_thread(wait_until_deleted, self.plane.rest(), DEFINITION_NAME, deadline)

    async def admit(self) -> None:
        """Make the operators' account, anew where there is one: its tokens are worth nothing any more."""
        account = ServiceAccount(metadata=ObjectMeta(name=ACCOUNT, namespace="default"))
        await self.client.delete(account, missing_ok=True)
        await self.client.create(account)

    def token(self) -> str:
        """A token of the operators' account."""
        return self.plane.service_account_token("default", ACCOUNT)

    async def make_namespace(self, name: str) -> None:
        """Make a namespace."""
        await self.client.create(Namespace(metadata=ObjectMeta(name=name)))

    def kubeconfig(self, name: str, server: str, user: dict[str, Any]) -> Path:
        """Write a kubeconfig for an operator.

        Args:
            name: Of the file.
            server: The URL, the API server's or a proxy's.
            user: How to log in.
        """
        authority = base64.b64encode((self.plane.layout.keys / "ca.crt").read_bytes()).decode()
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority-data": authority}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "default"}}],
            "current-context": "x",
        }
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    def token_file_user(self, path: Path) -> dict[str, Any]:
        """Log in with a token that is read from a file again and again, as in a pod."""
        path.write_text(self.token(), encoding="utf-8")
        return {"tokenFile": str(path)}

    def plugin_user(self, path: Path) -> dict[str, Any]:
        """Log in with what a credential plugin prints, and nothing says for how long it is good."""
        path.write_text(self.token(), encoding="utf-8")
        code = (
            "import json, sys; token = open(sys.argv[1]).read(); print(json.dumps("
            "{'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential', 'status': {'token': token}}))"
        )
        plugin = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-I", "-S", "-c", code, str(path)],
            "interactiveMode": "Never",
        }
        return {"exec": plugin}

    async def compact(self) -> None:
        """Have the store forget all history."""
        answer = await self._etcd("kv/range", {"key": base64.b64encode(b"/").decode()})
        await self._etcd("kv/compaction", {"revision": answer["header"]["revision"], "physical": True})

    async def _etcd(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        connector = aiohttp.UnixConnector(path=str(self.plane.layout.etcd_socket))
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.post(f"http://etcd/v3/{path}", json=body) as response,
        ):
            response.raise_for_status()
            answer: dict[str, Any] = await response.json()
            return answer

"""The environment of the operators: a separate API server, three kinds, and objects of 1 or 10 kB."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pykb.envtest import ControlPlane
from pykb.envtest.components import Component
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import Client

KINDS = ("Widget", "Gadget", "Gizmo")
WIDGET = GroupVersionKind("bench.example.com", "v1", "Widget")
USER = "operator"
"""The user of the operators, so that the audit log distinguishes their requests from the benchmark's."""

KILOBYTE, TEN_KILOBYTES = 10, 180
"""Variables in an object of about this size."""

_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "Metadata", "users": [USER]}, {"level": "None"}],
}


def definition(kind: str) -> dict[str, object]:
    """The CRD of a kind."""
    names = {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower(), "listKind": f"{kind}List"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _OPEN, "status": _OPEN}}},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{WIDGET.group}"},
        "spec": {"group": WIDGET.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def thing(
    number: int, kind: str = "Widget", *, variables: int = KILOBYTE, namespace: str = "default"
) -> dict[str, Any]:
    """One object. The number of variables decides its size."""
    return {
        "apiVersion": WIDGET.api_version,
        "kind": kind,
        "metadata": {
            "name": f"w{number:05}",
            "namespace": namespace,
            "labels": {"app": "bench", "number": str(number)},
        },
        "spec": {
            "replicas": number % 7,
            "image": "registry.example.com/team/widget:1.2.3",
            "env": [{"name": f"VARIABLE_{n}", "value": f"{n:020}"} for n in range(variables)],
            "limits": {"cpu": "500m", "memory": "128Mi"},
        },
    }


class World:
    """An API server with the kinds."""

    def __init__(self, plane: ControlPlane, audit: Path) -> None:
        self.plane = plane
        self.operator_kubeconfig = plane.user(USER, groups=("system:masters",))
        self._audit = audit

    def populate(
        self,
        count: int,
        kinds: Sequence[str] = ("Widget",),
        *,
        variables: int = KILOBYTE,
        namespaces: Sequence[str] = ("default",),
    ) -> None:
        """Create ``count`` objects in total. The namespaces are created, but for the first one."""
        asyncio.run(self._populate(count, kinds, variables, namespaces))

    async def _populate(self, count: int, kinds: Sequence[str], variables: int, namespaces: Sequence[str]) -> None:
        async with Client.from_kubeconfig(self.plane.kubeconfig) as client:
            slots = asyncio.Semaphore(16)
            for name in namespaces[1:]:
                await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

            async def create(number: int) -> None:
                kind, namespace = kinds[number % len(kinds)], namespaces[number % len(namespaces)]
                async with slots:
                    await client.create(thing(number, kind, variables=variables, namespace=namespace))

            await asyncio.gather(*(create(number) for number in range(count)))

    def audited(self) -> list[dict[str, Any]]:
        """The operators' requests so far."""
        return [json.loads(line) for line in self._audit.read_text(encoding="utf-8").splitlines()]


def requests(events: Sequence[dict[str, Any]]) -> Counter[str]:
    """Requests by verb and resource; each is audited when it arrives."""
    return Counter(
        f"{event['verb']} {(event.get('objectRef') or {}).get('resource', event['requestURI'])}"
        for event in events
        if event["stage"] == "RequestReceived"
    )


@contextlib.contextmanager
def world(*, feature_gates: Mapping[str, bool] | None = None) -> Iterator[World]:
    """A new world. It starts in seconds, while deleting thousands of objects takes minutes and may time out."""
    with tempfile.TemporaryDirectory() as folder:
        audit = Path(folder) / "audit.log"
        policy = Path(folder) / "policy.json"
        policy.write_text(json.dumps(_AUDIT), encoding="utf-8")
        definitions = Path(folder) / "crds"
        definitions.mkdir()
        for kind in KINDS:
            (definitions / f"{kind}.yaml").write_text(json.dumps(definition(kind)), encoding="utf-8")
        with _Audited(policy, audit, feature_gates) as plane:
            plane.install_crds(definitions)
            yield World(plane, audit)


class _Audited(ControlPlane):
    """A control plane with an audit log of the operators' requests."""

    def __init__(self, policy: Path, log: Path, feature_gates: Mapping[str, bool] | None) -> None:
        super().__init__(feature_gates=feature_gates)
        self._flags = (f"--audit-policy-file={policy}", f"--audit-log-path={log}")

    def _apiserver(self) -> Component:
        component = super()._apiserver()
        return replace(component, argv=(*component.argv, *self._flags))

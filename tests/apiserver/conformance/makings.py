"""Plain objects for the conformance tests, as other programs write them."""

from __future__ import annotations

from typing import Any


def config_map(namespace: str, name: str = "a", data: Any = None, **metadata: Any) -> dict[str, Any]:
    """A ConfigMap."""
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, **metadata}}
    return obj if data is None else {**obj, "data": data}


def widget(namespace: str, name: str = "w", **spec: Any) -> dict[str, Any]:
    """A custom resource."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "client.example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": 1, **spec}}


def pod_template(*containers: str) -> dict[str, Any]:
    """A template of a pod with containers of these names."""
    listed = [{"name": name, "image": f"{name}:1"} for name in containers]
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": listed}}


def deployment(namespace: str, *containers: str, **spec: Any) -> dict[str, Any]:
    """A Deployment."""
    selector = {"matchLabels": {"app": "x"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": namespace},
        "spec": {"replicas": 1, "selector": selector, "template": pod_template(*(containers or ("a",))), **spec},
    }


def service(namespace: str, *ports: dict[str, Any]) -> dict[str, Any]:
    """A Service."""
    metadata = {"name": "s", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": list(ports)}}

"""The generated built-in types."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from pykb.api import GroupVersionKind, builtin
from pykb.api.apiextensions.v1 import CustomResourceDefinition
from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import Pod, Secret
from pykb.api.discovery.v1 import EndpointSlice
from pykb.api.events.v1 import Event

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"a": "b"}, "managedFields": [{"manager": "x", "fieldsV1": {"f:a": {}}}]},
    "spec": {
        "nodeSelector": {},
        "hostIPC": False,
        "enableServiceLinks": False,
        "futureField": {"x": [1, None]},
        "containers": [
            {
                "name": "c",
                "image": "nginx",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "resources": {"limits": {"cpu": "1", "memory": 2}, "futureField": 1},
                "readinessProbe": {"httpGet": {"port": "http"}, "initialDelaySeconds": 0},
                "livenessProbe": {"httpGet": {"port": 8080}},
                "env": [{"name": "A", "value": ""}],
            }
        ],
    },
    "status": {"podIPs": [{"ip": "10.0.0.1"}], "startTime": "2026-01-31T12:00:00Z"},
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "creationTimestamp": "2026-01-31T12:00:00Z"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"a": "b"}},
        "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
        "template": {"metadata": POD["metadata"], "spec": POD["spec"]},
    },
}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "foos.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "foos", "kind": "Foo"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                        "x-kubernetes-future": "y",
                        "properties": {
                            "a": {"type": "array", "items": {"type": "string"}, "default": [None, {}]},
                            "b": {"additionalProperties": False, "not": {"enum": [1, "a", None]}},
                            "c": {"additionalProperties": {"$ref": "#", "type": "integer"}, "multipleOf": 0.5},
                            "d": {"items": [{"type": "string"}], "dependencies": {"x": ["y"], "z": {"type": "string"}}},
                        },
                    }
                },
            }
        ],
    },
}


@pytest.mark.parametrize(("cls", "data"), [(Pod, POD), (Deployment, DEPLOYMENT), (CustomResourceDefinition, CRD)])
def test_objects_round_trip_identically(cls: Any, data: dict[str, Any]) -> None:
    """Unknown fields, integer quantities, empty maps and zero values all come back as they were."""
    assert cls.from_wire(data).to_wire() == data


def test_every_builtin_type_builds() -> None:
    """All references resolve; no annotation waits for a name that never comes."""
    structs = list(builtin.structs())
    assert len(structs) > 450
    for struct in structs:
        assert struct.model_rebuild(force=False) is not False
        assert struct.__pydantic_complete__, struct


def test_every_kind_is_found_by_its_identity() -> None:
    """The table leads from a GVK to the class that says it is that kind, with its place on the server."""
    kinds = list(builtin.kinds())
    assert GroupVersionKind("apps", "v1", "Deployment") in kinds
    for gvk in kinds:
        found = builtin.find_class(gvk)
        assert found is not None
        assert found.gvk == gvk
    assert builtin.find_class(GroupVersionKind("apps", "v1", "Nothing")) is None
    assert builtin.find_class(GroupVersionKind("example.com", "v1", "Deployment")) is None
    assert Deployment.resource is not None
    assert (Deployment.resource.plural, Deployment.resource.namespaced) == ("deployments", True)
    assert Deployment.resource.subresources == ("scale", "status")


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("pykb.api", ["pydantic", "pykb.api.struct"]),
        ("pykb.api.meta.v1", ["pykb.api.core.v1"]),
        ("pykb.api.apps.v1", ["pykb.api.batch.v1", "pykb.api.apiextensions.v1", "pykb.api.networking.v1"]),
        ("pykb.api.batch.v1", ["pykb.api.apps.v1"]),
        ("pykb.api.builtin", ["pykb.api.core.v1", "pydantic"]),
        ("pykb.api.rbac.v1", ["pykb.api.core.v1"]),
        ("pykb.client.events", ["pykb.api.core.v1"]),
        ("pykb.runtime.sharding.sharding", ["pykb.api.core.v1"]),
    ],
)
def test_importing_one_group_leaves_the_others_alone(module: str, absent: list[str]) -> None:
    """An operator pays for the groups it uses."""
    script = f"import sys, {module}; print([name for name in {absent!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_nulls_that_servers_send_for_required_fields_are_read() -> None:
    """Empty required lists and unset required times come as null from Go."""
    assert Pod.from_wire({"spec": {"containers": None}}).to_wire()["spec"] == {"containers": []}
    assert EndpointSlice.from_wire({"addressType": "IPv4", "endpoints": None}).to_wire()["addressType"] == "IPv4"
    assert Event.from_wire({"eventTime": None, "metadata": {"name": "e"}}).event_time is None


def test_secrets_do_not_show_in_logs() -> None:
    """The representation of a Secret has no values."""
    secret = Secret(data={"password": b"hunter2"}, string_data={"token": "hunter2"})
    assert "hunter2" not in f"{secret!r} {secret}"
    assert secret.to_wire()["data"] == {"password": "aHVudGVyMg=="}


def test_what_go_would_call_a_zero_value_needs_no_special_care() -> None:
    """A field set to its zero value goes out; one never touched does not."""
    wire = Deployment.from_wire({"spec": DEPLOYMENT["spec"]}).to_wire()
    assert wire["spec"]["replicas"] == 0
    assert "paused" not in wire["spec"]


def test_the_modules_of_the_package_can_be_imported_by_name() -> None:
    """No name in the package hides one of its modules (`from __future__ import annotations` once did)."""
    script = "from pykb.api import annotations; print(annotations.CEL.__module__)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "pykb.api.annotations"

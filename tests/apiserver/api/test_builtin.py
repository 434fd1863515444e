"""Built-in types against a real API server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pykb.api import Quantity, builtin
from pykb.api.apps.v1 import Deployment, DeploymentSpec
from pykb.api.coordination.v1 import Lease, LeaseSpec
from pykb.api.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    PodSpec,
    PodTemplateSpec,
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceRequirements,
    Secret,
    Service,
    ServicePort,
    ServiceSpec,
)
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.api.rbac.v1 import PolicyRule, Role

pytestmark = pytest.mark.apiserver

LABELS = {"app": "x"}
OBJECTS = [
    Deployment(
        metadata=ObjectMeta(name="x"),
        spec=DeploymentSpec(
            selector=LabelSelector(match_labels=LABELS),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=LABELS),
                spec=PodSpec(
                    containers=[
                        Container(
                            name="c",
                            image="example.com/x",
                            ports=[ContainerPort(container_port=80)],
                            resources=ResourceRequirements(limits={"cpu": Quantity("500m"), "memory": Quantity(64)}),
                        )
                    ]
                ),
            ),
        ),
    ),
    ConfigMap(metadata=ObjectMeta(name="x"), data={"a": "b"}, binary_data={"c": b"\x00\xff"}, immutable=False),
    Secret(metadata=ObjectMeta(name="x"), data={"a": b"", "b": b"\xff"}),
    Service(metadata=ObjectMeta(name="x"), spec=ServiceSpec(ports=[ServicePort(port=80, target_port="http")])),
    Lease(
        metadata=ObjectMeta(name="x"),
        spec=LeaseSpec(holder_identity="me", renew_time=datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC)),
    ),
    Role(metadata=ObjectMeta(name="x"), rules=[PolicyRule(api_groups=[""], resources=["pods"], verbs=["get"])]),
]


def path_of(obj: Any, namespace: str) -> str:
    """Where objects of a kind are."""
    return f"{obj.gvk.group_version.path}/namespaces/{namespace}/{obj.resource.plural}"


def without_nulls(value: Any) -> Any:
    """The same without fields that are null, which is how Go writes some that are empty."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda obj: obj.kind)
def test_objects_are_created_and_read_back_typed(control_plane: Any, namespace: str, obj: Any) -> None:
    """What the server answers is read without loss, and what was sent is in it."""
    rest = control_plane.rest()
    made = rest.call("POST", path_of(obj, namespace), obj.to_wire())
    assert made.ok, made.message
    answer = rest.call("GET", f"{path_of(obj, namespace)}/x").body
    read = type(obj).from_wire(answer)
    assert read.to_wire() == without_nulls(answer)
    again = rest.call("PUT", f"{path_of(obj, namespace)}/x", read.to_wire())
    assert again.ok, again.message
    assert again.body["metadata"]["resourceVersion"] == answer["metadata"]["resourceVersion"]  # nothing changed


def test_every_object_that_a_fresh_server_holds_is_read_without_loss(control_plane: Any) -> None:
    """Kinds of all groups: what a server makes by itself round-trips identically."""
    rest = control_plane.rest()
    seen = 0
    for gvk in builtin.kinds():
        cls = builtin.find_class(gvk)
        assert cls is not None
        if cls.resource is None:
            continue
        answer = rest.call("GET", f"{gvk.group_version.path}/{cls.resource.plural}")
        for item in answer.body.get("items", ()) if answer.ok else ():
            whole = {"apiVersion": gvk.api_version, "kind": gvk.kind, **item}
            assert cls.from_wire(whole).to_wire() == without_nulls(whole)
            seen += 1
    assert seen > 100


@pytest.mark.parametrize(
    "text", ["0.1Gi", "1.5Gi", "1024Mi", "1000m", "1e3", "0.5", "1536Ki", "100000k", "12e2", "1E", "0.25"]
)
def test_quantities_become_what_the_server_makes_of_them(control_plane: Any, namespace: str, text: str) -> None:
    """`canonical` is the form in which a quantity comes back (core types also round to thousandths)."""
    quota = ResourceQuota(metadata=ObjectMeta(name="x"), spec=ResourceQuotaSpec(hard={"requests.cpu": Quantity(text)}))
    answer = control_plane.rest().call("POST", path_of(quota, namespace) + "?dryRun=All", quota.to_wire())
    assert answer.ok, answer.message
    assert answer.body["spec"]["hard"]["requests.cpu"] == str(Quantity(text).canonical())

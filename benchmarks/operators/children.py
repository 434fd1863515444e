"""Reconcilers that manage other objects: a ConfigMap, or a Deployment and a Service."""

from __future__ import annotations

import copy

from benchmarks.operators.kinds import Gadget, Gizmo, Widget
from benchmarks.operators.progress import Progress
from pykb.api.apps.v1 import Deployment, DeploymentSpec
from pykb.api.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    EnvVar,
    PodSpec,
    PodTemplateSpec,
    Service,
    ServicePort,
    ServiceSpec,
)
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.runtime import (
    Manager,
    MergePatch,
    Reconciler,
    Request,
    Result,
    ensure_applied,
    patch_status,
    set_controller_reference,
)

PASSED_ON = 10
"""How many of a widget's variables its container gets."""


class Parent(Reconciler):
    """Keeps one ConfigMap for each object of a kind."""

    def __init__(self, manager: Manager, kind: type[Widget | Gadget | Gizmo], progress: Progress) -> None:
        super().__init__(manager.client)
        self._kind = kind
        self._progress = progress

    async def reconcile(self, request: Request) -> Result:
        parent = await self.client.find(self._kind, request)
        if parent is None:
            return Result()
        name = f"{parent.kind.lower()}-{parent.metadata.name}"
        child = await self.client.find(ConfigMap, name, namespace=request.namespace)
        if child is None:
            child = ConfigMap(data={"image": parent.spec.image})
            child.metadata.name, child.metadata.namespace = name, request.namespace
            set_controller_reference(parent, child)
            await self.client.create(child)
        elif parent.status.phase != "Ready":
            await self.client.status.patch(parent, MergePatch({"status": {"phase": "Ready"}}))
        else:
            self._progress.handled(request.name)
        return Result()


class Applier(Reconciler):
    """Keeps a Deployment and a Service for each widget."""

    def __init__(self, manager: Manager, progress: Progress) -> None:
        super().__init__(manager.client)
        self._progress = progress

    async def reconcile(self, request: Request) -> Result:
        widget = await self.client.find(Widget, request)
        if widget is None:
            return Result()
        await ensure_applied(self.client, deployment_of(widget), owner=widget)
        await ensure_applied(self.client, service_of(widget), owner=widget)
        before = copy.deepcopy(widget.status)
        widget.status.observed_generation = widget.metadata.generation
        widget.status.phase = "Ready"
        await patch_status(self.client, widget, before)
        self._progress.handled(request.name)
        return Result()


def labels_of(widget: Widget) -> dict[str, str]:
    return {"app.kubernetes.io/name": "widget", "app.kubernetes.io/instance": widget.metadata.name or ""}


def deployment_of(widget: Widget) -> Deployment:
    container = Container(
        name="widget",
        image=widget.spec.image,
        ports=[ContainerPort(container_port=8080)],
        env=[EnvVar(name=each.name, value=each.value) for each in (widget.spec.env or [])[:PASSED_ON]],
    )
    return Deployment(
        metadata=ObjectMeta(name=widget.metadata.name, namespace=widget.metadata.namespace),
        spec=DeploymentSpec(
            replicas=widget.spec.replicas,
            selector=LabelSelector(match_labels=labels_of(widget)),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels_of(widget)), spec=PodSpec(containers=[container])
            ),
        ),
    )


def service_of(widget: Widget) -> Service:
    return Service(
        metadata=ObjectMeta(name=widget.metadata.name, namespace=widget.metadata.namespace),
        # Without a cluster IP, since the server has only 254.
        spec=ServiceSpec(cluster_ip="None", selector=labels_of(widget), ports=[ServicePort(port=80, target_port=8080)]),
    )

# Copyright fanux
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The controller of App."""

import copy
from typing import TypeVar

from pykb.api.apps.v1 import Deployment, DeploymentSpec
from pykb.api.conditions import set_condition
from pykb.api.core.v1 import Container, ContainerPort, PodSpec, PodTemplateSpec, Service, ServicePort, ServiceSpec
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.runtime import (
    ApiError,
    ControllerBuilder,
    Manager,
    NotControlled,
    OperationResult,
    Reconciler,
    Request,
    Result,
    ensure_applied,
    patch_status,
    prune,
)

from app_operator.api.v1 import App

AppObject = TypeVar("AppObject", Deployment, Service)

WORKERS = 2
RETRIES = 10
PORT = 80


class AppReconciler(Reconciler):
    """Keeps a Deployment and a Service for every App."""

    # +kubebuilder:rbac:groups=appcontroller.k8s.io,resources=apps,verbs=get;list;watch
    # +kubebuilder:rbac:groups=appcontroller.k8s.io,resources=apps/status,verbs=get;update;patch
    # +kubebuilder:rbac:groups=appcontroller.k8s.io,resources=apps/finalizers,verbs=update
    # +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
    # +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
    # +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
    async def reconcile(self, request: Request) -> Result:
        """Apply both objects, delete those of former names, and report.

        Raises:
            NotControlled: The name of one is taken by an object of somebody else, which is left alone.
            ApiError: The API server refused one.
        """
        app = await self.client.find(App, request)
        if app is None or app.metadata.deletion_timestamp is not None:
            return Result()

        try:
            deployment = await self.apply(app, deployment_of(app))
            await self.apply(app, service_of(app))
        except (NotControlled, ApiError) as error:
            reason = "ErrResourceExists" if isinstance(error, NotControlled) else "ApplyFailed"
            self.recorder.event(app, "Warning", reason, str(error))
            await self.report(app, applied=False, reason=reason, message=str(error))
            raise

        await prune(self.client, Deployment, owner=app, keep=[app.spec.deployment.name])
        await prune(self.client, Service, owner=app, keep=[app.spec.service.name])
        available = deployment.status.available_replicas if deployment.status else None
        await self.report(app, applied=True, reason="Applied", available=available or 0)
        self.recorder.event(app, "Normal", "Synced", "App synced successfully")
        return Result()

    async def apply(self, app: App, wanted: AppObject) -> AppObject:
        """Apply an object; what somebody changed in it by hand is changed back, and said."""
        found, result = await ensure_applied(self.client, wanted, owner=app)
        if result is not OperationResult.UNCHANGED:
            self.recorder.event(app, "Normal", result.title(), f"{found.kind} {found.metadata.name} {result}")
        return found

    async def report(
        self, app: App, *, applied: bool, reason: str, message: str = "", available: int | None = None
    ) -> None:
        """Write the status, when it changed."""
        before = copy.deepcopy(app.status)
        app.status.conditions = set_condition(
            app.status.conditions,
            "Applied",
            applied,
            reason=reason,
            message=message,
            observed_generation=app.metadata.generation,
        )
        if available is not None:
            app.status.available_replicas = available
        await patch_status(self.client, app, before)

    def setup(self, manager: Manager) -> None:
        """Register with the manager: a change of either object wakes its App.

        An App that fails is tried ten times again within five seconds, then at every resync of the manager.
        """
        controller = ControllerBuilder(manager).for_(App).owns(Deployment).owns(Service)
        controller.with_options(max_concurrent_reconciles=WORKERS, max_retries=RETRIES).complete(self)


def labels_of(app: App) -> dict[str, str]:
    """The labels by which the Service and the Deployment find the Pods."""
    return {"app.kubernetes.io/name": app.spec.deployment.name, "app.kubernetes.io/instance": app.metadata.name or ""}


def deployment_of(app: App) -> Deployment:
    """The Deployment that an App asks for, and no field more."""
    container = Container(
        name=app.spec.deployment.name,
        image=app.spec.deployment.image,
        ports=[ContainerPort(container_port=PORT)],
    )
    return Deployment(
        metadata=ObjectMeta(name=app.spec.deployment.name, namespace=app.metadata.namespace),
        spec=DeploymentSpec(
            replicas=app.spec.deployment.replicas,
            selector=LabelSelector(match_labels=labels_of(app)),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels_of(app)),
                spec=PodSpec(containers=[container]),
            ),
        ),
    )


def service_of(app: App) -> Service:
    """The Service that an App asks for, and no field more."""
    return Service(
        metadata=ObjectMeta(name=app.spec.service.name, namespace=app.metadata.namespace),
        spec=ServiceSpec(
            selector=labels_of(app),
            ports=[ServicePort(port=PORT, target_port=PORT)],
        ),
    )

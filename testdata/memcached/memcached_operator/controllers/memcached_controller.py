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

"""The controller of Memcached. It deploys a container image."""

import copy
import os

from pykb.api.apps.v1 import Deployment, DeploymentSpec, DeploymentStatus
from pykb.api.conditions import set_condition
from pykb.api.core.v1 import (
    Capabilities,
    Container,
    ContainerPort,
    PodSecurityContext,
    PodSpec,
    PodTemplateSpec,
    SeccompProfile,
    SecurityContext,
)
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
)

from memcached_operator.api.v1 import Memcached

IMAGE = os.environ.get("RELATED_IMAGE_CACHE_MEMCACHED", "memcached:1.6")
"""The image to deploy. In a cluster, config/manager/cache_memcached_image_patch.yaml sets it."""

FAILURES = {"ReplicaFailure": "True", "Progressing": "False"}
"""The conditions of a Deployment that fails: its Pods cannot be made, or do not start in time."""


class MemcachedReconciler(Reconciler):
    """Runs a Deployment of the image for each Memcached."""

    # +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
    # +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=get;patch
    # +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
    # +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
    # +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
    async def reconcile(self, request: Request) -> Result:
        """Apply the Deployment of one Memcached, and report its state in conditions.

        When the Memcached is deleted, the cluster's garbage collector deletes the Deployment.

        Raises:
            NotControlled: A Deployment of this name belongs to somebody else. It stays as it is.
            ApiError: The API server refused the Deployment.
        """
        resource = await self.client.find(Memcached, request)
        if resource is None:
            return Result()
        if resource.metadata.deletion_timestamp is not None:
            return Result()

        before = copy.deepcopy(resource.status)
        try:
            deployment, result = await ensure_applied(self.client, deployment_of(resource), owner=resource)
        except (NotControlled, ApiError) as error:
            reason = type(error).__name__
            self.recorder.event(resource, "Warning", reason, str(error))
            report(resource, "Available", False, reason, str(error))
            report(resource, "Degraded", True, reason, str(error))
            await patch_status(self.client, resource, before)
            raise

        if result is not OperationResult.UNCHANGED:
            message = f"Deployment {request.name} {result}"
            self.recorder.event(resource, "Normal", result.title(), message)
        report_state(resource, deployment)
        await patch_status(self.client, resource, before)
        return Result()

    def setup(self, manager: Manager) -> None:
        """Register the controller with the manager. A change of the Deployment wakes its Memcached."""
        builder = ControllerBuilder(manager).for_(Memcached)
        builder.owns(Deployment).complete(self)


def report(resource: Memcached, name: str, status: bool, reason: str, message: str) -> None:
    """Set a condition."""
    known = resource.status.conditions
    generation = resource.metadata.generation
    resource.status.conditions = set_condition(
        known, name, status, reason=reason, message=message, observed_generation=generation
    )


def report_state(resource: Memcached, deployment: Deployment) -> None:
    """Set the conditions by the status of the Deployment."""
    state = deployment.status or DeploymentStatus()
    pods, size = state.available_replicas or 0, resource.spec.size
    is_current = state.observed_generation == deployment.metadata.generation
    available = is_current and pods >= size
    reason = "PodsAvailable" if available else "PodsStarting"
    report(resource, "Available", available, reason, f"{pods} of {size} Pods are available")

    degraded, reason, message = False, "AsExpected", ""
    for each in state.conditions or ():
        if each.status == FAILURES.get(each.type):
            degraded = True
            reason, message = each.reason or each.type, each.message or ""
    report(resource, "Degraded", degraded, reason, message)


def deployment_of(resource: Memcached) -> Deployment:
    """The Deployment of a Memcached. It sets only the fields that matter here."""
    forbidden = Capabilities(drop=["ALL"])
    container = Container(
        name="memcached",
        image=IMAGE,
        command=["memcached", "--memory-limit=64", "-v"],
        ports=[ContainerPort(container_port=resource.spec.container_port)],
        security_context=SecurityContext(allow_privilege_escalation=False, capabilities=forbidden),
    )
    # The Pods pass the restricted Pod Security Standard. An image that runs as root does not start.
    profile = SeccompProfile(type="RuntimeDefault")
    security = PodSecurityContext(run_as_non_root=True, run_as_user=1001, seccomp_profile=profile)
    labels = {"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": resource.metadata.name or ""}
    pods = PodTemplateSpec(
        metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[container], security_context=security)
    )
    return Deployment(
        metadata=ObjectMeta(name=resource.metadata.name, namespace=resource.metadata.namespace),
        spec=DeploymentSpec(replicas=resource.spec.size, selector=LabelSelector(match_labels=labels), template=pods),
    )

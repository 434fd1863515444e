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

"""The controller of Foo."""

import copy

from pykb.api.apps.v1 import Deployment, DeploymentSpec
from pykb.api.core.v1 import Container, PodSpec, PodTemplateSpec
from pykb.api.meta.v1 import LabelSelector, ObjectMeta
from pykb.runtime import (
    ControllerBuilder,
    Manager,
    Reconciler,
    Request,
    ResourceVersionChanged,
    Result,
    is_controlled_by,
    patch_status,
    set_controller_reference,
)

from sample_controller.api.v1alpha1 import Foo


class NotControlledError(Exception):
    """A Deployment of the name that a Foo asks for exists, and belongs to somebody else."""


class FooReconciler(Reconciler):
    """Keeps one Deployment for every Foo."""

    # +kubebuilder:rbac:groups=samplecontroller.k8s.io,resources=foos,verbs=get;list;watch
    # +kubebuilder:rbac:groups=samplecontroller.k8s.io,resources=foos/status,verbs=get;update;patch
    # +kubebuilder:rbac:groups=samplecontroller.k8s.io,resources=foos/finalizers,verbs=update
    # +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch
    # +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
    async def reconcile(self, request: Request) -> Result:
        """Create the Deployment, scale it, and report how many replicas are available."""
        foo = await self.client.find(Foo, request)
        if foo is None:
            return Result()

        deployment = await self.deployment_of(foo)
        if deployment.spec is not None and foo.spec.replicas not in (None, deployment.spec.replicas):
            self.logger.info("%s: %s replicas, not %s", request, foo.spec.replicas, deployment.spec.replicas)
            deployment.spec.replicas = foo.spec.replicas
            deployment = await self.client.update(deployment)

        await self.report(foo, deployment)
        self.recorder.event(foo, "Normal", "Synced", "Foo synced successfully")
        return Result()

    async def deployment_of(self, foo: Foo) -> Deployment:
        """The Foo's own Deployment, made when there is none.

        Raises:
            NotControlledError: The name is taken; the manager tries again, for the name may become free.
        """
        key = f"{foo.metadata.namespace}/{foo.spec.deployment_name}"
        deployment = await self.client.find(Deployment, key)
        if deployment is None:
            return await self.client.create(new_deployment(foo))
        if not is_controlled_by(deployment, foo):
            message = f"Deployment {foo.spec.deployment_name} already exists and is not controlled by Foo"
            self.recorder.event(foo, "Warning", "ErrResourceExists", message)
            raise NotControlledError(message)
        return deployment

    async def report(self, foo: Foo, deployment: Deployment) -> None:
        """Write the status through its subresource, when it changed."""
        before = copy.deepcopy(foo)
        available = deployment.status.available_replicas if deployment.status else None
        foo.status.available_replicas = available or 0
        await patch_status(self.client, foo, before)

    def setup(self, manager: Manager) -> None:
        """Register with the manager: wake for every change, and for the regular resync of Foos."""
        controller = ControllerBuilder(manager).for_(Foo).owns(Deployment, predicates=[ResourceVersionChanged()])
        controller.complete(self)


def new_deployment(foo: Foo) -> Deployment:
    """The Deployment that a Foo asks for; it goes when the Foo goes."""
    labels = {"app": "nginx", "controller": foo.metadata.name or ""}
    deployment = Deployment(
        metadata=ObjectMeta(name=foo.spec.deployment_name, namespace=foo.metadata.namespace),
        spec=DeploymentSpec(
            replicas=foo.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=PodSpec(containers=[Container(name="nginx", image="nginx:latest")]),
            ),
        ),
    )
    set_controller_reference(foo, deployment)
    return deployment

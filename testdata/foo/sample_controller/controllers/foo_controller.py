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
    NotControlled,
    Reconciler,
    Request,
    ResourceVersionChanged,
    Result,
    create_or_update,
    patch_status,
    prune,
)

from sample_controller.api.v1alpha1 import Foo

WORKERS = 2


class FooReconciler(Reconciler):
    """Keeps one Deployment for every Foo."""

    # +kubebuilder:rbac:groups=samplecontroller.k8s.io,resources=foos,verbs=get;list;watch
    # +kubebuilder:rbac:groups=samplecontroller.k8s.io,resources=foos/status,verbs=get;update;patch
    # +kubebuilder:rbac:groups=samplecontroller.k8s.io,resources=foos/finalizers,verbs=update
    # +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;delete
    # +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
    async def reconcile(self, request: Request) -> Result:
        """Create the Deployment, scale it, delete one of a former name, and report the available replicas.

        Raises:
            NotControlled: The name is taken by somebody else's Deployment; the manager tries again until it is free.
        """
        foo = await self.client.find(Foo, request)
        if foo is None or foo.metadata.deletion_timestamp is not None:
            return Result()

        try:
            deployment = await self.apply(foo)
        except NotControlled as error:
            self.recorder.event(foo, "Warning", "ErrResourceExists", str(error))
            raise
        await prune(self.client, Deployment, owner=foo, keep=[foo.spec.deployment_name])
        await self.report(foo, deployment)
        self.recorder.event(foo, "Normal", "Synced", "Foo synced successfully")
        return Result()

    async def apply(self, foo: Foo) -> Deployment:
        """Create the Foo's Deployment, or scale the one that is there; the rest of it is left to others."""
        deployment = Deployment(metadata=ObjectMeta(name=foo.spec.deployment_name, namespace=foo.metadata.namespace))

        def scale() -> None:
            if deployment.spec is None:
                deployment.spec = deployment_spec(foo)
            elif foo.spec.replicas is not None:
                deployment.spec.replicas = foo.spec.replicas

        await create_or_update(self.client, deployment, scale, owner=foo)
        return deployment

    async def report(self, foo: Foo, deployment: Deployment) -> None:
        """Write the status through its subresource, when it changed."""
        before = copy.deepcopy(foo.status)
        available = deployment.status.available_replicas if deployment.status else None
        foo.status.available_replicas = available or 0
        await patch_status(self.client, foo, before)

    def setup(self, manager: Manager) -> None:
        """Register with the manager: wake for every change, and for the regular resync of Foos."""
        controller = ControllerBuilder(manager).for_(Foo).owns(Deployment, predicates=[ResourceVersionChanged()])
        controller.with_options(max_concurrent_reconciles=WORKERS).complete(self)


def deployment_spec(foo: Foo) -> DeploymentSpec:
    """What a new Deployment runs."""
    labels = {"app": "nginx", "controller": foo.metadata.name or ""}
    return DeploymentSpec(
        replicas=foo.spec.replicas,
        selector=LabelSelector(match_labels=labels),
        template=PodTemplateSpec(
            metadata=ObjectMeta(labels=labels),
            spec=PodSpec(containers=[Container(name="nginx", image="nginx:latest")]),
        ),
    )

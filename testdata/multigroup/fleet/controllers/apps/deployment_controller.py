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

"""The controller of Deployment."""

from pykb.api.apps.v1 import Deployment
from pykb.runtime import ControllerBuilder, Manager, Reconciler, Request, Result


class DeploymentReconciler(Reconciler):
    """Reconciles the cluster with the spec of each Deployment."""

    # +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete
    # +kubebuilder:rbac:groups=apps,resources=deployments/status,verbs=get;update;patch
    # +kubebuilder:rbac:groups=apps,resources=deployments/finalizers,verbs=update
    async def reconcile(self, request: Request) -> Result:
        """Compare one Deployment with the cluster, and change what differs.

        The controller calls it after every change of the object. After an exception it retries with a growing delay.
        """
        resource = await self.client.find(Deployment, request)
        if resource is None:
            return Result()

        self.logger.info("reconciling %s", request)
        return Result()

    def setup(self, manager: Manager) -> None:
        """Register the controller with the manager."""
        builder = ControllerBuilder(manager).for_(Deployment)
        builder.named("apps-deployment").complete(self)

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

"""The controller of Pod."""

from pykb.api.core.v1 import Pod
from pykb.runtime import ControllerBuilder, Manager, Reconciler, Request, Result

WORKERS = 2
RETRIES = 5


class RestartingError(Exception):
    """A container of a Pod keeps restarting."""


class PodReconciler(Reconciler):
    """Follows every Pod of the cluster, and raises the alarm when one keeps restarting; it changes nothing."""

    # +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
    async def reconcile(self, request: Request) -> Result:
        """Look at one Pod, named by its namespace and name.

        Raises:
            RestartingError: It restarts; looked at again until it recovers, or the retries are used up.
        """
        pod = await self.client.find(Pod, request)
        if pod is None:
            self.logger.info("pod %s is gone", request)
            return Result()

        phase = (pod.status.phase if pod.status else None) or "Unknown"
        self.logger.info("pod %s is %s", request, phase)
        restarting = waiting_to_restart(pod)
        if restarting:
            raise RestartingError(f"pod {request}: {', '.join(restarting)} in CrashLoopBackOff")
        return Result()

    def setup(self, manager: Manager) -> None:
        """Register with the manager: after the last retry a request is dropped, logged and counted."""
        controller = ControllerBuilder(manager).for_(Pod)
        controller.with_options(max_concurrent_reconciles=WORKERS, max_retries=RETRIES).complete(self)


def waiting_to_restart(pod: Pod) -> list[str]:
    """Name the containers that the kubelet holds back because they ended too often."""
    statuses = (pod.status.container_statuses if pod.status else None) or []
    return [
        status.name
        for status in statuses
        if status.state and status.state.waiting and status.state.waiting.reason == "CrashLoopBackOff"
    ]

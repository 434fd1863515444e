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

"""PodReconciler against a real API server."""

import logging
from datetime import timedelta

import pytest
from pykb.api.core.v1 import (
    Container,
    ContainerState,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
)
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import Client, ManagerOptions, Request, Result
from pykb.testing import RunManager, eventually

from pod_watcher.controllers.pod_controller import RETRIES, PodReconciler, RestartingError


async def create(client: Client, namespace: str, name: str) -> Request:
    """Create a Pod and return the request for it."""
    spec = PodSpec(containers=[Container(name="main", image="example.com/main")])
    await client.create(Pod(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec))
    return Request(namespace, name)


async def crash(client: Client, request: Request) -> None:
    """Say of a Pod what a kubelet says when its container ends again and again."""
    pod = await client.get(Pod, request)
    waiting = ContainerStatus(
        name="main",
        image="example.com/main",
        image_id="",
        ready=False,
        restart_count=6,
        state=ContainerState(waiting=ContainerStateWaiting(reason="CrashLoopBackOff")),
    )
    pod.status = PodStatus(phase="Running", container_statuses=[waiting])
    await client.status.update(pod)


async def test_is_content_with_a_pod_that_starts(client: Client, namespace: str) -> None:
    """A Pod with no container in trouble needs nothing."""
    request = await create(client, namespace, "starting")
    assert await PodReconciler(client).reconcile(request) == Result()


async def test_raises_the_alarm_for_one_that_restarts(client: Client, namespace: str) -> None:
    """The error names the Pod and the container."""
    request = await create(client, namespace, "restarting")
    await crash(client, request)
    with pytest.raises(RestartingError, match=f"pod {request}: main in CrashLoopBackOff"):
        await PodReconciler(client).reconcile(request)


async def test_leaves_an_absent_object_alone(client: Client, namespace: str) -> None:
    """A request may outlive its object."""
    assert await PodReconciler(client).reconcile(Request(namespace, "absent")) == Result()


async def test_gives_up_after_the_last_retry(
    client: Client, namespace: str, run_manager: RunManager, caplog: pytest.LogCaptureFixture
) -> None:
    """Pods that were there before the manager are seen; one that stays broken is tried, dropped, and reported."""
    request = await create(client, namespace, "hopeless")
    await crash(client, request)
    attempts: list[Request] = []

    class Counting(PodReconciler):
        async def reconcile(self, request: Request) -> Result:
            attempts.append(request)
            return await super().reconcile(request)

    def given_up() -> bool:
        return any(record.levelno >= logging.ERROR and "giv" in record.message for record in caplog.records)

    options = ManagerOptions(namespaces=(namespace,))
    async with run_manager(lambda manager: Counting(manager.client).setup(manager), options=options):
        await eventually(given_up, timeout=timedelta(seconds=30))
    assert attempts == [request] * (RETRIES + 1)

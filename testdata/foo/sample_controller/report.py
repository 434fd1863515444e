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

"""A second program on the Foo API, with no manager: prints what the Foos of a cluster have, from memory.

Run it by `python -m sample_controller.report [--namespace N] [--selector app=web]`.
"""

import argparse
import asyncio
from datetime import timedelta

from pykb.api.apps.v1 import Deployment
from pykb.runtime import Client, InformerCache, Lister

from sample_controller.api.v1alpha1 import Foo

SYNC_TIMEOUT = timedelta(seconds=30)


def line(foo: Foo, deployments: Lister[Deployment]) -> str:
    """Say in a line what a Foo asks for and what there is."""
    namespace = foo.metadata.namespace or ""
    deployment = deployments.get(foo.spec.deployment_name, namespace=namespace)
    there = "missing" if deployment is None else f"{foo.status.available_replicas} available"
    return f"{namespace}/{foo.metadata.name}: Deployment {foo.spec.deployment_name} {there}"


async def report(client: Client, namespace: str | None = None, selector: str | None = None) -> list[str]:
    """Mirror Foos and Deployments, then describe the Foos that match, by namespace and name in order."""
    async with InformerCache.of(client) as informers:
        foos, deployments = informers.lister(Foo), informers.lister(Deployment)
        await informers.wait_for_sync(SYNC_TIMEOUT)
        return [line(foo, deployments) for foo in foos.list(namespace=namespace, labels=selector)]


async def main() -> None:
    """Read the flags, connect as kubectl does, print."""
    parser = argparse.ArgumentParser(prog="python -m sample_controller.report", description=__doc__)
    parser.add_argument("--namespace", help="only the Foos of this namespace")
    parser.add_argument("--selector", help="only the Foos with these labels")
    flags = parser.parse_args()
    async with Client.from_environment() as client:
        for text in await report(client, flags.namespace, flags.selector):
            print(text)


if __name__ == "__main__":
    asyncio.run(main())

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

"""The second program, on an API server in memory."""

from pykb.api.apps.v1 import Deployment
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime.fake import fake_client

from sample_controller.api.v1alpha1 import Foo
from sample_controller.api.v1alpha1.foo_types import FooSpec, FooStatus
from sample_controller.report import report


def foo(name: str, namespace: str = "default", **labels: str) -> Foo:
    """A Foo that asks for a Deployment of its own name."""
    return Foo(
        metadata=ObjectMeta(name=name, namespace=namespace, labels=labels),
        spec=FooSpec(deployment_name=name),
        status=FooStatus(available_replicas=2),
    )


async def test_reports_by_namespace_and_label() -> None:
    """The listers know what is there, and choose by namespace and by label."""
    deployment = Deployment(metadata=ObjectMeta(name="web", namespace="default"))
    client = fake_client(
        foo("web", tier="front"), foo("db", tier="back"), foo("web", "other", tier="front"), deployment
    )

    assert await report(client) == [
        "default/db: Deployment db missing",
        "default/web: Deployment web 2 available",
        "other/web: Deployment web missing",
    ]
    assert await report(client, namespace="other") == ["other/web: Deployment web missing"]
    assert await report(client, selector="tier=back") == ["default/db: Deployment db missing"]

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

"""The Memcached API. Run `make` after a change here to update the CRD."""

from typing import Annotated

from pykb.api import CEL, CustomResource, Field, Int32, Struct, annotate
from pykb.api.meta.v1 import Condition

from memcached_operator.api.v1.groupversion import GROUP_VERSION


class MemcachedSpec(Struct):
    """Desired state of Memcached."""

    size: Annotated[Int32, Field(ge=0)] = 1
    """Number of Pods that run the image."""

    container_port: Annotated[Int32, Field(ge=1, le=65535)] = 11211
    """Port that the container listens on."""


class MemcachedStatus(Struct):
    """Observed state of Memcached."""

    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """Available: the Pods of the current spec are available. Degraded: they cannot be made or do not start."""


# +kubebuilder:subresource:status
# The name is the value of a label of the Pods.
@annotate(CEL("self.metadata.name.size() <= 63", message="the name may have at most 63 characters"))
class Memcached(CustomResource, group_version=GROUP_VERSION):
    """Memcached is the schema of the memcacheds API."""

    spec: MemcachedSpec
    status: MemcachedStatus = Field(default_factory=MemcachedStatus)

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

"""The Harbour API. Run `make` after a change here to update the CRD."""

from pykb.api import CustomResource, Field, Struct
from pykb.api.meta.v1 import Condition

from fleet.api.ship.v1.groupversion import GROUP_VERSION


class HarbourSpec(Struct):
    """Desired state of Harbour."""

    foo: str | None = None
    """An example field, to be replaced by what Harbour needs."""


class HarbourStatus(Struct):
    """Observed state of Harbour."""

    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """Current conditions, at most one per type."""


# +kubebuilder:resource:scope=Cluster
# +kubebuilder:subresource:status
class Harbour(CustomResource, group_version=GROUP_VERSION):
    """Harbour is the schema of the harbours API."""

    spec: HarbourSpec
    status: HarbourStatus = Field(default_factory=HarbourStatus)

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

"""The Frigate API. Run `make` after a change here to update the CRD."""

from pykb.api import CustomResource, Field, Int32, Struct
from pykb.api.meta.v1 import Condition

from fleet.api.ship.v1beta1.groupversion import GROUP_VERSION


class FrigateSpec(Struct):
    """Desired state of Frigate."""

    guns: Int32 | None = None
    """How many guns she carries."""

    home_port: str | None = None
    """The port that she belongs to."""


class FrigateStatus(Struct):
    """Observed state of Frigate."""

    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """Current conditions, at most one per type."""


# +kubebuilder:subresource:status
class Frigate(CustomResource, group_version=GROUP_VERSION):
    """Frigate is the schema of the frigates API."""

    spec: FrigateSpec
    status: FrigateStatus = Field(default_factory=FrigateStatus)

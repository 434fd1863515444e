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

"""The Kraken API. Run `make` after a change here to update the CRD."""

from pykb.api import CustomResource, Field, Struct
from pykb.api.meta.v1 import Condition

from fleet.api.sea_creatures.v1alpha1.groupversion import GROUP_VERSION


class KrakenSpec(Struct):
    """Desired state of Kraken."""

    foo: str | None = None
    """An example field, to be replaced by what Kraken needs."""


class KrakenStatus(Struct):
    """Observed state of Kraken."""

    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """Current conditions, at most one per type."""


# +kubebuilder:resource:path=kraken
# +kubebuilder:subresource:status
class Kraken(CustomResource, group_version=GROUP_VERSION):
    """Kraken is the schema of the kraken API."""

    spec: KrakenSpec
    status: KrakenStatus = Field(default_factory=KrakenStatus)

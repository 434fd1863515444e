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

"""The Service of a Unit."""

from pykb.api import Object
from pykb.api.core.v1 import Service

from unit_operator.api.v1.unit_types import UnitStatus
from unit_operator.resources.base import OwnedResource


class OwnedService(OwnedResource):
    """How the Pods of a Unit are reached."""

    kind = Service

    def make(self) -> Service | None:
        """The Service that the Unit describes; it chooses the Unit's Pods unless it says otherwise."""
        described = self.unit.spec.relation_resource.service
        if described is None:
            return None
        spec = described.model_copy(deep=True)
        if spec.selector is None:
            spec.selector = self.unit.spec.selector.match_labels
        return Service(metadata=self.metadata(), spec=spec)

    def update_status(self, status: UnitStatus, found: Object | None) -> None:
        """Mirror the Service."""
        status.service = found.status if isinstance(found, Service) else None

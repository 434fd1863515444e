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

"""The PersistentVolumeClaim of a Unit."""

from pykb.api import Object
from pykb.api.core.v1 import PersistentVolumeClaim

from unit_operator.api.v1.unit_types import UnitStatus
from unit_operator.resources.base import OwnedResource


class OwnedClaim(OwnedResource):
    """The storage that the Pods of a Unit mount."""

    kind = PersistentVolumeClaim

    def make(self) -> PersistentVolumeClaim | None:
        """The claim that the Unit describes."""
        spec = self.unit.spec.relation_resource.pvc
        return None if spec is None else PersistentVolumeClaim(metadata=self.metadata(), spec=spec)

    def update_status(self, status: UnitStatus, found: Object | None) -> None:
        """Mirror the claim."""
        status.pvc = found.status if isinstance(found, PersistentVolumeClaim) else None

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

"""The Ingress of a Unit."""

from pykb.api import Object
from pykb.api.networking.v1 import Ingress

from unit_operator.api.v1.unit_types import UnitStatus
from unit_operator.resources.base import OwnedResource


class OwnedIngress(OwnedResource):
    """How a Unit is reached from outside."""

    kind = Ingress

    def make(self) -> Ingress | None:
        """The Ingress that the Unit describes."""
        spec = self.unit.spec.relation_resource.ingress
        return None if spec is None else Ingress(metadata=self.metadata(), spec=spec)

    def update_status(self, status: UnitStatus, found: Object | None) -> None:
        """Mirror the Ingress."""
        status.ingress = found.status if isinstance(found, Ingress) else None

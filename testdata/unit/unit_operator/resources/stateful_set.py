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

"""The StatefulSet of a Unit."""

from pykb.api import Object
from pykb.api.apps.v1 import StatefulSet, StatefulSetSpec

from unit_operator.api.v1.unit_types import UnitCategory, UnitStatus
from unit_operator.resources.base import OwnedResource
from unit_operator.resources.pods import pod_template


class OwnedStatefulSet(OwnedResource):
    """The Pods of a Unit of the category StatefulSet."""

    kind = StatefulSet

    def make(self) -> StatefulSet | None:
        """The StatefulSet; none for a Unit of another category, so that switching removes it."""
        spec = self.unit.spec
        if spec.category is not UnitCategory.STATEFUL_SET:
            return None
        wanted = StatefulSetSpec(
            replicas=spec.replicas,
            selector=spec.selector,
            template=pod_template(self.unit),
            service_name=self.unit.metadata.name,
        )
        return StatefulSet(metadata=self.metadata(), spec=wanted)

    def update_status(self, status: UnitStatus, found: Object | None) -> None:
        """Mirror the StatefulSet."""
        status.stateful_set = found.status if isinstance(found, StatefulSet) else None

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

"""The objects that a Unit owns, one module for each."""

from unit_operator.api.v1 import Unit
from unit_operator.resources.base import OwnedResource
from unit_operator.resources.claim import OwnedClaim
from unit_operator.resources.deployment import OwnedDeployment
from unit_operator.resources.ingress import OwnedIngress
from unit_operator.resources.service import OwnedService
from unit_operator.resources.stateful_set import OwnedStatefulSet


def resources_of(unit: Unit) -> list[OwnedResource]:
    """Everything that a Unit may own, in the order in which it is made: what Pods need comes before them."""
    return [OwnedClaim(unit), OwnedService(unit), OwnedDeployment(unit), OwnedStatefulSet(unit), OwnedIngress(unit)]


__all__ = ["OwnedResource", "resources_of"]

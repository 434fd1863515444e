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

"""The VirtulMachine API. Run `make` after a change here to update the CRD."""

from datetime import timedelta

from pykb.api import CustomResource, Field, Quantity, Struct
from pykb.api.meta.v1 import Condition

from sealvm.api.v1.groupversion import GROUP_VERSION


class VirtulMachineSpec(Struct):
    """Desired state of VirtulMachine."""

    cpu: str
    """Number of virtual CPUs."""

    memory: Quantity | None = None
    """Size of the memory; 2Gi for each CPU when absent."""

    lifetime: timedelta | None = None
    """How long the machine runs before it is deleted; for ever when absent."""


class VirtulMachineStatus(Struct):
    """Observed state of VirtulMachine."""

    status: str | None = None
    """What the machine does at present."""

    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """Current conditions, at most one per type."""


# +kubebuilder:printcolumn:name=Status,type=string,JSONPath=`.status.status`
# +kubebuilder:printcolumn:name=CPU,type=string,JSONPath=`.spec.cpu`
# +kubebuilder:selectablefield:JSONPath=`.spec.cpu`
# +kubebuilder:subresource:status
class VirtulMachine(CustomResource, group_version=GROUP_VERSION):
    """VirtulMachine is the schema of the virtulmachines API."""

    spec: VirtulMachineSpec
    status: VirtulMachineStatus = Field(default_factory=VirtulMachineStatus)

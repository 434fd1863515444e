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

"""The Unit API. Run `make` after a change here to update the CRD."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pykb.api import CEL, CustomResource, Field, Int32, Struct
from pykb.api.apps.v1 import DeploymentStatus, StatefulSetStatus
from pykb.api.core.v1 import (
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PodTemplateSpec,
    ServiceSpec,
    ServiceStatus,
)
from pykb.api.meta.v1 import Condition, LabelSelector
from pykb.api.networking.v1 import IngressSpec, IngressStatus

from unit_operator.api.v1.groupversion import GROUP_VERSION


class UnitCategory(StrEnum):
    """What runs the Pods."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"


class RelationResource(Struct):
    """What a Unit has beside its Pods, each of the Unit's name; absent ones are not made."""

    service: ServiceSpec | None = None
    """How the Pods are reached; chooses the Pods of the Unit unless it has a selector."""

    ingress: IngressSpec | None = None
    """How the Unit is reached from outside."""

    pvc: Annotated[PersistentVolumeClaimSpec, CEL("self == oldSelf", message="a claim cannot be changed")] | None = None
    """The storage of the Pods."""


class UnitSpec(Struct):
    """Desired state of Unit."""

    category: UnitCategory
    """What runs the Pods; the former one is removed when this changes."""

    replicas: Annotated[Int32, Field(ge=0)] = 1
    """How many Pods run."""

    selector: Annotated[LabelSelector, CEL("self == oldSelf", message="it cannot be changed, as that of a Deployment")]
    """Which Pods are the Unit's; its labels are given to them."""

    template: Annotated[
        PodTemplateSpec, CEL("has(self.spec) && self.spec.containers.size() > 0", message="it needs a container")
    ]
    """What each Pod is."""

    relation_resource: RelationResource = Field(default_factory=RelationResource)
    """What there is beside the Pods."""


class UnitStatus(Struct):
    """Observed state of Unit."""

    deployment: DeploymentStatus | None = None
    """The Deployment as it is."""

    stateful_set: StatefulSetStatus | None = None
    """The StatefulSet as it is."""

    service: ServiceStatus | None = None
    """The Service as it is."""

    ingress: IngressStatus | None = None
    """The Ingress as it is."""

    pvc: PersistentVolumeClaimStatus | None = None
    """The claim as it is."""

    last_update_time: datetime | None = None
    """When any of these changed last."""

    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """Current conditions, at most one per type."""


# +kubebuilder:subresource:status
class Unit(CustomResource, group_version=GROUP_VERSION):
    """Unit is the schema of the units API."""

    spec: UnitSpec
    status: UnitStatus = Field(default_factory=UnitStatus)

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

"""The App API. Run `make` after a change here to update the CRD."""

from typing import Annotated

from pykb.api import CustomResource, Field, Int32, Struct
from pykb.api.meta.v1 import Condition

from app_operator.api.v1.groupversion import GROUP_VERSION


class AppDeployment(Struct):
    """What runs."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    """Name of the Deployment, and of its container."""

    image: str
    """The image of the container."""

    replicas: Annotated[Int32, Field(ge=0)] = 1
    """How many Pods run."""


class AppService(Struct):
    """How it is reached."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    """Name of the Service."""


class AppSpec(Struct):
    """Desired state of App."""

    deployment: AppDeployment
    """What runs."""

    service: AppService
    """How it is reached."""


class AppStatus(Struct):
    """Observed state of App."""

    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """Current conditions, at most one per type."""

    available_replicas: Int32 = 0
    """How many replicas of the Deployment are available."""


# +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved"
# +kubebuilder:subresource:status
class App(CustomResource, group_version=GROUP_VERSION):
    """App is the schema of the apps API."""

    spec: AppSpec
    status: AppStatus = Field(default_factory=AppStatus)

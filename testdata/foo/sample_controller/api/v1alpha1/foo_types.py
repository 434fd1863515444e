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

"""The Foo API. Run `make` after a change here to update the CRD."""

from typing import Annotated

from pykb.api import CustomResource, Field, Int32, Struct

from sample_controller.api.v1alpha1.groupversion import GROUP_VERSION


class FooSpec(Struct):
    """Desired state of Foo."""

    deployment_name: Annotated[str, Field(min_length=1)]
    """Name of the Deployment that this Foo keeps."""

    replicas: Annotated[Int32 | None, Field(ge=1, le=10)] = None
    """How many replicas the Deployment has; left to the Deployment when absent."""


class FooStatus(Struct):
    """Observed state of Foo."""

    available_replicas: Int32 = 0
    """How many replicas of the Deployment are available."""


# +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved"
# +kubebuilder:printcolumn:name=Deployment,type=string,JSONPath=`.spec.deploymentName`
# +kubebuilder:printcolumn:name=Available,type=integer,JSONPath=`.status.availableReplicas`
# +kubebuilder:subresource:status
class Foo(CustomResource, group_version=GROUP_VERSION):
    """Foo is the schema of the foos API."""

    spec: FooSpec
    status: FooStatus = Field(default_factory=FooStatus)

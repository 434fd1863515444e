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

"""The Pods of a Unit, as its workloads start them."""

from pykb.api.core.v1 import Container, EnvVar, EnvVarSource, ObjectFieldSelector, PodTemplateSpec
from pykb.api.meta.v1 import ObjectMeta

from unit_operator.api.v1 import Unit


def pod_template(unit: Unit) -> PodTemplateSpec:
    """The Unit's template, with the labels of its selector, and with POD_NAME and APPNAME in its first container."""
    template = unit.spec.template.model_copy(deep=True)
    metadata = template.metadata or ObjectMeta()
    metadata.labels = {**(metadata.labels or {}), **(unit.spec.selector.match_labels or {})}
    template.metadata = metadata
    if template.spec is not None and template.spec.containers:
        pod_name = EnvVar(name="POD_NAME", value_from=own_field("metadata.name"))
        inject(template.spec.containers[0], pod_name, EnvVar(name="APPNAME", value=unit.metadata.name))
    return template


def inject(container: Container, *variables: EnvVar) -> None:
    """Set variables behind the container's own; one that the author of the template has set is replaced."""
    names = {variable.name for variable in variables}
    container.env = [variable for variable in container.env or [] if variable.name not in names] + [*variables]


def own_field(path: str) -> EnvVarSource:
    """A field of the Pod itself."""
    return EnvVarSource(field_ref=ObjectFieldSelector(field_path=path))

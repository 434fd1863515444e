# Made by `pykb import crd`; checksum: 13222287cb7e2a33
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of scale.example.com/v2: Autoscaler, ClusterAutoscaler."""

from typing import Annotated

from pykb.api import CustomResource, Field, GroupVersion, Int32, Struct
from pykb.api.meta.v1 import ObjectMeta

GROUP_VERSION = GroupVersion("scale.example.com", "v2")


class Spread(Struct):
    max_skew: Int32
    topology_key: str
    when_unsatisfiable: str


class AutoscalerSpec(Struct):
    target: Annotated[str | None, Field(max_length=253)] = None
    replicas: Annotated[Int32, Field(ge=0)] = 1
    spread: list[Spread] | None = None

    metadata: ObjectMeta | None = None
    """Put on what is scaled."""


class AutoscalerStatus(Struct):
    replicas: Int32
    selector: str | None = None


# +kubebuilder:subresource:status
# +kubebuilder:subresource:scale:specpath=".spec.replicas",statuspath=".status.replicas",selectorpath=".status.selector"
# +kubebuilder:resource:singular=scaler
# +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=".status.replicas",format="int32"
# +kubebuilder:selectablefield:JSONPath=".spec.target"
class Autoscaler(CustomResource, group_version=GROUP_VERSION):
    spec: AutoscalerSpec | None = None
    status: AutoscalerStatus | None = None


# +kubebuilder:resource:scope=Cluster
class ClusterAutoscaler(CustomResource, group_version=GROUP_VERSION):
    spec: AutoscalerSpec | None = None
    status: AutoscalerStatus | None = None

"""Topology, names, subresources, columns, and built-in types embedded."""

from typing import Annotated, NewType

from pykb.api import CustomResource, GroupVersion, Int32, Struct
from pykb.api.core.v1 import (
    EnvVar,
    LocalObjectReference,
    ObjectReference,
    PersistentVolumeClaim,
    PodTemplateSpec,
    ResourceRequirements,
    SecretKeySelector,
    SecretReference,
    Toleration,
)
from pykb.api.meta.v1 import Condition, LabelSelector


class Port(Struct):
    name: str
    # +kubebuilder:default=TCP
    protocol: str | None = None
    number: Int32


# +structType=atomic
class Point(Struct):
    x: Int32
    y: Int32


# +listType=set
Tags = Annotated[list[str], "tags"]

# +mapType=atomic
Settings = NewType("Settings", dict[str, str])


class ClusterSpec(Struct):
    # +listType=map
    # +listMapKey=name
    # +listMapKey=protocol
    ports: list[Port] | None = None
    # +k8s:listType=map
    # +k8s:listMapKey=name
    others: list[Port] | None = None
    # +listType=set
    set: list[str] | None = None
    # +listType=atomic
    atomic: list[str] | None = None
    # +mapType=atomic
    atomic_map: dict[str, str] | None = None
    # +mapType=granular
    granular_map: dict[str, str] | None = None
    # +structType=granular
    granular: Port | None = None
    # +structType=atomic
    atomic_struct: Port | None = None
    point: Point | None = None
    tags: Tags | None = None
    settings: Settings | None = None
    selector: LabelSelector | None = None
    resources: ResourceRequirements | None = None
    env: list[EnvVar] | None = None
    ref: LocalObjectReference | None = None
    secret: SecretReference | None = None
    key: SecretKeySelector | None = None
    tolerations: list[Toleration] | None = None
    object_ref: ObjectReference | None = None
    template: PodTemplateSpec | None = None
    claims: list[PersistentVolumeClaim] | None = None


class ClusterStatus(Struct):
    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    replicas: Int32 | None = None
    selector: str | None = None


# +kubebuilder:object:root=true
# +kubebuilder:resource:path=clusterz,singular=klaster,scope=Cluster,shortName=cl;clu,categories=all;example
# +kubebuilder:subresource:status
# +kubebuilder:subresource:scale:specpath=.spec.point.x,statuspath=.status.replicas,selectorpath=.status.selector
# +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`,description="how many",format=int32,priority=1
# +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
# +kubebuilder:selectablefield:JSONPath=`.spec.ref.name`
# +kubebuilder:metadata:annotations={"a=b","c=d=e"},labels="l=m"
# +kubebuilder:metadata:labels="n=o"
class Cluster(CustomResource, group_version=GroupVersion("topology.example.com", "v1")):
    """Cluster is one."""

    spec: ClusterSpec | None = None
    status: ClusterStatus | None = None

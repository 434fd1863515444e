"""Built-in types of storage.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import (
    Int32,
    Int64,
    KnownValues,
    ListAtomic,
    ListMap,
    ListSet,
    NullIsEmpty,
    PatchStrategy,
    Wire,
)
from pykb.api.core import v1 as core_v1
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.quantity import Quantity
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped, namespaced

GROUP_VERSION = GroupVersion("storage.k8s.io", "v1")


class TokenRequest(Struct):
    audience: str
    expiration_seconds: Int64 | None = None


class CSIDriverSpec(Struct):
    attach_required: bool | None = None
    fs_group_policy: str | None = None
    node_allocatable_update_period_seconds: Int64 | None = None
    pod_info_on_mount: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    service_account_token_in_secrets: bool | None = None
    storage_capacity: bool | None = None
    token_requests: Annotated[list[TokenRequest] | None, ListAtomic()] = None
    volume_lifecycle_modes: Annotated[list[str] | None, ListSet()] = None


class CSIDriver(Object, group_version=GROUP_VERSION, resource=cluster_scoped("csidrivers")):
    spec: CSIDriverSpec


class VolumeNodeResources(Struct):
    count: Int32 | None = None


class CSINodeDriver(Struct):
    name: str
    node_id: Annotated[str, Wire("nodeID")]
    allocatable: VolumeNodeResources | None = None
    topology_keys: Annotated[list[str] | None, ListAtomic()] = None


class CSINodeSpec(Struct):
    drivers: Annotated[list[CSINodeDriver], NullIsEmpty(), ListMap("name"), PatchStrategy("merge")]


class StorageHealthCondition(Struct):
    reason: str
    status: Annotated[str, KnownValues(("StorageDegraded", "StorageUnreachable"))]
    access_mode: Annotated[
        str | None, KnownValues(("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"))
    ] = None
    last_transition_time: datetime | None = None
    message: str | None = None
    volume_mode: Annotated[str | None, KnownValues(("Block", "Filesystem"))] = None


class StorageHealth(Struct):
    name: str
    health_conditions: Annotated[list[StorageHealthCondition] | None, ListAtomic()] = None


class CSINodeStatus(Struct):
    storage_health: Annotated[list[StorageHealth] | None, ListMap("name"), PatchStrategy("merge")] = None


class CSINode(Object, group_version=GROUP_VERSION, resource=cluster_scoped("csinodes", "status")):
    spec: CSINodeSpec
    status: CSINodeStatus | None = None


class CSIStorageCapacity(Object, group_version=GROUP_VERSION, resource=namespaced("csistoragecapacities")):
    storage_class_name: str
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None
    node_topology: meta_v1.LabelSelector | None = None


class StorageClass(Object, group_version=GROUP_VERSION, resource=cluster_scoped("storageclasses")):
    provisioner: str
    allow_volume_expansion: bool | None = None
    allowed_topologies: Annotated[list[core_v1.TopologySelectorTerm] | None, ListAtomic()] = None
    mount_options: Annotated[list[str] | None, ListAtomic()] = None
    parameters: dict[str, str] | None = None
    reclaim_policy: Annotated[str | None, KnownValues(("Delete", "Recycle", "Retain"))] = None
    volume_binding_mode: Annotated[str | None, KnownValues(("Immediate", "WaitForFirstConsumer"))] = None


class VolumeAttachmentSource(Struct):
    inline_volume_spec: core_v1.PersistentVolumeSpec | None = None
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Struct):
    attacher: str
    node_name: str
    source: VolumeAttachmentSource


class VolumeError(Struct):
    error_code: Int32 | None = None
    message: str | None = None
    time: datetime | None = None


class VolumeAttachmentStatus(Struct):
    attached: bool
    attach_error: VolumeError | None = None
    attachment_metadata: dict[str, str] | None = None
    detach_error: VolumeError | None = None


class VolumeAttachment(Object, group_version=GROUP_VERSION, resource=cluster_scoped("volumeattachments", "status")):
    spec: VolumeAttachmentSpec
    status: VolumeAttachmentStatus | None = None


class VolumeAttributesClass(Object, group_version=GROUP_VERSION, resource=cluster_scoped("volumeattributesclasses")):
    driver_name: str
    parameters: dict[str, str] | None = None

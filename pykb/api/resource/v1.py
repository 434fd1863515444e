"""Built-in types of resource.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pydantic import Field

from pykb.api.annotations import (
    Int64,
    KnownValues,
    ListAtomic,
    ListMap,
    ListSet,
    NullIsEmpty,
    PatchStrategy,
    RawExtension,
    SchemaOnly,
    SchemaPatch,
    Wire,
)
from pykb.api.core import v1 as core_v1
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.quantity import Quantity
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped, namespaced

GROUP_VERSION = GroupVersion("resource.k8s.io", "v1")

_SKIP_NODE_OPERATIONS = SchemaPatch({"items": {"enum": ["*", "NodePrepareResources", "NodeUnprepareResources"]}})


class NetworkDeviceData(Struct):
    hardware_address: str | None = None
    interface_name: str | None = None
    ips: Annotated[list[str] | None, ListAtomic()] = None


class AllocatedDeviceStatus(Struct):
    device: str
    driver: str
    pool: str
    conditions: Annotated[list[meta_v1.Condition] | None, ListMap("type")] = None
    data: RawExtension | None = None
    network_data: NetworkDeviceData | None = None
    share_id: Annotated[str | None, Wire("shareID")] = None


class OpaqueDeviceConfiguration(Struct):
    driver: str
    parameters: RawExtension


class DeviceAllocationConfiguration(Struct):
    source: Annotated[str, KnownValues(("FromClaim", "FromClass"))]
    opaque: OpaqueDeviceConfiguration | None = None
    requests: Annotated[list[str] | None, ListAtomic()] = None


class DeviceToleration(Struct):
    effect: Annotated[str | None, KnownValues(("NoExecute", "NoSchedule", "None"))] = None
    key: str | None = None
    operator: Annotated[str, KnownValues(("Equal", "Exists"))] = "Equal"
    toleration_seconds: Int64 | None = None
    value: str | None = None


class DeviceRequestAllocationResult(Struct):
    device: str
    driver: str
    pool: str
    request: str
    admin_access: bool | None = None
    binding_conditions: Annotated[list[str] | None, ListAtomic()] = None
    binding_failure_conditions: Annotated[list[str] | None, ListAtomic()] = None
    consumed_capacity: dict[str, Quantity] | None = None
    share_id: Annotated[str | None, Wire("shareID")] = None
    skip_node_operations: Annotated[list[str] | None, ListSet(), _SKIP_NODE_OPERATIONS] = None
    tolerations: Annotated[list[DeviceToleration] | None, ListAtomic()] = None


class DeviceAllocationResult(Struct):
    config: Annotated[list[DeviceAllocationConfiguration] | None, ListAtomic()] = None
    results: Annotated[list[DeviceRequestAllocationResult] | None, ListAtomic()] = None


class AllocationResult(Struct):
    allocation_timestamp: datetime | None = None
    devices: DeviceAllocationResult | None = None
    node_selector: core_v1.NodeSelector | None = None


class CELDeviceSelector(Struct):
    expression: str


class CapacityRequestPolicyRange(Struct):
    min: Quantity
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Struct):
    default: Quantity | None = None
    valid_range: CapacityRequestPolicyRange | None = None
    valid_values: Annotated[list[Quantity] | None, ListAtomic()] = None


class CapacityRequirements(Struct):
    requests: dict[str, Quantity] | None = None


class Counter(Struct):
    value: Quantity


class CounterSet(Struct):
    counters: Annotated[dict[str, Counter], NullIsEmpty()]
    name: str


class DeviceAttribute(Struct):
    bool_: bool | None = None
    bools: Annotated[list[bool] | None, ListAtomic()] = None
    int_: Int64 | None = None
    ints: Annotated[list[Int64] | None, ListAtomic()] = None
    string: str | None = None
    strings: Annotated[list[str] | None, ListAtomic()] = None
    version: str | None = None
    versions: Annotated[list[str] | None, ListAtomic()] = None


class DeviceCapacity(Struct):
    value: Quantity
    request_policy: CapacityRequestPolicy | None = None


class DeviceCounterConsumption(Struct):
    counter_set: str
    counters: Annotated[dict[str, Counter], NullIsEmpty()]
    compatibility_groups: Annotated[list[str] | None, ListAtomic(), SchemaOnly(Field(max_length=2))] = None


class DeviceTaint(Struct):
    effect: Annotated[str, KnownValues(("NoExecute", "NoSchedule", "None"))]
    key: str
    time_added: datetime | None = None
    value: str | None = None


class NodeAllocatableMapping(Struct):
    capacity_key: str | None = None
    capacity_multiplier: Quantity | None = None
    device_multiplier: Quantity | None = None


class NodeAllocatableOverhead(Struct):
    per_container: Quantity | None = None
    per_pod: Quantity | None = None


class NodeAllocatableResource(Struct):
    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None


class Device(Struct):
    name: str
    all_nodes: bool | None = None
    allow_multiple_allocations: bool | None = None
    attributes: dict[str, DeviceAttribute] | None = None
    binding_conditions: Annotated[list[str] | None, ListAtomic()] = None
    binding_failure_conditions: Annotated[list[str] | None, ListAtomic()] = None
    binds_to_node: bool | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: Annotated[list[DeviceCounterConsumption] | None, ListAtomic()] = None
    node_allocatable_resources: dict[str, NodeAllocatableResource] | None = None
    node_name: str | None = None
    node_selector: core_v1.NodeSelector | None = None
    taints: Annotated[list[DeviceTaint] | None, ListAtomic()] = None


class DeviceClaimConfiguration(Struct):
    opaque: OpaqueDeviceConfiguration | None = None
    requests: Annotated[list[str] | None, ListAtomic()] = None


class DeviceConstraint(Struct):
    distinct_attribute: str | None = None
    match_attribute: str | None = None
    requests: Annotated[list[str] | None, ListAtomic()] = None


class DeviceDerivedAttribute(Struct):
    expression: Annotated[str, SchemaOnly(Field(min_length=1))]
    name: Annotated[str, SchemaOnly(Field(min_length=1))]


class DeviceSelector(Struct):
    cel: CELDeviceSelector | None = None


class DeviceSubRequest(Struct):
    device_class_name: str
    name: str
    allocation_mode: Annotated[str | None, KnownValues(("All", "ExactCount"))] = None
    capacity: CapacityRequirements | None = None
    count: Int64 | None = None
    derived_attributes: Annotated[
        list[DeviceDerivedAttribute] | None, ListAtomic(), SchemaOnly(Field(max_length=32))
    ] = None
    selectors: Annotated[list[DeviceSelector] | None, ListAtomic()] = None
    tolerations: Annotated[list[DeviceToleration] | None, ListAtomic()] = None


class ExactDeviceRequest(Struct):
    device_class_name: str
    admin_access: bool | None = None
    allocation_mode: Annotated[str | None, KnownValues(("All", "ExactCount"))] = None
    capacity: CapacityRequirements | None = None
    count: Int64 | None = None
    derived_attributes: Annotated[
        list[DeviceDerivedAttribute] | None, ListAtomic(), SchemaOnly(Field(max_length=32))
    ] = None
    selectors: Annotated[list[DeviceSelector] | None, ListAtomic()] = None
    tolerations: Annotated[list[DeviceToleration] | None, ListAtomic()] = None


class DeviceRequest(Struct):
    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: Annotated[list[DeviceSubRequest] | None, ListAtomic()] = None


class DeviceClaim(Struct):
    config: Annotated[list[DeviceClaimConfiguration] | None, ListAtomic()] = None
    constraints: Annotated[list[DeviceConstraint] | None, ListAtomic()] = None
    requests: Annotated[list[DeviceRequest] | None, ListAtomic()] = None


class DeviceClassConfiguration(Struct):
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Struct):
    config: Annotated[list[DeviceClassConfiguration] | None, ListAtomic()] = None
    extended_resource_name: str | None = None
    selectors: Annotated[list[DeviceSelector] | None, ListAtomic()] = None


class DeviceClass(Object, group_version=GROUP_VERSION, resource=cluster_scoped("deviceclasses")):
    spec: DeviceClassSpec | None = None


class DeviceTaintSelector(Struct):
    device: str | None = None
    driver: str | None = None
    pool: str | None = None


class DeviceTaintRuleSpec(Struct):
    taint: DeviceTaint
    device_selector: DeviceTaintSelector | None = None


class DeviceTaintRuleStatus(Struct):
    conditions: Annotated[list[meta_v1.Condition] | None, ListMap("type"), PatchStrategy("merge")] = None


class DeviceTaintRule(Object, group_version=GROUP_VERSION, resource=cluster_scoped("devicetaintrules", "status")):
    spec: DeviceTaintRuleSpec
    status: DeviceTaintRuleStatus | None = None


class ResourceClaimSpec(Struct):
    devices: DeviceClaim | None = None


class ResourceClaimConsumerReference(Struct):
    name: str
    resource: str
    uid: str
    api_group: str | None = None


class ResourceClaimStatus(Struct):
    allocation: AllocationResult | None = None
    devices: Annotated[list[AllocatedDeviceStatus] | None, ListMap("driver", "device", "pool", "shareID")] = None
    reserved_for: Annotated[list[ResourceClaimConsumerReference] | None, ListMap("uid"), PatchStrategy("merge")] = None


class ResourceClaim(Object, group_version=GROUP_VERSION, resource=namespaced("resourceclaims", "status")):
    spec: ResourceClaimSpec | None = None
    status: ResourceClaimStatus | None = None


class ResourceClaimTemplateSpec(Struct):
    metadata: meta_v1.ObjectMeta | None = None
    spec: ResourceClaimSpec | None = None


class ResourceClaimTemplate(Object, group_version=GROUP_VERSION, resource=namespaced("resourceclaimtemplates")):
    spec: ResourceClaimTemplateSpec | None = None


class ResourcePool(Struct):
    generation: Int64
    name: str
    resource_slice_count: Int64


class ResourceSliceSpec(Struct):
    driver: str
    pool: ResourcePool
    all_nodes: bool | None = None
    devices: Annotated[list[Device] | None, ListAtomic()] = None
    node_name: str | None = None
    node_selector: core_v1.NodeSelector | None = None
    partition_type_attribute: str | None = None
    per_device_node_selection: bool | None = None
    shared_counters: Annotated[list[CounterSet] | None, ListAtomic()] = None
    skip_node_operations: Annotated[list[str] | None, ListSet(), _SKIP_NODE_OPERATIONS] = None


class ResourceSlice(Object, group_version=GROUP_VERSION, resource=cluster_scoped("resourceslices")):
    spec: ResourceSliceSpec

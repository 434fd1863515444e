"""Built-in types of core/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pydantic import Field

from pykb.api.annotations import (
    Int32,
    Int64,
    IntOrString,
    KnownValues,
    ListAtomic,
    ListMap,
    ListSet,
    MapAtomic,
    MapGranular,
    NullIsEmpty,
    PatchStrategy,
    SchemaOnly,
    SchemaPatch,
    SchemaRequired,
    Wire,
    annotate,
)
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.quantity import Quantity
from pykb.api.struct import Struct
from pykb.api.time import MicroTime
from pykb.meta.gvk import GroupVersion, cluster_scoped, namespaced

GROUP_VERSION = GroupVersion("", "v1")

_STOP_SIGNAL = KnownValues(
    (
        "SIGABRT",
        "SIGALRM",
        "SIGBUS",
        "SIGCHLD",
        "SIGCLD",
        "SIGCONT",
        "SIGFPE",
        "SIGHUP",
        "SIGILL",
        "SIGINT",
        "SIGIO",
        "SIGIOT",
        "SIGKILL",
        "SIGPIPE",
        "SIGPOLL",
        "SIGPROF",
        "SIGPWR",
        "SIGQUIT",
        "SIGRTMAX",
        "SIGRTMAX-1",
        "SIGRTMAX-10",
        "SIGRTMAX-11",
        "SIGRTMAX-12",
        "SIGRTMAX-13",
        "SIGRTMAX-14",
        "SIGRTMAX-2",
        "SIGRTMAX-3",
        "SIGRTMAX-4",
        "SIGRTMAX-5",
        "SIGRTMAX-6",
        "SIGRTMAX-7",
        "SIGRTMAX-8",
        "SIGRTMAX-9",
        "SIGRTMIN",
        "SIGRTMIN+1",
        "SIGRTMIN+10",
        "SIGRTMIN+11",
        "SIGRTMIN+12",
        "SIGRTMIN+13",
        "SIGRTMIN+14",
        "SIGRTMIN+15",
        "SIGRTMIN+2",
        "SIGRTMIN+3",
        "SIGRTMIN+4",
        "SIGRTMIN+5",
        "SIGRTMIN+6",
        "SIGRTMIN+7",
        "SIGRTMIN+8",
        "SIGRTMIN+9",
        "SIGSEGV",
        "SIGSTKFLT",
        "SIGSTOP",
        "SIGSYS",
        "SIGTERM",
        "SIGTRAP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGUSR1",
        "SIGUSR2",
        "SIGVTALRM",
        "SIGWINCH",
        "SIGXCPU",
        "SIGXFSZ",
    )
)


class AWSElasticBlockStoreVolumeSource(Struct):
    volume_id: Annotated[str, Wire("volumeID")]
    fs_type: str | None = None
    partition: Int32 | None = None
    read_only: bool | None = None


class NodeSelectorRequirement(Struct):
    key: str
    operator: Annotated[str, KnownValues(("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"))]
    values: Annotated[list[str] | None, ListAtomic()] = None


@annotate(MapAtomic())
class NodeSelectorTerm(Struct):
    match_expressions: Annotated[list[NodeSelectorRequirement] | None, ListAtomic()] = None
    match_fields: Annotated[list[NodeSelectorRequirement] | None, ListAtomic()] = None


@annotate(MapAtomic())
class NodeSelector(Struct):
    node_selector_terms: Annotated[list[NodeSelectorTerm], NullIsEmpty(), ListAtomic()]


class PreferredSchedulingTerm(Struct):
    preference: NodeSelectorTerm
    weight: Int32


class NodeAffinity(Struct):
    preferred_during_scheduling_ignored_during_execution: Annotated[
        list[PreferredSchedulingTerm] | None, ListAtomic()
    ] = None
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class PodAffinityTerm(Struct):
    topology_key: str
    label_selector: meta_v1.LabelSelector | None = None
    match_label_keys: Annotated[list[str] | None, ListAtomic()] = None
    mismatch_label_keys: Annotated[list[str] | None, ListAtomic()] = None
    namespace_selector: meta_v1.LabelSelector | None = None
    namespaces: Annotated[list[str] | None, ListAtomic()] = None


class WeightedPodAffinityTerm(Struct):
    pod_affinity_term: PodAffinityTerm
    weight: Int32


class PodAffinity(Struct):
    preferred_during_scheduling_ignored_during_execution: Annotated[
        list[WeightedPodAffinityTerm] | None, ListAtomic()
    ] = None
    required_during_scheduling_ignored_during_execution: Annotated[list[PodAffinityTerm] | None, ListAtomic()] = None


class PodAntiAffinity(Struct):
    preferred_during_scheduling_ignored_during_execution: Annotated[
        list[WeightedPodAffinityTerm] | None, ListAtomic()
    ] = None
    required_during_scheduling_ignored_during_execution: Annotated[list[PodAffinityTerm] | None, ListAtomic()] = None


class Affinity(Struct):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class AppArmorProfile(Struct):
    type: Annotated[str, KnownValues(("Localhost", "RuntimeDefault", "Unconfined"))]
    localhost_profile: str | None = None


class AttachedVolume(Struct):
    device_path: str
    name: str


class AzureDiskVolumeSource(Struct):
    disk_name: str
    disk_uri: Annotated[str, Wire("diskURI")]
    caching_mode: Annotated[str | None, KnownValues(("None", "ReadOnly", "ReadWrite"))] = None
    fs_type: str = "ext4"
    kind: Annotated[str | None, KnownValues(("Dedicated", "Managed", "Shared"))] = None
    read_only: bool = False


class AzureFilePersistentVolumeSource(Struct):
    secret_name: str
    share_name: str
    read_only: bool | None = None
    secret_namespace: str | None = None


class AzureFileVolumeSource(Struct):
    secret_name: str
    share_name: str
    read_only: bool | None = None


@annotate(MapAtomic())
class ObjectReference(Struct):
    api_version: str | None = None
    field_path: str | None = None
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    resource_version: str | None = None
    uid: str | None = None


class Binding(Object, group_version=GROUP_VERSION, resource=namespaced("bindings")):
    target: ObjectReference


@annotate(MapAtomic())
class SecretReference(Struct):
    name: str | None = None
    namespace: str | None = None


class CSIPersistentVolumeSource(Struct):
    driver: str
    volume_handle: str
    controller_expand_secret_ref: SecretReference | None = None
    controller_publish_secret_ref: SecretReference | None = None
    fs_type: str | None = None
    node_expand_secret_ref: SecretReference | None = None
    node_publish_secret_ref: SecretReference | None = None
    node_stage_secret_ref: SecretReference | None = None
    read_only: bool | None = None
    volume_attributes: dict[str, str] | None = None


@annotate(MapAtomic())
class LocalObjectReference(Struct):
    name: str = ""


class CSIVolumeSource(Struct):
    driver: str
    fs_type: str | None = None
    node_publish_secret_ref: LocalObjectReference | None = None
    read_only: bool | None = None
    volume_attributes: dict[str, str] | None = None


class Capabilities(Struct):
    add: Annotated[list[str] | None, ListAtomic()] = None
    drop: Annotated[list[str] | None, ListAtomic()] = None


class CephFSPersistentVolumeSource(Struct):
    monitors: Annotated[list[str], NullIsEmpty(), ListAtomic()]
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: SecretReference | None = None
    user: str | None = None


class CephFSVolumeSource(Struct):
    monitors: Annotated[list[str], NullIsEmpty(), ListAtomic()]
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: LocalObjectReference | None = None
    user: str | None = None


class CinderPersistentVolumeSource(Struct):
    volume_id: Annotated[str, Wire("volumeID")]
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None


class CinderVolumeSource(Struct):
    volume_id: Annotated[str, Wire("volumeID")]
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None


class ClientIPConfig(Struct):
    timeout_seconds: Int32 | None = None


class ClusterTrustBundleProjection(Struct):
    path: str
    label_selector: meta_v1.LabelSelector | None = None
    name: str | None = None
    optional: bool | None = None
    signer_name: str | None = None
    user: Int64 | None = None


class ComponentCondition(Struct):
    status: str
    type: str
    error: str | None = None
    message: str | None = None


class ComponentStatus(Object, group_version=GROUP_VERSION, resource=cluster_scoped("componentstatuses")):
    conditions: Annotated[list[ComponentCondition] | None, ListMap("type"), PatchStrategy("merge")] = None


class ConfigMap(Object, group_version=GROUP_VERSION, resource=namespaced("configmaps")):
    binary_data: dict[str, bytes] | None = None
    data: dict[str, str] | None = None
    immutable: bool | None = None


@annotate(MapAtomic())
class ConfigMapEnvSource(Struct):
    name: str = ""
    optional: bool | None = None


@annotate(MapAtomic())
class ConfigMapKeySelector(Struct):
    key: str
    name: str = ""
    optional: bool | None = None


class ConfigMapNodeConfigSource(Struct):
    kubelet_config_key: str
    name: str
    namespace: str
    resource_version: str | None = None
    uid: str | None = None


class KeyToPath(Struct):
    key: str
    path: str
    mode: Int32 | None = None
    user: Int64 | None = None


@annotate(MapAtomic())
class ConfigMapProjection(Struct):
    items: Annotated[list[KeyToPath] | None, ListAtomic()] = None
    name: str = ""
    optional: bool | None = None


@annotate(MapAtomic())
class ConfigMapVolumeSource(Struct):
    default_mode: Int32 | None = None
    default_user: Int64 | None = None
    items: Annotated[list[KeyToPath] | None, ListAtomic()] = None
    name: str = ""
    optional: bool | None = None


class ContainerPort(Struct):
    container_port: Int32
    host_ip: Annotated[str | None, Wire("hostIP")] = None
    host_port: Int32 | None = None
    name: str | None = None
    protocol: Annotated[str, KnownValues(("SCTP", "TCP", "UDP"))] = "TCP"


class ContainerResizePolicy(Struct):
    resource_name: str
    restart_policy: str


class ContainerRestartRuleOnExitCodes(Struct):
    operator: str
    values: Annotated[list[Int32] | None, ListSet()] = None


class ContainerRestartRule(Struct):
    action: str
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


@annotate(MapAtomic())
class SecretEnvSource(Struct):
    name: str = ""
    optional: bool | None = None


class EnvFromSource(Struct):
    config_map_ref: ConfigMapEnvSource | None = None
    prefix: str | None = None
    secret_ref: SecretEnvSource | None = None


@annotate(MapAtomic())
class FileKeySelector(Struct):
    key: str
    path: str
    volume_name: str
    optional: bool = False


@annotate(MapAtomic())
class ObjectFieldSelector(Struct):
    field_path: str
    api_version: str | None = None


@annotate(MapAtomic())
class ResourceFieldSelector(Struct):
    resource: str
    container_name: str | None = None
    divisor: Quantity | None = None


@annotate(MapAtomic())
class SecretKeySelector(Struct):
    key: str
    name: str = ""
    optional: bool | None = None


class EnvVarSource(Struct):
    config_map_key_ref: ConfigMapKeySelector | None = None
    field_ref: ObjectFieldSelector | None = None
    file_key_ref: FileKeySelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    secret_key_ref: SecretKeySelector | None = None


class EnvVar(Struct):
    name: str
    value: str | None = None
    value_from: EnvVarSource | None = None


class ExecAction(Struct):
    command: Annotated[list[str] | None, ListAtomic()] = None


class HTTPHeader(Struct):
    name: str
    value: str


class HTTPGetAction(Struct):
    port: IntOrString
    host: str | None = None
    http_headers: Annotated[list[HTTPHeader] | None, ListAtomic()] = None
    path: str | None = None
    protocol: Annotated[str | None, KnownValues(("HTTP1", "HTTP2"))] = None
    scheme: Annotated[str | None, KnownValues(("HTTP", "HTTPS"))] = None


class SleepAction(Struct):
    seconds: Int64


class TCPSocketAction(Struct):
    port: IntOrString
    host: str | None = None


class LifecycleHandler(Struct):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    sleep: SleepAction | None = None
    tcp_socket: TCPSocketAction | None = None


class Lifecycle(Struct):
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: Annotated[str | None, _STOP_SIGNAL] = None


class GRPCAction(Struct):
    port: Int32
    mode: Annotated[str | None, KnownValues(("Plaintext", "TLS"))] = None
    service: str = ""


class Probe(Struct):
    exec: ExecAction | None = None
    failure_threshold: Int32 | None = None
    grpc: GRPCAction | None = None
    http_get: HTTPGetAction | None = None
    initial_delay_seconds: Int32 | None = None
    period_seconds: Int32 | None = None
    success_threshold: Int32 | None = None
    tcp_socket: TCPSocketAction | None = None
    termination_grace_period_seconds: Int64 | None = None
    timeout_seconds: Int32 | None = None


class ResourceClaim(Struct):
    name: str
    request: str | None = None


class ResourceRequirements(Struct):
    claims: Annotated[list[ResourceClaim] | None, ListMap("name")] = None
    limits: dict[str, Quantity] | None = None
    requests: dict[str, Quantity] | None = None


class SELinuxOptions(Struct):
    level: str | None = None
    role: str | None = None
    type: str | None = None
    user: str | None = None


class SeccompProfile(Struct):
    type: Annotated[str, KnownValues(("Localhost", "RuntimeDefault", "Unconfined"))]
    localhost_profile: str | None = None


class WindowsSecurityContextOptions(Struct):
    gmsa_credential_spec: str | None = None
    gmsa_credential_spec_name: str | None = None
    host_process: bool | None = None
    run_as_user_name: str | None = None


class SecurityContext(Struct):
    allow_privilege_escalation: bool | None = None
    app_armor_profile: AppArmorProfile | None = None
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    proc_mount: Annotated[str | None, KnownValues(("Default", "Unmasked"))] = None
    read_only_root_filesystem: bool | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    run_as_user: Int64 | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    windows_options: WindowsSecurityContextOptions | None = None


class VolumeDevice(Struct):
    device_path: str
    name: str


class VolumeMount(Struct):
    mount_path: str
    name: str
    bind_mount_options: Annotated[list[str] | None, ListSet()] = None
    mount_propagation: Annotated[str | None, KnownValues(("Bidirectional", "HostToContainer", "None"))] = None
    read_only: bool | None = None
    recursive_read_only: str | None = None
    sub_path: str | None = None
    sub_path_expr: str | None = None


class Container(Struct):
    name: str
    args: Annotated[list[str] | None, ListAtomic()] = None
    command: Annotated[list[str] | None, ListAtomic()] = None
    env: Annotated[list[EnvVar] | None, ListMap("name"), PatchStrategy("merge")] = None
    env_from: Annotated[list[EnvFromSource] | None, ListAtomic()] = None
    image: str | None = None
    image_pull_policy: Annotated[str | None, KnownValues(("Always", "IfNotPresent", "Never"))] = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    ports: Annotated[list[ContainerPort] | None, ListMap("containerPort", "protocol"), PatchStrategy("merge")] = None
    readiness_probe: Probe | None = None
    resize_policy: Annotated[list[ContainerResizePolicy] | None, ListAtomic()] = None
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    restart_policy_rules: Annotated[list[ContainerRestartRule] | None, ListAtomic()] = None
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    termination_message_path: str | None = None
    termination_message_policy: Annotated[str | None, KnownValues(("FallbackToLogsOnError", "File"))] = None
    tty: bool | None = None
    volume_devices: Annotated[list[VolumeDevice] | None, ListMap("devicePath"), PatchStrategy("merge")] = None
    volume_mounts: Annotated[list[VolumeMount] | None, ListMap("mountPath"), PatchStrategy("merge")] = None
    working_dir: str | None = None


class ContainerExtendedResourceRequest(Struct):
    container_name: str
    request_name: str
    resource_name: str


class ContainerImage(Struct):
    names: Annotated[list[str] | None, ListAtomic()] = None
    size_bytes: Int64 | None = None


class ContainerStateRunning(Struct):
    started_at: datetime | None = None


class ContainerStateTerminated(Struct):
    exit_code: Int32
    container_id: Annotated[str | None, Wire("containerID")] = None
    finished_at: datetime | None = None
    message: str | None = None
    reason: str | None = None
    signal: Int32 | None = None
    started_at: datetime | None = None


class ContainerStateWaiting(Struct):
    message: str | None = None
    reason: str | None = None


class ContainerState(Struct):
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None
    waiting: ContainerStateWaiting | None = None


class LinuxContainerUser(Struct):
    gid: Int64
    uid: Int64
    supplemental_groups: Annotated[list[Int64] | None, ListAtomic()] = None


class ContainerUser(Struct):
    linux: LinuxContainerUser | None = None


class ResourceHealth(Struct):
    resource_id: Annotated[str, Wire("resourceID")]
    health: str | None = None
    message: str | None = None


class ResourceStatus(Struct):
    name: str
    resources: Annotated[list[ResourceHealth] | None, ListMap("resourceID")] = None


class ImageVolumeStatus(Struct):
    image_ref: Annotated[str, SchemaOnly(Field(max_length=256))]


class VolumeStatus(Struct):
    image: ImageVolumeStatus | None = None


class VolumeMountStatus(Struct):
    mount_path: str
    name: str
    read_only: bool | None = None
    recursive_read_only: str | None = None
    volume_status: VolumeStatus | None = None


class ContainerStatus(Struct):
    image: str
    image_id: Annotated[str, Wire("imageID")]
    name: str
    ready: bool
    restart_count: Int32
    allocated_resources: dict[str, Quantity] | None = None
    allocated_resources_status: Annotated[list[ResourceStatus] | None, ListMap("name"), PatchStrategy("merge")] = None
    container_id: Annotated[str | None, Wire("containerID")] = None
    last_state: ContainerState | None = None
    resources: ResourceRequirements | None = None
    started: bool | None = None
    state: ContainerState | None = None
    stop_signal: Annotated[str | None, _STOP_SIGNAL] = None
    user: ContainerUser | None = None
    volume_mounts: Annotated[list[VolumeMountStatus] | None, ListMap("mountPath"), PatchStrategy("merge")] = None


class DaemonEndpoint(Struct):
    port: Annotated[Int32, Wire("Port")]


class DownwardAPIVolumeFile(Struct):
    path: str
    field_ref: ObjectFieldSelector | None = None
    mode: Int32 | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    user: Int64 | None = None


class DownwardAPIProjection(Struct):
    items: Annotated[list[DownwardAPIVolumeFile] | None, ListAtomic()] = None


class DownwardAPIVolumeSource(Struct):
    default_mode: Int32 | None = None
    default_user: Int64 | None = None
    items: Annotated[list[DownwardAPIVolumeFile] | None, ListAtomic()] = None


class EmptyDirVolumeSource(Struct):
    medium: str | None = None
    mode: Int32 | None = None
    size_limit: Quantity | None = None


@annotate(MapAtomic())
class EndpointAddress(Struct):
    ip: str
    hostname: str | None = None
    node_name: str | None = None
    target_ref: ObjectReference | None = None


@annotate(MapAtomic())
class EndpointPort(Struct):
    port: Int32
    app_protocol: str | None = None
    name: str | None = None
    protocol: Annotated[str | None, KnownValues(("SCTP", "TCP", "UDP"))] = None


class EndpointSubset(Struct):
    addresses: Annotated[list[EndpointAddress] | None, ListAtomic()] = None
    not_ready_addresses: Annotated[list[EndpointAddress] | None, ListAtomic()] = None
    ports: Annotated[list[EndpointPort] | None, ListAtomic()] = None


class Endpoints(Object, group_version=GROUP_VERSION, resource=namespaced("endpoints")):
    subsets: Annotated[list[EndpointSubset] | None, ListAtomic()] = None


class EphemeralContainer(Struct):
    name: str
    args: Annotated[list[str] | None, ListAtomic()] = None
    command: Annotated[list[str] | None, ListAtomic()] = None
    env: Annotated[list[EnvVar] | None, ListMap("name"), PatchStrategy("merge")] = None
    env_from: Annotated[list[EnvFromSource] | None, ListAtomic()] = None
    image: str | None = None
    image_pull_policy: Annotated[str | None, KnownValues(("Always", "IfNotPresent", "Never"))] = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    ports: Annotated[list[ContainerPort] | None, ListMap("containerPort", "protocol"), PatchStrategy("merge")] = None
    readiness_probe: Probe | None = None
    resize_policy: Annotated[list[ContainerResizePolicy] | None, ListAtomic()] = None
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    restart_policy_rules: Annotated[list[ContainerRestartRule] | None, ListAtomic()] = None
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    target_container_name: str | None = None
    termination_message_path: str | None = None
    termination_message_policy: Annotated[str | None, KnownValues(("FallbackToLogsOnError", "File"))] = None
    tty: bool | None = None
    volume_devices: Annotated[list[VolumeDevice] | None, ListMap("devicePath"), PatchStrategy("merge")] = None
    volume_mounts: Annotated[list[VolumeMount] | None, ListMap("mountPath"), PatchStrategy("merge")] = None
    working_dir: str | None = None


@annotate(MapAtomic())
class TypedLocalObjectReference(Struct):
    kind: str
    name: str
    api_group: str | None = None


class TypedObjectReference(Struct):
    kind: str
    name: str
    api_group: str | None = None
    namespace: str | None = None


class VolumeResourceRequirements(Struct):
    limits: dict[str, Quantity] | None = None
    requests: dict[str, Quantity] | None = None


class PersistentVolumeClaimSpec(Struct):
    access_modes: Annotated[list[str] | None, ListAtomic()] = None
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    resources: VolumeResourceRequirements | None = None
    selector: meta_v1.LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: Annotated[str | None, KnownValues(("Block", "Filesystem"))] = None
    volume_name: str | None = None


class PersistentVolumeClaimTemplate(Struct):
    spec: PersistentVolumeClaimSpec
    metadata: meta_v1.ObjectMeta | None = None


class EphemeralVolumeSource(Struct):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class EventSeries(Struct):
    count: Int32 | None = None
    last_observed_time: MicroTime | None = None


class EventSource(Struct):
    component: str | None = None
    host: str | None = None


class Event(Object, group_version=GROUP_VERSION, resource=namespaced("events")):
    involved_object: ObjectReference
    action: str | None = None
    count: Int32 | None = None
    event_time: MicroTime | None = None
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    message: str | None = None
    reason: str | None = None
    related: ObjectReference | None = None
    reporting_component: str | None = None
    reporting_instance: str | None = None
    series: EventSeries | None = None
    source: EventSource | None = None
    type: str | None = None


@annotate(MapAtomic())
class EvictionResponder(Struct):
    name: Annotated[str, SchemaOnly(Field(min_length=1))]
    priority: Annotated[Int32, SchemaOnly(Field(ge=0, le=100000))]


class FCVolumeSource(Struct):
    fs_type: str | None = None
    lun: Int32 | None = None
    read_only: bool | None = None
    target_wwns: Annotated[list[str] | None, Wire("targetWWNs"), ListAtomic()] = None
    wwids: Annotated[list[str] | None, ListAtomic()] = None


class FlexPersistentVolumeSource(Struct):
    driver: str
    fs_type: str | None = None
    options: dict[str, str] | None = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None


class FlexVolumeSource(Struct):
    driver: str
    fs_type: str | None = None
    options: dict[str, str] | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None


class FlockerVolumeSource(Struct):
    dataset_name: str | None = None
    dataset_uuid: Annotated[str | None, Wire("datasetUUID")] = None


class GCEPersistentDiskVolumeSource(Struct):
    pd_name: str
    fs_type: str | None = None
    partition: Int32 | None = None
    read_only: bool | None = None


class GitRepoVolumeSource(Struct):
    repository: str
    directory: str | None = None
    revision: str | None = None


class GlusterfsPersistentVolumeSource(Struct):
    endpoints: str
    path: str
    endpoints_namespace: str | None = None
    read_only: bool | None = None


class GlusterfsVolumeSource(Struct):
    endpoints: str
    path: str
    read_only: bool | None = None


class HostAlias(Struct):
    ip: str
    hostnames: Annotated[list[str] | None, ListAtomic()] = None


class HostIP(Struct):
    ip: str


class HostPathVolumeSource(Struct):
    path: str
    type: Annotated[
        str | None,
        KnownValues(
            ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
        ),
    ] = None


class ISCSIPersistentVolumeSource(Struct):
    iqn: str
    lun: Int32
    target_portal: str
    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iscsi_interface: str = "default"
    portals: Annotated[list[str] | None, ListAtomic()] = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None


class ISCSIVolumeSource(Struct):
    iqn: str
    lun: Int32
    target_portal: str
    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iscsi_interface: str = "default"
    portals: Annotated[list[str] | None, ListAtomic()] = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None


class ImageVolumeSource(Struct):
    pull_policy: Annotated[str | None, KnownValues(("Always", "IfNotPresent", "Never"))] = None
    reference: str | None = None


class LimitRangeItem(Struct):
    type: str
    default: dict[str, Quantity] | None = None
    default_request: dict[str, Quantity] | None = None
    max: dict[str, Quantity] | None = None
    max_limit_request_ratio: dict[str, Quantity] | None = None
    min: dict[str, Quantity] | None = None


class LimitRangeSpec(Struct):
    limits: Annotated[list[LimitRangeItem], NullIsEmpty(), ListAtomic()]


class LimitRange(Object, group_version=GROUP_VERSION, resource=namespaced("limitranges")):
    spec: LimitRangeSpec | None = None


class PortStatus(Struct):
    port: Int32
    protocol: Annotated[str, KnownValues(("SCTP", "TCP", "UDP"))]
    error: Annotated[
        str | None,
        SchemaRequired(),
        SchemaOnly(
            Field(
                max_length=316,
                pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
            )
        ),
    ] = None


class LoadBalancerIngress(Struct):
    hostname: str | None = None
    ip: str | None = None
    ip_mode: str | None = None
    ports: Annotated[list[PortStatus] | None, ListAtomic()] = None


class LoadBalancerStatus(Struct):
    ingress: Annotated[list[LoadBalancerIngress] | None, ListAtomic()] = None


class LocalVolumeSource(Struct):
    path: str
    fs_type: str | None = None


class ModifyVolumeStatus(Struct):
    status: Annotated[str, KnownValues(("InProgress", "Infeasible", "Pending"))]
    target_volume_attributes_class_name: str | None = None


class NFSVolumeSource(Struct):
    path: str
    server: str
    read_only: bool | None = None


class NamespaceSpec(Struct):
    finalizers: Annotated[list[str] | None, ListAtomic()] = None


class NamespaceCondition(Struct):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class NamespaceStatus(Struct):
    conditions: Annotated[list[NamespaceCondition] | None, ListMap("type"), PatchStrategy("merge")] = None
    phase: Annotated[str | None, KnownValues(("Active", "Terminating"))] = None


class Namespace(Object, group_version=GROUP_VERSION, resource=cluster_scoped("namespaces", "finalize", "status")):
    spec: NamespaceSpec | None = None
    status: NamespaceStatus | None = None


class NodeConfigSource(Struct):
    config_map: ConfigMapNodeConfigSource | None = None


class NodePodPreemptionPolicy(Struct):
    disable_resize_preemption: Annotated[list[str] | None, ListSet(), SchemaOnly(Field(max_length=20))] = None


class Taint(Struct):
    effect: Annotated[str, KnownValues(("NoExecute", "NoSchedule", "PreferNoSchedule"))]
    key: str
    time_added: datetime | None = None
    value: str | None = None


class NodeSpec(Struct):
    config_source: NodeConfigSource | None = None
    external_id: Annotated[str | None, Wire("externalID")] = None
    pod_cidr: Annotated[str | None, Wire("podCIDR")] = None
    pod_cidrs: Annotated[list[str] | None, Wire("podCIDRs"), ListSet(), PatchStrategy("merge")] = None
    pod_preemption_policy: NodePodPreemptionPolicy | None = None
    provider_id: Annotated[str | None, Wire("providerID")] = None
    taints: Annotated[list[Taint] | None, ListAtomic()] = None
    unschedulable: bool | None = None


class NodeAddress(Struct):
    address: str
    type: str


class NodeCondition(Struct):
    status: str
    type: str
    last_heartbeat_time: datetime | None = None
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class NodeConfigStatus(Struct):
    active: NodeConfigSource | None = None
    assigned: NodeConfigSource | None = None
    error: str | None = None
    last_known_good: NodeConfigSource | None = None


class NodeDaemonEndpoints(Struct):
    kubelet_endpoint: DaemonEndpoint | None = None


class NodeFeatures(Struct):
    supplemental_groups_policy: bool | None = None


class NodeRuntimeHandlerFeatures(Struct):
    recursive_read_only_mounts: bool | None = None
    user_namespaces: bool | None = None


class NodeRuntimeHandler(Struct):
    features: NodeRuntimeHandlerFeatures | None = None
    name: str | None = None


class NodeSwapStatus(Struct):
    capacity: Int64 | None = None


class NodeSystemInfo(Struct):
    architecture: str
    boot_id: Annotated[str, Wire("bootID")]
    container_runtime_version: str
    kernel_version: str
    kube_proxy_version: str
    kubelet_version: str
    machine_id: Annotated[str, Wire("machineID")]
    operating_system: str
    os_image: str
    system_uuid: Annotated[str, Wire("systemUUID")]
    running_in_user_namespace: bool | None = None
    swap: NodeSwapStatus | None = None


class NodeStatus(Struct):
    addresses: Annotated[list[NodeAddress] | None, ListMap("type"), PatchStrategy("merge")] = None
    allocatable: dict[str, Quantity] | None = None
    capacity: dict[str, Quantity] | None = None
    conditions: Annotated[list[NodeCondition] | None, ListMap("type"), PatchStrategy("merge")] = None
    config: NodeConfigStatus | None = None
    daemon_endpoints: NodeDaemonEndpoints | None = None
    declared_features: Annotated[list[str] | None, ListAtomic()] = None
    features: NodeFeatures | None = None
    images: Annotated[list[ContainerImage] | None, ListAtomic()] = None
    node_info: NodeSystemInfo | None = None
    phase: Annotated[str | None, KnownValues(("Pending", "Running", "Terminated"))] = None
    runtime_handlers: Annotated[list[NodeRuntimeHandler] | None, ListAtomic()] = None
    volumes_attached: Annotated[list[AttachedVolume] | None, ListAtomic()] = None
    volumes_in_use: Annotated[list[str] | None, ListAtomic()] = None


class Node(Object, group_version=GROUP_VERSION, resource=cluster_scoped("nodes", "proxy", "status")):
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class NodeAllocatableMappedResources(Struct):
    name: Annotated[str, SchemaOnly(Field(min_length=1))]
    quantity: Annotated[Quantity, SchemaPatch({"minProperties": 1})]


class NodeAllocatableOverheadResources(Struct):
    name: Annotated[str, SchemaOnly(Field(min_length=1))]
    per_container: Quantity | None = None
    per_pod: Quantity | None = None


class NodeAllocatableResourceClaimStatus(Struct):
    resource_claim_name: Annotated[str, SchemaOnly(Field(min_length=1))]
    containers: Annotated[list[str] | None, ListSet()] = None
    mapping: Annotated[list[NodeAllocatableMappedResources] | None, ListMap("name"), PatchStrategy("merge")] = None
    overhead: Annotated[list[NodeAllocatableOverheadResources] | None, ListMap("name"), PatchStrategy("merge")] = None


class PhotonPersistentDiskVolumeSource(Struct):
    pd_id: Annotated[str, Wire("pdID")]
    fs_type: str | None = None


class PortworxVolumeSource(Struct):
    volume_id: Annotated[str, Wire("volumeID")]
    fs_type: str | None = None
    read_only: bool | None = None


class QuobyteVolumeSource(Struct):
    registry: str
    volume: str
    group: str | None = None
    read_only: bool | None = None
    tenant: str | None = None
    user: str | None = None


class RBDPersistentVolumeSource(Struct):
    image: str
    monitors: Annotated[list[str], NullIsEmpty(), ListAtomic()]
    fs_type: str | None = None
    keyring: str = "/etc/ceph/keyring"
    pool: str = "rbd"
    read_only: bool | None = None
    secret_ref: SecretReference | None = None
    user: str = "admin"


class ScaleIOPersistentVolumeSource(Struct):
    gateway: str
    secret_ref: SecretReference
    system: str
    fs_type: str = "xfs"
    protection_domain: str | None = None
    read_only: bool | None = None
    ssl_enabled: bool | None = None
    storage_mode: str = "ThinProvisioned"
    storage_pool: str | None = None
    volume_name: str | None = None


class StorageOSPersistentVolumeSource(Struct):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: ObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None


class VolumeNodeAffinity(Struct):
    required: NodeSelector | None = None


class VsphereVirtualDiskVolumeSource(Struct):
    volume_path: str
    fs_type: str | None = None
    storage_policy_id: Annotated[str | None, Wire("storagePolicyID")] = None
    storage_policy_name: str | None = None


class PersistentVolumeSpec(Struct):
    access_modes: Annotated[list[str] | None, ListAtomic()] = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFilePersistentVolumeSource | None = None
    capacity: dict[str, Quantity] | None = None
    cephfs: CephFSPersistentVolumeSource | None = None
    cinder: CinderPersistentVolumeSource | None = None
    claim_ref: Annotated[ObjectReference | None, MapGranular()] = None
    csi: CSIPersistentVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexPersistentVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    iscsi: ISCSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    mount_options: Annotated[list[str] | None, ListAtomic()] = None
    nfs: NFSVolumeSource | None = None
    node_affinity: VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: Annotated[str | None, KnownValues(("Delete", "Recycle", "Retain"))] = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDPersistentVolumeSource | None = None
    scale_io: Annotated[ScaleIOPersistentVolumeSource | None, Wire("scaleIO")] = None
    storage_class_name: str | None = None
    storageos: StorageOSPersistentVolumeSource | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: Annotated[str | None, KnownValues(("Block", "Filesystem"))] = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class PersistentVolumeStatus(Struct):
    last_phase_transition_time: datetime | None = None
    message: str | None = None
    phase: Annotated[str | None, KnownValues(("Available", "Bound", "Failed", "Pending", "Released"))] = None
    reason: str | None = None


class PersistentVolume(Object, group_version=GROUP_VERSION, resource=cluster_scoped("persistentvolumes", "status")):
    spec: PersistentVolumeSpec | None = None
    status: PersistentVolumeStatus | None = None


class PersistentVolumeClaimCondition(Struct):
    status: str
    type: str
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class VolumeHealthCondition(Struct):
    reason: Annotated[str, SchemaOnly(Field(min_length=1))]
    status: Annotated[
        str,
        KnownValues(("DataLoss", "Degraded", "Inaccessible")),
        SchemaOnly(Field(min_length=1)),
        SchemaPatch({"enum": ["DataLoss", "Degraded", "Inaccessible"]}),
    ]
    message: str | None = None


class VolumeHealthStatus(Struct):
    health_conditions: Annotated[
        list[VolumeHealthCondition] | None,
        ListMap("status", "reason"),
        PatchStrategy("merge"),
        SchemaOnly(Field(max_length=16)),
    ] = None
    last_transition_time: datetime | None = None


class PersistentVolumeClaimStatus(Struct):
    access_modes: Annotated[list[str] | None, ListAtomic()] = None
    allocated_resource_statuses: Annotated[dict[str, str] | None, MapGranular()] = None
    allocated_resources: dict[str, Quantity] | None = None
    capacity: dict[str, Quantity] | None = None
    conditions: Annotated[list[PersistentVolumeClaimCondition] | None, ListMap("type"), PatchStrategy("merge")] = None
    current_volume_attributes_class_name: str | None = None
    health_status: VolumeHealthStatus | None = None
    modify_volume_status: ModifyVolumeStatus | None = None
    phase: Annotated[str | None, KnownValues(("Bound", "Lost", "Pending"))] = None


class PersistentVolumeClaim(
    Object, group_version=GROUP_VERSION, resource=namespaced("persistentvolumeclaims", "status")
):
    spec: PersistentVolumeClaimSpec | None = None
    status: PersistentVolumeClaimStatus | None = None


class PersistentVolumeClaimVolumeSource(Struct):
    claim_name: str
    read_only: bool | None = None


class PodDNSConfigOption(Struct):
    name: str | None = None
    value: str | None = None


class PodDNSConfig(Struct):
    nameservers: Annotated[list[str] | None, ListAtomic()] = None
    options: Annotated[list[PodDNSConfigOption] | None, ListAtomic()] = None
    searches: Annotated[list[str] | None, ListAtomic()] = None


class PodOS(Struct):
    name: str


class PodReadinessGate(Struct):
    condition_type: str


class PodResourceClaim(Struct):
    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGate(Struct):
    name: str


class PodSchedulingGroup(Struct):
    pod_group_name: str | None = None


class Sysctl(Struct):
    name: str
    value: str


class PodSecurityContext(Struct):
    app_armor_profile: AppArmorProfile | None = None
    fs_group: Int64 | None = None
    fs_group_change_policy: Annotated[str | None, KnownValues(("Always", "OnRootMismatch"))] = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    run_as_user: Int64 | None = None
    se_linux_change_policy: str | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    supplemental_groups: Annotated[list[Int64] | None, ListAtomic()] = None
    supplemental_groups_policy: Annotated[str | None, KnownValues(("Merge", "Strict"))] = None
    sysctls: Annotated[list[Sysctl] | None, ListAtomic()] = None
    windows_options: WindowsSecurityContextOptions | None = None


class Toleration(Struct):
    effect: Annotated[str | None, KnownValues(("NoExecute", "NoSchedule", "PreferNoSchedule"))] = None
    key: str | None = None
    operator: Annotated[str | None, KnownValues(("Equal", "Exists", "Gt", "Lt"))] = None
    toleration_seconds: Int64 | None = None
    value: str | None = None


class TopologySpreadConstraint(Struct):
    max_skew: Int32
    topology_key: str
    when_unsatisfiable: Annotated[str, KnownValues(("DoNotSchedule", "ScheduleAnyway"))]
    label_selector: meta_v1.LabelSelector | None = None
    match_label_keys: Annotated[list[str] | None, ListAtomic()] = None
    min_domains: Int32 | None = None
    node_affinity_policy: Annotated[str | None, KnownValues(("Honor", "Ignore"))] = None
    node_taints_policy: Annotated[str | None, KnownValues(("Honor", "Ignore"))] = None


class PodCertificateProjection(Struct):
    key_type: str
    signer_name: str
    certificate_chain_path: str | None = None
    credential_bundle_path: str | None = None
    key_path: str | None = None
    max_expiration_seconds: Int32 | None = None
    user: Int64 | None = None
    user_annotations: dict[str, str] | None = None


@annotate(MapAtomic())
class SecretProjection(Struct):
    items: Annotated[list[KeyToPath] | None, ListAtomic()] = None
    name: str = ""
    optional: bool | None = None


class ServiceAccountTokenProjection(Struct):
    path: str
    audience: str | None = None
    expiration_seconds: Int64 | None = None
    user: Int64 | None = None


class VolumeProjection(Struct):
    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    config_map: ConfigMapProjection | None = None
    downward_api: Annotated[DownwardAPIProjection | None, Wire("downwardAPI")] = None
    pod_certificate: PodCertificateProjection | None = None
    secret: SecretProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None


class ProjectedVolumeSource(Struct):
    default_mode: Int32 | None = None
    default_user: Int64 | None = None
    sources: Annotated[list[VolumeProjection] | None, ListAtomic()] = None


class RBDVolumeSource(Struct):
    image: str
    monitors: Annotated[list[str], NullIsEmpty(), ListAtomic()]
    fs_type: str | None = None
    keyring: str = "/etc/ceph/keyring"
    pool: str = "rbd"
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    user: str = "admin"


class ScaleIOVolumeSource(Struct):
    gateway: str
    secret_ref: LocalObjectReference
    system: str
    fs_type: str = "xfs"
    protection_domain: str | None = None
    read_only: bool | None = None
    ssl_enabled: bool | None = None
    storage_mode: str = "ThinProvisioned"
    storage_pool: str | None = None
    volume_name: str | None = None


class SecretVolumeSource(Struct):
    default_mode: Int32 | None = None
    default_user: Int64 | None = None
    items: Annotated[list[KeyToPath] | None, ListAtomic()] = None
    optional: bool | None = None
    secret_name: str | None = None


class StorageOSVolumeSource(Struct):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None


class Volume(Struct):
    name: str
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    downward_api: Annotated[DownwardAPIVolumeSource | None, Wire("downwardAPI")] = None
    empty_dir: EmptyDirVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    image: ImageVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    scale_io: Annotated[ScaleIOVolumeSource | None, Wire("scaleIO")] = None
    secret: SecretVolumeSource | None = None
    storageos: StorageOSVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class PodSpec(Struct):
    containers: Annotated[list[Container], NullIsEmpty(), ListMap("name"), PatchStrategy("merge")]
    active_deadline_seconds: Int64 | None = None
    affinity: Affinity | None = None
    automount_service_account_token: bool | None = None
    dns_config: PodDNSConfig | None = None
    dns_policy: Annotated[str | None, KnownValues(("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"))] = (
        None
    )
    enable_service_links: bool | None = None
    ephemeral_containers: Annotated[list[EphemeralContainer] | None, ListMap("name"), PatchStrategy("merge")] = None
    eviction_responders: Annotated[
        list[EvictionResponder] | None, ListMap("name"), PatchStrategy("merge"), SchemaOnly(Field(max_length=10))
    ] = None
    host_aliases: Annotated[list[HostAlias] | None, ListMap("ip"), PatchStrategy("merge")] = None
    host_ipc: Annotated[bool | None, Wire("hostIPC")] = None
    host_network: bool | None = None
    host_pid: Annotated[bool | None, Wire("hostPID")] = None
    host_users: bool | None = None
    hostname: str | None = None
    hostname_override: str | None = None
    image_pull_secrets: Annotated[list[LocalObjectReference] | None, ListMap("name"), PatchStrategy("merge")] = None
    init_containers: Annotated[list[Container] | None, ListMap("name"), PatchStrategy("merge")] = None
    node_name: str | None = None
    node_selector: Annotated[dict[str, str] | None, MapAtomic()] = None
    os: PodOS | None = None
    overhead: dict[str, Quantity] | None = None
    preemption_policy: Annotated[str | None, KnownValues(("Never", "PreemptLowerPriority"))] = None
    priority: Int32 | None = None
    priority_class_name: str | None = None
    readiness_gates: Annotated[list[PodReadinessGate] | None, ListAtomic()] = None
    resource_claims: Annotated[list[PodResourceClaim] | None, ListMap("name"), PatchStrategy("merge,retainKeys")] = None
    resources: ResourceRequirements | None = None
    restart_policy: Annotated[str | None, KnownValues(("Always", "Never", "OnFailure"))] = None
    runtime_class_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: Annotated[list[PodSchedulingGate] | None, ListMap("name"), PatchStrategy("merge")] = None
    scheduling_group: PodSchedulingGroup | None = None
    security_context: PodSecurityContext | None = None
    service_account: str | None = None
    service_account_name: str | None = None
    set_hostname_as_fqdn: Annotated[bool | None, Wire("setHostnameAsFQDN")] = None
    share_process_namespace: bool | None = None
    subdomain: str | None = None
    termination_grace_period_seconds: Int64 | None = None
    tolerations: Annotated[list[Toleration] | None, ListAtomic()] = None
    topology_spread_constraints: Annotated[
        list[TopologySpreadConstraint] | None, ListMap("topologyKey", "whenUnsatisfiable"), PatchStrategy("merge")
    ] = None
    volumes: Annotated[list[Volume] | None, ListMap("name"), PatchStrategy("merge,retainKeys")] = None


class PodCondition(Struct):
    status: str
    type: str
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    message: str | None = None
    observed_generation: Int64 | None = None
    reason: str | None = None


class PodExtendedResourceClaimStatus(Struct):
    request_mappings: Annotated[list[ContainerExtendedResourceRequest], NullIsEmpty(), ListAtomic()]
    resource_claim_name: str


class PodIP(Struct):
    ip: str


class PodResourceClaimStatus(Struct):
    name: str
    resource_claim_name: str | None = None


class PodVolumeHealth(Struct):
    name: Annotated[str, SchemaOnly(Field(min_length=1))]
    health_conditions: Annotated[
        list[VolumeHealthCondition] | None,
        ListMap("status", "reason"),
        PatchStrategy("merge"),
        SchemaOnly(Field(max_length=16)),
    ] = None
    last_transition_time: datetime | None = None


class PodStatus(Struct):
    allocated_resources: dict[str, Quantity] | None = None
    conditions: Annotated[list[PodCondition] | None, ListMap("type"), PatchStrategy("merge")] = None
    container_statuses: Annotated[list[ContainerStatus] | None, ListAtomic()] = None
    ephemeral_container_statuses: Annotated[list[ContainerStatus] | None, ListAtomic()] = None
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    host_ip: Annotated[str | None, Wire("hostIP")] = None
    host_ips: Annotated[list[HostIP] | None, Wire("hostIPs"), ListAtomic(), PatchStrategy("merge", "ip")] = None
    init_container_statuses: Annotated[list[ContainerStatus] | None, ListAtomic()] = None
    message: str | None = None
    node_allocatable_resource_claim_statuses: Annotated[
        list[NodeAllocatableResourceClaimStatus] | None, ListMap("resourceClaimName"), PatchStrategy("merge")
    ] = None
    nominated_node_name: str | None = None
    observed_generation: Int64 | None = None
    phase: Annotated[str | None, KnownValues(("Failed", "Pending", "Running", "Succeeded", "Unknown"))] = None
    pod_ip: Annotated[str | None, Wire("podIP")] = None
    pod_ips: Annotated[list[PodIP] | None, Wire("podIPs"), ListMap("ip"), PatchStrategy("merge")] = None
    qos_class: Annotated[str | None, KnownValues(("BestEffort", "Burstable", "Guaranteed"))] = None
    reason: str | None = None
    resize: str | None = None
    resource_claim_statuses: Annotated[
        list[PodResourceClaimStatus] | None, ListMap("name"), PatchStrategy("merge,retainKeys")
    ] = None
    resources: ResourceRequirements | None = None
    start_time: datetime | None = None
    volume_health: Annotated[list[PodVolumeHealth] | None, ListMap("name")] = None


class Pod(
    Object,
    group_version=GROUP_VERSION,
    resource=namespaced(
        "pods",
        "attach",
        "binding",
        "ephemeralcontainers",
        "eviction",
        "exec",
        "log",
        "portforward",
        "proxy",
        "resize",
        "status",
    ),
):
    spec: PodSpec | None = None
    status: PodStatus | None = None


class PodTemplateSpec(Struct):
    metadata: meta_v1.ObjectMeta | None = None
    spec: PodSpec | None = None


class PodTemplate(Object, group_version=GROUP_VERSION, resource=namespaced("podtemplates")):
    template: PodTemplateSpec | None = None


class ReplicationControllerSpec(Struct):
    min_ready_seconds: Int32 = 0
    replicas: Int32 = 1
    selector: Annotated[dict[str, str] | None, MapAtomic()] = None
    template: PodTemplateSpec | None = None


class ReplicationControllerCondition(Struct):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class ReplicationControllerStatus(Struct):
    replicas: Int32
    available_replicas: Int32 | None = None
    conditions: Annotated[list[ReplicationControllerCondition] | None, ListMap("type"), PatchStrategy("merge")] = None
    fully_labeled_replicas: Int32 | None = None
    observed_generation: Int64 | None = None
    ready_replicas: Int32 | None = None


class ReplicationController(
    Object, group_version=GROUP_VERSION, resource=namespaced("replicationcontrollers", "scale", "status")
):
    spec: ReplicationControllerSpec | None = None
    status: ReplicationControllerStatus | None = None


class ScopedResourceSelectorRequirement(Struct):
    operator: Annotated[str, KnownValues(("DoesNotExist", "Exists", "In", "NotIn"))]
    scope_name: Annotated[
        str,
        KnownValues(
            (
                "BestEffort",
                "CrossNamespacePodAffinity",
                "NotBestEffort",
                "NotTerminating",
                "PriorityClass",
                "Terminating",
                "VolumeAttributesClass",
            )
        ),
    ]
    values: Annotated[list[str] | None, ListAtomic()] = None


@annotate(MapAtomic())
class ScopeSelector(Struct):
    match_expressions: Annotated[list[ScopedResourceSelectorRequirement] | None, ListAtomic()] = None


class ResourceQuotaSpec(Struct):
    hard: dict[str, Quantity] | None = None
    scope_selector: ScopeSelector | None = None
    scopes: Annotated[list[str] | None, ListAtomic()] = None


class ResourceQuotaStatus(Struct):
    hard: dict[str, Quantity] | None = None
    used: dict[str, Quantity] | None = None


class ResourceQuota(Object, group_version=GROUP_VERSION, resource=namespaced("resourcequotas", "status")):
    spec: ResourceQuotaSpec | None = None
    status: ResourceQuotaStatus | None = None


class Secret(Object, group_version=GROUP_VERSION, resource=namespaced("secrets")):
    data: Annotated[dict[str, bytes] | None, Field(repr=False)] = None
    immutable: bool | None = None
    string_data: Annotated[dict[str, str] | None, Field(repr=False)] = None
    type: str | None = None


class ServicePort(Struct):
    port: Int32
    app_protocol: str | None = None
    name: str | None = None
    node_port: Int32 | None = None
    protocol: Annotated[str, KnownValues(("SCTP", "TCP", "UDP"))] = "TCP"
    target_port: IntOrString | None = None


class SessionAffinityConfig(Struct):
    client_ip: Annotated[ClientIPConfig | None, Wire("clientIP")] = None


class ServiceSpec(Struct):
    allocate_load_balancer_node_ports: bool | None = None
    cluster_ip: Annotated[str | None, Wire("clusterIP")] = None
    cluster_ips: Annotated[list[str] | None, Wire("clusterIPs"), ListAtomic()] = None
    external_ips: Annotated[list[str] | None, Wire("externalIPs"), ListAtomic()] = None
    external_name: str | None = None
    external_traffic_policy: Annotated[str | None, KnownValues(("Cluster", "Local"))] = None
    health_check_node_port: Int32 | None = None
    internal_traffic_policy: Annotated[str | None, KnownValues(("Cluster", "Local"))] = None
    ip_families: Annotated[list[str] | None, ListAtomic()] = None
    ip_family_policy: Annotated[str | None, KnownValues(("PreferDualStack", "RequireDualStack", "SingleStack"))] = None
    load_balancer_class: str | None = None
    load_balancer_ip: Annotated[str | None, Wire("loadBalancerIP")] = None
    load_balancer_source_ranges: Annotated[list[str] | None, ListAtomic()] = None
    ports: Annotated[list[ServicePort] | None, ListMap("port", "protocol"), PatchStrategy("merge")] = None
    publish_not_ready_addresses: bool | None = None
    selector: Annotated[dict[str, str] | None, MapAtomic()] = None
    session_affinity: Annotated[str | None, KnownValues(("ClientIP", "None"))] = None
    session_affinity_config: SessionAffinityConfig | None = None
    traffic_distribution: str | None = None
    type: Annotated[str | None, KnownValues(("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"))] = None


class ServiceStatus(Struct):
    conditions: Annotated[list[meta_v1.Condition] | None, ListMap("type"), PatchStrategy("merge")] = None
    load_balancer: LoadBalancerStatus | None = None


class Service(Object, group_version=GROUP_VERSION, resource=namespaced("services", "proxy", "status")):
    spec: ServiceSpec | None = None
    status: ServiceStatus | None = None


class ServiceAccount(Object, group_version=GROUP_VERSION, resource=namespaced("serviceaccounts", "token")):
    automount_service_account_token: bool | None = None
    image_pull_secrets: Annotated[list[LocalObjectReference] | None, ListAtomic()] = None
    secrets: Annotated[list[ObjectReference] | None, ListMap("name"), PatchStrategy("merge")] = None


class TopologySelectorLabelRequirement(Struct):
    key: str
    values: Annotated[list[str], NullIsEmpty(), ListAtomic()]


@annotate(MapAtomic())
class TopologySelectorTerm(Struct):
    match_label_expressions: Annotated[list[TopologySelectorLabelRequirement] | None, ListAtomic()] = None

"""Built-in types of networking.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from typing import Annotated

from pydantic import Field

from pykb.api.annotations import (
    Int32,
    IntOrString,
    KnownValues,
    ListAtomic,
    ListMap,
    MapAtomic,
    NullIsEmpty,
    PatchStrategy,
    SchemaOnly,
    SchemaRequired,
    annotate,
)
from pykb.api.core import v1 as core_v1
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped, namespaced

GROUP_VERSION = GroupVersion("networking.k8s.io", "v1")


@annotate(MapAtomic())
class ServiceBackendPort(Struct):
    name: str | None = None
    number: Int32 | None = None


class IngressServiceBackend(Struct):
    name: str
    port: ServiceBackendPort | None = None


class IngressBackend(Struct):
    resource: core_v1.TypedLocalObjectReference | None = None
    service: IngressServiceBackend | None = None


class HTTPIngressPath(Struct):
    backend: IngressBackend
    path_type: Annotated[str, KnownValues(("Exact", "ImplementationSpecific", "Prefix"))]
    path: str | None = None


class HTTPIngressRuleValue(Struct):
    paths: Annotated[list[HTTPIngressPath], NullIsEmpty(), ListAtomic()]


class ParentReference(Struct):
    name: str
    resource: str
    group: str | None = None
    namespace: str | None = None


class IPAddressSpec(Struct):
    parent_ref: ParentReference


class IPAddress(Object, group_version=GROUP_VERSION, resource=cluster_scoped("ipaddresses")):
    spec: IPAddressSpec


class IPBlock(Struct):
    cidr: str
    except_: Annotated[list[str] | None, ListAtomic()] = None


class IngressRule(Struct):
    host: str | None = None
    http: HTTPIngressRuleValue | None = None


class IngressTLS(Struct):
    hosts: Annotated[list[str] | None, ListAtomic()] = None
    secret_name: str | None = None


class IngressSpec(Struct):
    default_backend: IngressBackend | None = None
    ingress_class_name: str | None = None
    rules: Annotated[list[IngressRule] | None, ListAtomic()] = None
    tls: Annotated[list[IngressTLS] | None, ListAtomic()] = None


class IngressPortStatus(Struct):
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


class IngressLoadBalancerIngress(Struct):
    hostname: str | None = None
    ip: str | None = None
    ports: Annotated[list[IngressPortStatus] | None, ListAtomic()] = None


class IngressLoadBalancerStatus(Struct):
    ingress: Annotated[list[IngressLoadBalancerIngress] | None, ListAtomic()] = None


class IngressStatus(Struct):
    load_balancer: IngressLoadBalancerStatus | None = None


class Ingress(Object, group_version=GROUP_VERSION, resource=namespaced("ingresses", "status")):
    spec: IngressSpec | None = None
    status: IngressStatus | None = None


class IngressClassParametersReference(Struct):
    kind: str
    name: str
    api_group: str | None = None
    namespace: str | None = None
    scope: str | None = None


class IngressClassSpec(Struct):
    controller: str | None = None
    parameters: IngressClassParametersReference | None = None


class IngressClass(Object, group_version=GROUP_VERSION, resource=cluster_scoped("ingressclasses")):
    spec: IngressClassSpec | None = None


class NetworkPolicyPeer(Struct):
    ip_block: IPBlock | None = None
    namespace_selector: meta_v1.LabelSelector | None = None
    pod_selector: meta_v1.LabelSelector | None = None


class NetworkPolicyPort(Struct):
    end_port: Int32 | None = None
    port: IntOrString | None = None
    protocol: Annotated[str | None, KnownValues(("SCTP", "TCP", "UDP"))] = None


class NetworkPolicyEgressRule(Struct):
    ports: Annotated[list[NetworkPolicyPort] | None, ListAtomic()] = None
    to: Annotated[list[NetworkPolicyPeer] | None, ListAtomic()] = None


class NetworkPolicyIngressRule(Struct):
    from_: Annotated[list[NetworkPolicyPeer] | None, ListAtomic()] = None
    ports: Annotated[list[NetworkPolicyPort] | None, ListAtomic()] = None


class NetworkPolicySpec(Struct):
    egress: Annotated[list[NetworkPolicyEgressRule] | None, ListAtomic()] = None
    ingress: Annotated[list[NetworkPolicyIngressRule] | None, ListAtomic()] = None
    pod_selector: meta_v1.LabelSelector | None = None
    policy_types: Annotated[list[str] | None, ListAtomic()] = None


class NetworkPolicy(Object, group_version=GROUP_VERSION, resource=namespaced("networkpolicies")):
    spec: NetworkPolicySpec | None = None


class ServiceCIDRSpec(Struct):
    cidrs: Annotated[list[str] | None, ListAtomic()] = None


class ServiceCIDRStatus(Struct):
    conditions: Annotated[list[meta_v1.Condition] | None, ListMap("type"), PatchStrategy("merge")] = None


class ServiceCIDR(Object, group_version=GROUP_VERSION, resource=cluster_scoped("servicecidrs", "status")):
    spec: ServiceCIDRSpec | None = None
    status: ServiceCIDRStatus | None = None

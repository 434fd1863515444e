"""Built-in types of discovery.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from typing import Annotated

from pykb.api.annotations import Int32, KnownValues, ListAtomic, ListSet, MapAtomic, NullIsEmpty, annotate
from pykb.api.core import v1 as core_v1
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, namespaced

GROUP_VERSION = GroupVersion("discovery.k8s.io", "v1")


class EndpointConditions(Struct):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ForNode(Struct):
    name: str


class ForZone(Struct):
    name: str


class EndpointHints(Struct):
    for_nodes: Annotated[list[ForNode] | None, ListAtomic()] = None
    for_zones: Annotated[list[ForZone] | None, ListAtomic()] = None


class Endpoint(Struct):
    addresses: Annotated[list[str], NullIsEmpty(), ListSet()]
    conditions: EndpointConditions | None = None
    deprecated_topology: dict[str, str] | None = None
    hints: EndpointHints | None = None
    hostname: str | None = None
    node_name: str | None = None
    target_ref: core_v1.ObjectReference | None = None
    zone: str | None = None


@annotate(MapAtomic())
class EndpointPort(Struct):
    app_protocol: str | None = None
    name: str | None = None
    port: Int32 | None = None
    protocol: Annotated[str | None, KnownValues(("SCTP", "TCP", "UDP"))] = None


class EndpointSlice(Object, group_version=GROUP_VERSION, resource=namespaced("endpointslices")):
    address_type: Annotated[str, KnownValues(("FQDN", "IPv4", "IPv6"))]
    endpoints: Annotated[list[Endpoint] | None, ListAtomic()] = None
    ports: Annotated[list[EndpointPort] | None, ListAtomic()] = None

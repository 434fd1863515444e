"""Built-in types of apiregistration.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import Int32, ListAtomic, ListMap, PatchStrategy, Wire
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped

GROUP_VERSION = GroupVersion("apiregistration.k8s.io", "v1")


class ServiceReference(Struct):
    name: str | None = None
    namespace: str | None = None
    port: Int32 | None = None


class APIServiceSpec(Struct):
    group_priority_minimum: Int32
    version_priority: Int32
    ca_bundle: Annotated[bytes | None, ListAtomic()] = None
    group: str | None = None
    insecure_skip_tls_verify: Annotated[bool | None, Wire("insecureSkipTLSVerify")] = None
    service: ServiceReference | None = None
    version: str | None = None


class APIServiceCondition(Struct):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class APIServiceStatus(Struct):
    conditions: Annotated[list[APIServiceCondition] | None, ListMap("type"), PatchStrategy("merge")] = None


class APIService(Object, group_version=GROUP_VERSION, resource=cluster_scoped("apiservices", "status")):
    spec: APIServiceSpec | None = None
    status: APIServiceStatus | None = None

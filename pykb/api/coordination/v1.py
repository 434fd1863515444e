"""Built-in types of coordination.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from pykb.api.annotations import Int32
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.api.time import MicroTime
from pykb.meta.gvk import GroupVersion, namespaced

GROUP_VERSION = GroupVersion("coordination.k8s.io", "v1")


class LeaseSpec(Struct):
    acquire_time: MicroTime | None = None
    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    lease_transitions: Int32 | None = None
    preferred_holder: str | None = None
    renew_time: MicroTime | None = None
    strategy: str | None = None


class Lease(Object, group_version=GROUP_VERSION, resource=namespaced("leases")):
    spec: LeaseSpec | None = None

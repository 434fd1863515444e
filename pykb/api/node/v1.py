"""Built-in types of node.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from typing import Annotated

from pykb.api.annotations import ListAtomic, MapAtomic
from pykb.api.core import v1 as core_v1
from pykb.api.object import Object
from pykb.api.quantity import Quantity
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped

GROUP_VERSION = GroupVersion("node.k8s.io", "v1")


class Overhead(Struct):
    pod_fixed: dict[str, Quantity] | None = None


class Scheduling(Struct):
    node_selector: Annotated[dict[str, str] | None, MapAtomic()] = None
    tolerations: Annotated[list[core_v1.Toleration] | None, ListAtomic()] = None


class RuntimeClass(Object, group_version=GROUP_VERSION, resource=cluster_scoped("runtimeclasses")):
    handler: str
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None

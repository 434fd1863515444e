"""Built-in types of scheduling.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from typing import Annotated

from pykb.api.annotations import Int32, KnownValues
from pykb.api.object import Object
from pykb.meta.gvk import GroupVersion, cluster_scoped

GROUP_VERSION = GroupVersion("scheduling.k8s.io", "v1")


class PriorityClass(Object, group_version=GROUP_VERSION, resource=cluster_scoped("priorityclasses")):
    description: str | None = None
    global_default: bool | None = None
    preemption_policy: Annotated[str | None, KnownValues(("Never", "PreemptLowerPriority"))] = None
    value: Int32 | None = None

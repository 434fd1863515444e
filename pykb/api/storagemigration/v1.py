"""Built-in types of storagemigration.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from typing import Annotated

from pykb.api.annotations import ListMap, PatchStrategy
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped

GROUP_VERSION = GroupVersion("storagemigration.k8s.io", "v1")


class StorageVersionMigrationSpec(Struct):
    resource: meta_v1.GroupResource


class StorageVersionMigrationStatus(Struct):
    conditions: Annotated[list[meta_v1.Condition] | None, ListMap("type"), PatchStrategy("merge")] = None
    resource_version: str | None = None


class StorageVersionMigration(
    Object, group_version=GROUP_VERSION, resource=cluster_scoped("storageversionmigrations", "status")
):
    spec: StorageVersionMigrationSpec | None = None
    status: StorageVersionMigrationStatus | None = None

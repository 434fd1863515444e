"""Built-in types of meta/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from pykb.api.annotations import (
    Int32,
    Int64,
    ListAtomic,
    ListMap,
    ListSet,
    MapAtomic,
    NullIsEmpty,
    PatchStrategy,
    RawExtension,
    SchemaOnly,
    annotate,
)
from pykb.api.struct import Struct


class APIResource(Struct):
    kind: str
    name: str
    namespaced: bool
    singular_name: str
    verbs: Annotated[list[str], NullIsEmpty()]
    categories: Annotated[list[str] | None, ListAtomic()] = None
    group: str | None = None
    short_names: Annotated[list[str] | None, ListAtomic()] = None
    storage_version_hash: str | None = None
    version: str | None = None


class APIResourceList(Struct):
    group_version: str
    resources: Annotated[list[APIResource], NullIsEmpty(), ListAtomic()]
    api_version: str | None = None
    kind: str | None = None


class Condition(Struct):
    last_transition_time: datetime
    message: Annotated[str, SchemaOnly(Field(max_length=32768))]
    reason: Annotated[
        str, SchemaOnly(Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))
    ]
    status: Literal["True", "False", "Unknown"]
    type: Annotated[
        str,
        SchemaOnly(
            Field(
                max_length=316,
                pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
            )
        ),
    ]
    observed_generation: Annotated[Int64 | None, SchemaOnly(Field(ge=0))] = None


class Preconditions(Struct):
    resource_version: str | None = None
    uid: str | None = None


class DeleteOptions(Struct):
    api_version: str | None = None
    dry_run: Annotated[list[str] | None, ListAtomic()] = None
    grace_period_seconds: Int64 | None = None
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None
    kind: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    propagation_policy: str | None = None


class FieldSelectorRequirement(Struct):
    key: str
    operator: str
    values: Annotated[list[str] | None, ListAtomic()] = None


class GroupResource(Struct):
    group: str
    resource: str


class LabelSelectorRequirement(Struct):
    key: str
    operator: str
    values: Annotated[list[str] | None, ListAtomic()] = None


@annotate(MapAtomic())
class LabelSelector(Struct):
    match_expressions: Annotated[list[LabelSelectorRequirement] | None, ListAtomic()] = None
    match_labels: dict[str, str] | None = None


class ShardInfo(Struct):
    selector: str


class ListMeta(Struct):
    continue_: str | None = None
    remaining_item_count: Int64 | None = None
    resource_version: str | None = None
    self_link: str | None = None
    shard_info: ShardInfo | None = None


class ManagedFieldsEntry(Struct):
    api_version: str | None = None
    fields_type: str | None = None
    fields_v1: dict[str, Any] | None = None
    manager: str | None = None
    operation: str | None = None
    subresource: str | None = None
    time: datetime | None = None


@annotate(MapAtomic())
class OwnerReference(Struct):
    api_version: str
    kind: str
    name: str
    uid: str
    block_owner_deletion: bool | None = None
    controller: bool | None = None


class ObjectMeta(Struct):
    annotations: dict[str, str] | None = None
    creation_timestamp: datetime | None = None
    deletion_grace_period_seconds: Int64 | None = None
    deletion_timestamp: datetime | None = None
    finalizers: Annotated[list[str] | None, ListSet(), PatchStrategy("merge")] = None
    generate_name: str | None = None
    generation: Int64 | None = None
    labels: dict[str, str] | None = None
    managed_fields: Annotated[list[ManagedFieldsEntry] | None, ListAtomic()] = None
    name: str | None = None
    namespace: str | None = None
    owner_references: Annotated[list[OwnerReference] | None, ListMap("uid"), PatchStrategy("merge")] = None
    resource_version: str | None = None
    self_link: str | None = None
    uid: str | None = None


class StatusCause(Struct):
    field: str | None = None
    message: str | None = None
    reason: str | None = None


class StatusDetails(Struct):
    causes: Annotated[list[StatusCause] | None, ListAtomic()] = None
    group: str | None = None
    kind: str | None = None
    name: str | None = None
    retry_after_seconds: Int32 | None = None
    uid: str | None = None


class Status(Struct):
    api_version: str | None = None
    code: Int32 | None = None
    details: StatusDetails | None = None
    kind: str | None = None
    message: str | None = None
    metadata: ListMeta | None = None
    reason: str | None = None
    status: str | None = None


class WatchEvent(Struct):
    object: RawExtension
    type: str

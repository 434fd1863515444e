# Made by `pykb import crd`; checksum: de595ca17f153e7f
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of storage.example.com/v1: Backup."""

from datetime import datetime
from typing import Annotated, Literal

from pykb.api import (
    Conversion,
    CustomResource,
    Field,
    Format,
    GroupVersion,
    Int32,
    ListMap,
    Quantity,
    ServerDefault,
    Struct,
    annotate,
)
from pykb.api.core.v1 import (
    ResourceRequirements,
    SecretKeySelector,
    Toleration,
)
from pykb.api.meta.v1 import Condition, LabelSelector

GROUP_VERSION = GroupVersion("storage.example.com", "v1")


class Retention(Struct):
    """How many are kept."""

    last: Annotated[Int32, Field(ge=1)] = 7
    max_age: Annotated[str | None, Format("duration")] = None


class Bucket(Struct):
    name: Annotated[str, Field(min_length=3, max_length=63, pattern="^[a-z0-9][a-z0-9.-]*$")]
    region: str = "eu-west-1"
    credentials_secret: SecretKeySelector | None = None


class BackupSpec(Struct):
    """What to copy, when and where to."""

    schedule: Annotated[str, Field(min_length=9, pattern=r"^(\S+\s+){4}\S+$")]
    """When to run"""

    suspend: bool = False
    retention: Annotated[Retention | None, ServerDefault({"last": 7})] = None
    bucket: Bucket

    selector: LabelSelector | None = None
    """Which volumes; all when it is empty."""

    resources: ResourceRequirements | None = None
    tolerations: list[Toleration] | None = None


class Volume(Struct):
    """One volume of the last run."""

    name: str
    size: Quantity
    phase: Literal["Pending", "Copying", "Done", "Failed"] = "Pending"


class BackupStatus(Struct):
    last_run: datetime | None = None
    volumes: Annotated[list[Volume] | None, ListMap("name")] = None
    conditions: Annotated[list[Condition] | None, ListMap("type")] = None


# +kubebuilder:storageversion
# +kubebuilder:subresource:status
# +kubebuilder:resource:shortName=bkp;bk,categories=all;storage
# +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=".spec.schedule"
# +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description=`Whether the last one, "full" or not, worked`,priority=1
# +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
# +kubebuilder:metadata:annotations="storage.example.com/docs=https://example.com/backups, part 2"
# +kubebuilder:metadata:labels="app.kubernetes.io/part-of=storage"
@annotate(
    Conversion(
        {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {
                    "service": {"namespace": "storage-system", "name": "backup-webhook", "path": "/convert"},
                },
            },
        },
    ),
)
class Backup(CustomResource, group_version=GROUP_VERSION):
    """A Backup copies volumes to a bucket, by a schedule."""

    spec: BackupSpec
    status: BackupStatus = Field(default_factory=BackupStatus)

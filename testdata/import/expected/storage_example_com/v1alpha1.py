# Made by `pykb import crd`; checksum: 073792e289170de9
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of storage.example.com/v1alpha1: Backup."""

from pykb.api import CustomResource, GroupVersion, Struct

GROUP_VERSION = GroupVersion("storage.example.com", "v1alpha1")


class BackupSpec(Struct):
    cron: str | None = None
    bucket_name: str | None = None


# +kubebuilder:unservedversion
# +kubebuilder:deprecatedversion:warning=`storage.example.com/v1alpha1 Backup is gone; use "v1"`
# +kubebuilder:resource:shortName=bkp;bk,categories=all;storage
class Backup(CustomResource, group_version=GROUP_VERSION):
    spec: BackupSpec | None = None

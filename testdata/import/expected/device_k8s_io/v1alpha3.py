# Made by `pykb import crd`; checksum: c4dbec9c15b8d9c1
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of device.k8s.io/v1alpha3: deviceClass."""

from typing import Annotated

from pykb.api import (
    CustomResource,
    Field,
    Format,
    GroupVersion,
    SchemaPatch,
    Struct,
    annotate,
)
from pykb.api.meta.v1 import ObjectMeta

GROUP_VERSION = GroupVersion("device.k8s.io", "v1alpha3")


class DeviceClassEnabled(Struct):
    pass


# +kubebuilder:resource:path=classes,singular=class,scope=Cluster
# +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, for tests only"
@annotate(
    SchemaPatch(
        {
            "required": ["metadata", "driver", "apiVersion", "kind"],
            "properties": {
                "apiVersion": {"enum": ["device.k8s.io/v1alpha3"]},
                "metadata": {"properties": {"name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 20}}},
            },
        },
    ),
)
class DeviceClass(CustomResource, group_version=GROUP_VERSION, kind="deviceClass"):
    # +required
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    driver: Annotated[str, Format("hostname")]
    parameters: dict[str, list[str]] | None = None
    enabled: DeviceClassEnabled | None = None

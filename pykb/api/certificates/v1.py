"""Built-in types of certificates.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.36.1; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import Int32, ListAtomic, ListMap
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, ResourceInfo

GROUP_VERSION = GroupVersion("certificates.k8s.io", "v1")


class CertificateSigningRequestSpec(Struct):
    request: bytes
    signer_name: str
    expiration_seconds: Int32 | None = None
    extra: dict[str, list[str]] | None = None
    groups: Annotated[list[str] | None, ListAtomic()] = None
    uid: str | None = None
    usages: Annotated[list[str] | None, ListAtomic()] = None
    username: str | None = None


class CertificateSigningRequestCondition(Struct):
    status: str
    type: str
    last_transition_time: datetime | None = None
    last_update_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class CertificateSigningRequestStatus(Struct):
    certificate: bytes | None = None
    conditions: Annotated[list[CertificateSigningRequestCondition] | None, ListMap("type")] = None


class CertificateSigningRequest(
    Object,
    group_version=GROUP_VERSION,
    resource=ResourceInfo("certificatesigningrequests", namespaced=False, subresources=("approval", "status")),
):
    spec: CertificateSigningRequestSpec
    status: CertificateSigningRequestStatus | None = None

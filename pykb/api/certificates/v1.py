"""Built-in types of certificates.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import Int32, ListAtomic, ListMap, PatchStrategy, Wire
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped, namespaced

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
    Object, group_version=GROUP_VERSION, resource=cluster_scoped("certificatesigningrequests", "approval", "status")
):
    spec: CertificateSigningRequestSpec
    status: CertificateSigningRequestStatus | None = None


class ClusterTrustBundleSpec(Struct):
    trust_bundle: str
    signer_name: str | None = None


class ClusterTrustBundle(Object, group_version=GROUP_VERSION, resource=cluster_scoped("clustertrustbundles")):
    spec: ClusterTrustBundleSpec


class PodCertificateRequestSpec(Struct):
    node_name: str
    node_uid: Annotated[str, Wire("nodeUID")]
    pod_name: str
    pod_uid: Annotated[str, Wire("podUID")]
    service_account_name: str
    service_account_uid: Annotated[str, Wire("serviceAccountUID")]
    signer_name: str
    stub_pkcs10_request: Annotated[bytes, Wire("stubPKCS10Request")]
    max_expiration_seconds: Int32 = 86400
    unverified_user_annotations: dict[str, str] | None = None


class PodCertificateRequestStatus(Struct):
    begin_refresh_at: datetime | None = None
    certificate_chain: str | None = None
    conditions: Annotated[list[meta_v1.Condition] | None, ListMap("type"), PatchStrategy("merge")] = None
    not_after: datetime | None = None
    not_before: datetime | None = None


class PodCertificateRequest(
    Object, group_version=GROUP_VERSION, resource=namespaced("podcertificaterequests", "status")
):
    spec: PodCertificateRequestSpec
    status: PodCertificateRequestStatus | None = None

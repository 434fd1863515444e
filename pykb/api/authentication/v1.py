"""Built-in types of authentication.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import Int64, ListAtomic
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped

GROUP_VERSION = GroupVersion("authentication.k8s.io", "v1")


class BoundObjectReference(Struct):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None


class UserInfo(Struct):
    extra: dict[str, list[str]] | None = None
    groups: Annotated[list[str] | None, ListAtomic()] = None
    uid: str | None = None
    username: str | None = None


class SelfSubjectReviewStatus(Struct):
    user_info: UserInfo | None = None


class SelfSubjectReview(Object, group_version=GROUP_VERSION, resource=cluster_scoped("selfsubjectreviews")):
    status: SelfSubjectReviewStatus | None = None


class TokenRequestSpec(Struct):
    attestations: dict[str, list[str]] | None = None
    audiences: Annotated[list[str] | None, ListAtomic()] = None
    bound_object_ref: BoundObjectReference | None = None
    expiration_seconds: Int64 | None = None


class TokenRequestStatus(Struct):
    expiration_timestamp: datetime | None = None
    token: str | None = None


class TokenRequest(Object, group_version=GROUP_VERSION):
    spec: TokenRequestSpec | None = None
    status: TokenRequestStatus | None = None


class TokenReviewSpec(Struct):
    token: str
    audiences: Annotated[list[str] | None, ListAtomic()] = None


class TokenReviewStatus(Struct):
    audiences: Annotated[list[str] | None, ListAtomic()] = None
    authenticated: bool | None = None
    error: str | None = None
    user: UserInfo | None = None


class TokenReview(Object, group_version=GROUP_VERSION, resource=cluster_scoped("tokenreviews")):
    spec: TokenReviewSpec
    status: TokenReviewStatus | None = None

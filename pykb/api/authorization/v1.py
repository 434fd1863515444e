"""Built-in types of authorization.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from typing import Annotated

from pykb.api.annotations import ListAtomic, NullIsEmpty, Wire
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped, namespaced

GROUP_VERSION = GroupVersion("authorization.k8s.io", "v1")


class FieldSelectorAttributes(Struct):
    raw_selector: str | None = None
    requirements: Annotated[list[meta_v1.FieldSelectorRequirement] | None, ListAtomic()] = None


class LabelSelectorAttributes(Struct):
    raw_selector: str | None = None
    requirements: Annotated[list[meta_v1.LabelSelectorRequirement] | None, ListAtomic()] = None


class NonResourceAttributes(Struct):
    path: str | None = None
    verb: str | None = None


class ResourceAttributes(Struct):
    field_selector: FieldSelectorAttributes | None = None
    group: str | None = None
    label_selector: LabelSelectorAttributes | None = None
    name: str | None = None
    namespace: str | None = None
    resource: str | None = None
    subresource: str | None = None
    verb: str | None = None
    version: str | None = None


class SubjectAccessReviewSpec(Struct):
    extra: dict[str, list[str]] | None = None
    groups: Annotated[list[str] | None, ListAtomic()] = None
    non_resource_attributes: NonResourceAttributes | None = None
    resource_attributes: ResourceAttributes | None = None
    uid: str | None = None
    user: str | None = None


class SubjectAccessReviewStatus(Struct):
    allowed: bool
    denied: bool | None = None
    evaluation_error: str | None = None
    reason: str | None = None


class LocalSubjectAccessReview(Object, group_version=GROUP_VERSION, resource=namespaced("localsubjectaccessreviews")):
    spec: SubjectAccessReviewSpec
    status: SubjectAccessReviewStatus | None = None


class NonResourceRule(Struct):
    verbs: Annotated[list[str], NullIsEmpty(), ListAtomic()]
    non_resource_urls: Annotated[list[str] | None, Wire("nonResourceURLs"), ListAtomic()] = None


class ResourceRule(Struct):
    verbs: Annotated[list[str], NullIsEmpty(), ListAtomic()]
    api_groups: Annotated[list[str] | None, ListAtomic()] = None
    resource_names: Annotated[list[str] | None, ListAtomic()] = None
    resources: Annotated[list[str] | None, ListAtomic()] = None


class SelfSubjectAccessReviewSpec(Struct):
    non_resource_attributes: NonResourceAttributes | None = None
    resource_attributes: ResourceAttributes | None = None


class SelfSubjectAccessReview(Object, group_version=GROUP_VERSION, resource=cluster_scoped("selfsubjectaccessreviews")):
    spec: SelfSubjectAccessReviewSpec
    status: SubjectAccessReviewStatus | None = None


class SelfSubjectRulesReviewSpec(Struct):
    namespace: str | None = None


class SubjectRulesReviewStatus(Struct):
    incomplete: bool
    non_resource_rules: Annotated[list[NonResourceRule], NullIsEmpty(), ListAtomic()]
    resource_rules: Annotated[list[ResourceRule], NullIsEmpty(), ListAtomic()]
    evaluation_error: str | None = None


class SelfSubjectRulesReview(Object, group_version=GROUP_VERSION, resource=cluster_scoped("selfsubjectrulesreviews")):
    spec: SelfSubjectRulesReviewSpec
    status: SubjectRulesReviewStatus | None = None


class SubjectAccessReview(Object, group_version=GROUP_VERSION, resource=cluster_scoped("subjectaccessreviews")):
    spec: SubjectAccessReviewSpec
    status: SubjectAccessReviewStatus | None = None

"""Built-in types of rbac.authorization.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from typing import Annotated

from pykb.api.annotations import ListAtomic, MapAtomic, NullIsEmpty, Wire, annotate
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped, namespaced

GROUP_VERSION = GroupVersion("rbac.authorization.k8s.io", "v1")


class AggregationRule(Struct):
    cluster_role_selectors: Annotated[list[meta_v1.LabelSelector] | None, ListAtomic()] = None


class PolicyRule(Struct):
    verbs: Annotated[list[str], NullIsEmpty(), ListAtomic()]
    api_groups: Annotated[list[str] | None, ListAtomic()] = None
    non_resource_urls: Annotated[list[str] | None, Wire("nonResourceURLs"), ListAtomic()] = None
    resource_names: Annotated[list[str] | None, ListAtomic()] = None
    resources: Annotated[list[str] | None, ListAtomic()] = None


class ClusterRole(Object, group_version=GROUP_VERSION, resource=cluster_scoped("clusterroles")):
    aggregation_rule: AggregationRule | None = None
    rules: Annotated[list[PolicyRule] | None, ListAtomic()] = None


@annotate(MapAtomic())
class RoleRef(Struct):
    kind: str
    name: str
    api_group: str | None = None


@annotate(MapAtomic())
class Subject(Struct):
    kind: str
    name: str
    api_group: str | None = None
    namespace: str | None = None


class ClusterRoleBinding(Object, group_version=GROUP_VERSION, resource=cluster_scoped("clusterrolebindings")):
    role_ref: RoleRef
    subjects: Annotated[list[Subject] | None, ListAtomic()] = None


class Role(Object, group_version=GROUP_VERSION, resource=namespaced("roles")):
    rules: Annotated[list[PolicyRule] | None, ListAtomic()] = None


class RoleBinding(Object, group_version=GROUP_VERSION, resource=namespaced("rolebindings")):
    role_ref: RoleRef
    subjects: Annotated[list[Subject] | None, ListAtomic()] = None

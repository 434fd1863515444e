"""Built-in types of flowcontrol.apiserver.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import Int32, ListAtomic, ListMap, ListSet, NullIsEmpty, PatchStrategy, SchemaRequired, Wire
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped

GROUP_VERSION = GroupVersion("flowcontrol.apiserver.k8s.io", "v1")


class ExemptPriorityLevelConfiguration(Struct):
    lendable_percent: Int32 | None = None
    nominal_concurrency_shares: Int32 | None = None


class FlowDistinguisherMethod(Struct):
    type: str


class NonResourcePolicyRule(Struct):
    non_resource_urls: Annotated[list[str], Wire("nonResourceURLs"), NullIsEmpty(), ListSet()]
    verbs: Annotated[list[str], NullIsEmpty(), ListSet()]


class ResourcePolicyRule(Struct):
    api_groups: Annotated[list[str], NullIsEmpty(), ListSet()]
    resources: Annotated[list[str], NullIsEmpty(), ListSet()]
    verbs: Annotated[list[str], NullIsEmpty(), ListSet()]
    cluster_scope: bool | None = None
    namespaces: Annotated[list[str] | None, ListSet()] = None


class GroupSubject(Struct):
    name: str


class ServiceAccountSubject(Struct):
    name: str
    namespace: str


class UserSubject(Struct):
    name: str


class Subject(Struct):
    kind: str
    group: GroupSubject | None = None
    service_account: ServiceAccountSubject | None = None
    user: UserSubject | None = None


class PolicyRulesWithSubjects(Struct):
    subjects: Annotated[list[Subject], NullIsEmpty(), ListAtomic()]
    non_resource_rules: Annotated[list[NonResourcePolicyRule] | None, ListAtomic()] = None
    resource_rules: Annotated[list[ResourcePolicyRule] | None, ListAtomic()] = None


class PriorityLevelConfigurationReference(Struct):
    name: str


class FlowSchemaSpec(Struct):
    priority_level_configuration: PriorityLevelConfigurationReference
    distinguisher_method: FlowDistinguisherMethod | None = None
    matching_precedence: Int32 | None = None
    rules: Annotated[list[PolicyRulesWithSubjects] | None, ListAtomic()] = None


class FlowSchemaCondition(Struct):
    type: Annotated[str | None, SchemaRequired()] = None
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str | None = None


class FlowSchemaStatus(Struct):
    conditions: Annotated[list[FlowSchemaCondition] | None, ListMap("type"), PatchStrategy("merge")] = None


class FlowSchema(Object, group_version=GROUP_VERSION, resource=cluster_scoped("flowschemas", "status")):
    spec: Annotated[FlowSchemaSpec | None, SchemaRequired()] = None
    status: FlowSchemaStatus | None = None


class QueuingConfiguration(Struct):
    hand_size: Int32 | None = None
    queue_length_limit: Int32 | None = None
    queues: Int32 | None = None


class LimitResponse(Struct):
    type: str
    queuing: QueuingConfiguration | None = None


class LimitedPriorityLevelConfiguration(Struct):
    limit_response: Annotated[LimitResponse | None, SchemaRequired()] = None
    borrowing_limit_percent: Int32 | None = None
    lendable_percent: Int32 | None = None
    nominal_concurrency_shares: Int32 | None = None


class PriorityLevelConfigurationSpec(Struct):
    type: str
    exempt: ExemptPriorityLevelConfiguration | None = None
    limited: LimitedPriorityLevelConfiguration | None = None


class PriorityLevelConfigurationCondition(Struct):
    type: Annotated[str | None, SchemaRequired()] = None
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None
    status: str | None = None


class PriorityLevelConfigurationStatus(Struct):
    conditions: Annotated[list[PriorityLevelConfigurationCondition] | None, ListMap("type"), PatchStrategy("merge")] = (
        None
    )


class PriorityLevelConfiguration(
    Object, group_version=GROUP_VERSION, resource=cluster_scoped("prioritylevelconfigurations", "status")
):
    spec: Annotated[PriorityLevelConfigurationSpec | None, SchemaRequired()] = None
    status: PriorityLevelConfigurationStatus | None = None

"""Built-in types of admissionregistration.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from typing import Annotated

from pykb.api.annotations import (
    Int32,
    Int64,
    KnownValues,
    ListAtomic,
    ListMap,
    ListSet,
    MapAtomic,
    NullIsEmpty,
    PatchStrategy,
    annotate,
)
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, cluster_scoped

GROUP_VERSION = GroupVersion("admissionregistration.k8s.io", "v1")


class ApplyConfiguration(Struct):
    expression: str | None = None


class AuditAnnotation(Struct):
    key: str
    value_expression: str


class ExpressionWarning(Struct):
    field_ref: str
    warning: str


class JSONPatch(Struct):
    expression: str | None = None


class MatchCondition(Struct):
    expression: str
    name: str


@annotate(MapAtomic())
class NamedRuleWithOperations(Struct):
    api_groups: Annotated[list[str] | None, ListAtomic()] = None
    api_versions: Annotated[list[str] | None, ListAtomic()] = None
    operations: Annotated[list[str] | None, ListAtomic()] = None
    resource_names: Annotated[list[str] | None, ListAtomic()] = None
    resources: Annotated[list[str] | None, ListAtomic()] = None
    scope: Annotated[str | None, KnownValues(("*", "Cluster", "Namespaced"))] = None


@annotate(MapAtomic())
class MatchResources(Struct):
    exclude_resource_rules: Annotated[list[NamedRuleWithOperations] | None, ListAtomic()] = None
    match_policy: Annotated[str | None, KnownValues(("Equivalent", "Exact"))] = None
    namespace_selector: meta_v1.LabelSelector | None = None
    object_selector: meta_v1.LabelSelector | None = None
    resource_rules: Annotated[list[NamedRuleWithOperations] | None, ListAtomic()] = None


class Mutation(Struct):
    patch_type: Annotated[str, KnownValues(("ApplyConfiguration", "JSONPatch"))]
    apply_configuration: ApplyConfiguration | None = None
    json_patch: JSONPatch | None = None


@annotate(MapAtomic())
class ParamKind(Struct):
    api_version: str | None = None
    kind: str | None = None


@annotate(MapAtomic())
class Variable(Struct):
    expression: str
    name: str


class MutatingAdmissionPolicySpec(Struct):
    failure_policy: Annotated[str | None, KnownValues(("Fail", "Ignore"))] = None
    match_conditions: Annotated[list[MatchCondition] | None, ListMap("name"), PatchStrategy("merge")] = None
    match_constraints: MatchResources | None = None
    mutations: Annotated[list[Mutation] | None, ListAtomic()] = None
    param_kind: ParamKind | None = None
    reinvocation_policy: Annotated[str | None, KnownValues(("IfNeeded", "Never"))] = None
    variables: Annotated[list[Variable] | None, ListAtomic()] = None


class MutatingAdmissionPolicy(
    Object, group_version=GROUP_VERSION, resource=cluster_scoped("mutatingadmissionpolicies")
):
    spec: MutatingAdmissionPolicySpec | None = None


@annotate(MapAtomic())
class ParamRef(Struct):
    name: str | None = None
    namespace: str | None = None
    parameter_not_found_action: str | None = None
    selector: meta_v1.LabelSelector | None = None


class MutatingAdmissionPolicyBindingSpec(Struct):
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None
    policy_name: str | None = None


class MutatingAdmissionPolicyBinding(
    Object, group_version=GROUP_VERSION, resource=cluster_scoped("mutatingadmissionpolicybindings")
):
    spec: MutatingAdmissionPolicyBindingSpec | None = None


class RuleWithOperations(Struct):
    api_groups: Annotated[list[str] | None, ListAtomic()] = None
    api_versions: Annotated[list[str] | None, ListAtomic()] = None
    operations: Annotated[list[str] | None, ListAtomic()] = None
    resources: Annotated[list[str] | None, ListAtomic()] = None
    scope: Annotated[str | None, KnownValues(("*", "Cluster", "Namespaced"))] = None


class ServiceReference(Struct):
    name: str
    namespace: str
    path: str | None = None
    port: Int32 | None = None


class WebhookClientConfig(Struct):
    ca_bundle: bytes | None = None
    service: ServiceReference | None = None
    url: str | None = None


class MutatingWebhook(Struct):
    admission_review_versions: Annotated[list[str], NullIsEmpty(), ListAtomic()]
    client_config: WebhookClientConfig
    name: str
    side_effects: Annotated[str, KnownValues(("None", "NoneOnDryRun", "Some", "Unknown"))]
    failure_policy: Annotated[str | None, KnownValues(("Fail", "Ignore"))] = None
    match_conditions: Annotated[list[MatchCondition] | None, ListMap("name"), PatchStrategy("merge")] = None
    match_policy: Annotated[str | None, KnownValues(("Equivalent", "Exact"))] = None
    namespace_selector: meta_v1.LabelSelector | None = None
    object_selector: meta_v1.LabelSelector | None = None
    reinvocation_policy: Annotated[str | None, KnownValues(("IfNeeded", "Never"))] = None
    rules: Annotated[list[RuleWithOperations] | None, ListAtomic()] = None
    timeout_seconds: Int32 | None = None


class MutatingWebhookConfiguration(
    Object, group_version=GROUP_VERSION, resource=cluster_scoped("mutatingwebhookconfigurations")
):
    webhooks: Annotated[list[MutatingWebhook] | None, ListMap("name"), PatchStrategy("merge")] = None


class TypeChecking(Struct):
    expression_warnings: Annotated[list[ExpressionWarning] | None, ListAtomic()] = None


class Validation(Struct):
    expression: str
    message: str | None = None
    message_expression: str | None = None
    reason: str | None = None


class ValidatingAdmissionPolicySpec(Struct):
    audit_annotations: Annotated[list[AuditAnnotation] | None, ListAtomic()] = None
    failure_policy: Annotated[str | None, KnownValues(("Fail", "Ignore"))] = None
    match_conditions: Annotated[list[MatchCondition] | None, ListMap("name"), PatchStrategy("merge")] = None
    match_constraints: MatchResources | None = None
    param_kind: ParamKind | None = None
    validations: Annotated[list[Validation] | None, ListAtomic()] = None
    variables: Annotated[list[Variable] | None, ListMap("name"), PatchStrategy("merge")] = None


class ValidatingAdmissionPolicyStatus(Struct):
    conditions: Annotated[list[meta_v1.Condition] | None, ListMap("type")] = None
    observed_generation: Int64 | None = None
    type_checking: TypeChecking | None = None


class ValidatingAdmissionPolicy(
    Object, group_version=GROUP_VERSION, resource=cluster_scoped("validatingadmissionpolicies", "status")
):
    spec: ValidatingAdmissionPolicySpec | None = None
    status: ValidatingAdmissionPolicyStatus | None = None


class ValidatingAdmissionPolicyBindingSpec(Struct):
    policy_name: str
    validation_actions: Annotated[list[str], NullIsEmpty(), ListSet()]
    match_resources: MatchResources | None = None
    param_ref: ParamRef | None = None


class ValidatingAdmissionPolicyBinding(
    Object, group_version=GROUP_VERSION, resource=cluster_scoped("validatingadmissionpolicybindings")
):
    spec: ValidatingAdmissionPolicyBindingSpec


class ValidatingWebhook(Struct):
    admission_review_versions: Annotated[list[str], NullIsEmpty(), ListAtomic()]
    client_config: WebhookClientConfig
    name: str
    side_effects: Annotated[str, KnownValues(("None", "NoneOnDryRun", "Some", "Unknown"))]
    failure_policy: Annotated[str | None, KnownValues(("Fail", "Ignore"))] = None
    match_conditions: Annotated[list[MatchCondition] | None, ListMap("name"), PatchStrategy("merge")] = None
    match_policy: Annotated[str | None, KnownValues(("Equivalent", "Exact"))] = None
    namespace_selector: meta_v1.LabelSelector | None = None
    object_selector: meta_v1.LabelSelector | None = None
    rules: Annotated[list[RuleWithOperations] | None, ListAtomic()] = None
    timeout_seconds: Int32 | None = None


class ValidatingWebhookConfiguration(
    Object, group_version=GROUP_VERSION, resource=cluster_scoped("validatingwebhookconfigurations")
):
    webhooks: Annotated[list[ValidatingWebhook] | None, ListMap("name"), PatchStrategy("merge")] = None

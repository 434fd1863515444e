"""Built-in types of batch/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pydantic import Field

from pykb.api.annotations import (
    Int32,
    Int64,
    KnownValues,
    ListAtomic,
    ListMap,
    ListSet,
    NullIsEmpty,
    PatchStrategy,
    SchemaOnly,
    SchemaPatch,
)
from pykb.api.core import v1 as core_v1
from pykb.api.meta import v1 as meta_v1
from pykb.api.object import Object
from pykb.api.scheduling import v1alpha3 as scheduling_v1alpha3
from pykb.api.struct import Struct
from pykb.meta.gvk import GroupVersion, namespaced

GROUP_VERSION = GroupVersion("batch", "v1")


class JobSchedulingConfiguration(Struct):
    disruption_mode: Annotated[
        scheduling_v1alpha3.WorkloadPodGroupDisruptionMode | None,
        SchemaPatch({"x-kubernetes-validations": [{"message": "field is immutable", "rule": "self == oldSelf"}]}),
    ] = None
    resource_claims: Annotated[
        list[scheduling_v1alpha3.WorkloadPodGroupResourceClaim] | None,
        ListMap("name"),
        PatchStrategy("merge"),
        SchemaOnly(Field(max_length=4)),
        SchemaPatch({"x-kubernetes-validations": [{"message": "field is immutable", "rule": "self == oldSelf"}]}),
    ] = None
    scheduling_constraints: Annotated[
        scheduling_v1alpha3.WorkloadPodGroupSchedulingConstraints | None,
        SchemaPatch({"x-kubernetes-validations": [{"message": "field is immutable", "rule": "self == oldSelf"}]}),
    ] = None
    scheduling_policy: scheduling_v1alpha3.WorkloadPodGroupSchedulingPolicy | None = None


class PodFailurePolicyOnExitCodesRequirement(Struct):
    operator: Annotated[str, KnownValues(("In", "NotIn"))]
    values: Annotated[list[Int32], NullIsEmpty(), ListSet()]
    container_name: str | None = None


class PodFailurePolicyOnPodConditionsPattern(Struct):
    type: str
    status: str | None = None


class PodFailurePolicyRule(Struct):
    action: Annotated[str, KnownValues(("Count", "FailIndex", "FailJob", "Ignore"))]
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = None
    on_pod_conditions: Annotated[list[PodFailurePolicyOnPodConditionsPattern] | None, ListAtomic()] = None


class PodFailurePolicy(Struct):
    rules: Annotated[list[PodFailurePolicyRule], NullIsEmpty(), ListAtomic()]


class SuccessPolicyRule(Struct):
    succeeded_count: Int32 | None = None
    succeeded_indexes: str | None = None


class SuccessPolicy(Struct):
    rules: Annotated[list[SuccessPolicyRule], NullIsEmpty(), ListAtomic()]


class JobSpec(Struct):
    template: core_v1.PodTemplateSpec
    active_deadline_seconds: Int64 | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    completion_mode: Annotated[str | None, KnownValues(("Indexed", "NonIndexed"))] = None
    completions: Int32 | None = None
    managed_by: str | None = None
    manual_selector: bool | None = None
    max_failed_indexes: Int32 | None = None
    parallelism: Int32 | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    pod_replacement_policy: Annotated[str | None, KnownValues(("Failed", "TerminatingOrFailed"))] = None
    scheduling: Annotated[
        JobSchedulingConfiguration | None,
        SchemaPatch(
            {
                "x-kubernetes-validations": [
                    {
                        "message": "field schedulingConstraints is immutable once set",
                        "rule": "!has(oldSelf.schedulingConstraints) || has(self.schedulingConstraints)",
                    },
                    {
                        "message": "field disruptionMode is immutable once set",
                        "rule": "!has(oldSelf.disruptionMode) || has(self.disruptionMode)",
                    },
                    {
                        "message": "field resourceClaims is immutable once set",
                        "rule": "!has(oldSelf.resourceClaims) || has(self.resourceClaims)",
                    },
                ]
            }
        ),
    ] = None
    selector: meta_v1.LabelSelector | None = None
    success_policy: SuccessPolicy | None = None
    suspend: bool | None = None
    ttl_seconds_after_finished: Int32 | None = None


class JobTemplateSpec(Struct):
    metadata: meta_v1.ObjectMeta | None = None
    spec: JobSpec | None = None


class CronJobSpec(Struct):
    job_template: JobTemplateSpec
    schedule: str
    concurrency_policy: Annotated[str | None, KnownValues(("Allow", "Forbid", "Replace"))] = None
    failed_jobs_history_limit: Int32 | None = None
    starting_deadline_seconds: Int64 | None = None
    successful_jobs_history_limit: Int32 | None = None
    suspend: bool | None = None
    time_zone: str | None = None


class CronJobStatus(Struct):
    active: Annotated[list[core_v1.ObjectReference] | None, ListAtomic()] = None
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class CronJob(Object, group_version=GROUP_VERSION, resource=namespaced("cronjobs", "status")):
    spec: CronJobSpec
    status: CronJobStatus | None = None


class JobCondition(Struct):
    status: str
    type: str
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class UncountedTerminatedPods(Struct):
    failed: Annotated[list[str] | None, ListSet()] = None
    succeeded: Annotated[list[str] | None, ListSet()] = None


class JobStatus(Struct):
    active: Int32 | None = None
    completed_indexes: str | None = None
    completion_time: datetime | None = None
    conditions: Annotated[list[JobCondition] | None, ListAtomic(), PatchStrategy("merge", "type")] = None
    failed: Int32 | None = None
    failed_indexes: str | None = None
    ready: Int32 | None = None
    start_time: datetime | None = None
    succeeded: Int32 | None = None
    terminating: Int32 | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None


class Job(Object, group_version=GROUP_VERSION, resource=namespaced("jobs", "status")):
    spec: JobSpec | None = None
    status: JobStatus | None = None

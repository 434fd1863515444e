"""Every built-in type that is no part of another one, so that all of them are expanded."""

from typing import Annotated

from pykb.api import CustomResource, GroupVersion, Struct, Wire
from pykb.api.admissionregistration import v1 as admissionregistrationv1
from pykb.api.apps import v1 as appsv1
from pykb.api.authentication import v1 as authenticationv1
from pykb.api.authorization import v1 as authorizationv1
from pykb.api.autoscaling import v1 as autoscalingv1
from pykb.api.autoscaling import v2 as autoscalingv2
from pykb.api.batch import v1 as batchv1
from pykb.api.certificates import v1 as certificatesv1
from pykb.api.coordination import v1 as coordinationv1
from pykb.api.core import v1 as corev1
from pykb.api.discovery import v1 as discoveryv1
from pykb.api.events import v1 as eventsv1
from pykb.api.flowcontrol import v1 as flowcontrolv1
from pykb.api.meta import v1 as metav1
from pykb.api.networking import v1 as networkingv1
from pykb.api.node import v1 as nodev1
from pykb.api.policy import v1 as policyv1
from pykb.api.rbac import v1 as rbacv1
from pykb.api.resource import v1 as resourcev1
from pykb.api.storage import v1 as storagev1
from pykb.api.storagemigration import v1 as storagemigrationv1

GROUP_VERSION = GroupVersion("builtin.example.com", "v1")


class EverythingSpec(Struct):
    admissionregistration_v1_mutatingadmissionpolicyspec: Annotated[
        admissionregistrationv1.MutatingAdmissionPolicySpec,
        Wire("admissionregistration_v1_MutatingAdmissionPolicySpec"),
    ]
    admissionregistration_v1_mutatingadmissionpolicybindingspec: Annotated[
        admissionregistrationv1.MutatingAdmissionPolicyBindingSpec,
        Wire("admissionregistration_v1_MutatingAdmissionPolicyBindingSpec"),
    ]
    admissionregistration_v1_mutatingwebhook: Annotated[
        admissionregistrationv1.MutatingWebhook, Wire("admissionregistration_v1_MutatingWebhook")
    ]
    admissionregistration_v1_validatingadmissionpolicyspec: Annotated[
        admissionregistrationv1.ValidatingAdmissionPolicySpec,
        Wire("admissionregistration_v1_ValidatingAdmissionPolicySpec"),
    ]
    admissionregistration_v1_validatingadmissionpolicystatus: Annotated[
        admissionregistrationv1.ValidatingAdmissionPolicyStatus,
        Wire("admissionregistration_v1_ValidatingAdmissionPolicyStatus"),
    ]
    admissionregistration_v1_validatingadmissionpolicybindingspec: Annotated[
        admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec,
        Wire("admissionregistration_v1_ValidatingAdmissionPolicyBindingSpec"),
    ]
    admissionregistration_v1_validatingwebhook: Annotated[
        admissionregistrationv1.ValidatingWebhook, Wire("admissionregistration_v1_ValidatingWebhook")
    ]
    apps_v1_daemonsetspec: Annotated[appsv1.DaemonSetSpec, Wire("apps_v1_DaemonSetSpec")]
    apps_v1_daemonsetstatus: Annotated[appsv1.DaemonSetStatus, Wire("apps_v1_DaemonSetStatus")]
    apps_v1_deploymentspec: Annotated[appsv1.DeploymentSpec, Wire("apps_v1_DeploymentSpec")]
    apps_v1_deploymentstatus: Annotated[appsv1.DeploymentStatus, Wire("apps_v1_DeploymentStatus")]
    apps_v1_replicasetspec: Annotated[appsv1.ReplicaSetSpec, Wire("apps_v1_ReplicaSetSpec")]
    apps_v1_replicasetstatus: Annotated[appsv1.ReplicaSetStatus, Wire("apps_v1_ReplicaSetStatus")]
    apps_v1_statefulsetspec: Annotated[appsv1.StatefulSetSpec, Wire("apps_v1_StatefulSetSpec")]
    apps_v1_statefulsetstatus: Annotated[appsv1.StatefulSetStatus, Wire("apps_v1_StatefulSetStatus")]
    authentication_v1_selfsubjectreviewstatus: Annotated[
        authenticationv1.SelfSubjectReviewStatus, Wire("authentication_v1_SelfSubjectReviewStatus")
    ]
    authentication_v1_tokenrequestspec: Annotated[
        authenticationv1.TokenRequestSpec, Wire("authentication_v1_TokenRequestSpec")
    ]
    authentication_v1_tokenrequeststatus: Annotated[
        authenticationv1.TokenRequestStatus, Wire("authentication_v1_TokenRequestStatus")
    ]
    authentication_v1_tokenreviewspec: Annotated[
        authenticationv1.TokenReviewSpec, Wire("authentication_v1_TokenReviewSpec")
    ]
    authentication_v1_tokenreviewstatus: Annotated[
        authenticationv1.TokenReviewStatus, Wire("authentication_v1_TokenReviewStatus")
    ]
    authorization_v1_subjectaccessreviewspec: Annotated[
        authorizationv1.SubjectAccessReviewSpec, Wire("authorization_v1_SubjectAccessReviewSpec")
    ]
    authorization_v1_subjectaccessreviewstatus: Annotated[
        authorizationv1.SubjectAccessReviewStatus, Wire("authorization_v1_SubjectAccessReviewStatus")
    ]
    authorization_v1_selfsubjectaccessreviewspec: Annotated[
        authorizationv1.SelfSubjectAccessReviewSpec, Wire("authorization_v1_SelfSubjectAccessReviewSpec")
    ]
    authorization_v1_selfsubjectrulesreviewspec: Annotated[
        authorizationv1.SelfSubjectRulesReviewSpec, Wire("authorization_v1_SelfSubjectRulesReviewSpec")
    ]
    authorization_v1_subjectrulesreviewstatus: Annotated[
        authorizationv1.SubjectRulesReviewStatus, Wire("authorization_v1_SubjectRulesReviewStatus")
    ]
    autoscaling_v1_horizontalpodautoscalerspec: Annotated[
        autoscalingv1.HorizontalPodAutoscalerSpec, Wire("autoscaling_v1_HorizontalPodAutoscalerSpec")
    ]
    autoscaling_v1_horizontalpodautoscalerstatus: Annotated[
        autoscalingv1.HorizontalPodAutoscalerStatus, Wire("autoscaling_v1_HorizontalPodAutoscalerStatus")
    ]
    autoscaling_v1_scalespec: Annotated[autoscalingv1.ScaleSpec, Wire("autoscaling_v1_ScaleSpec")]
    autoscaling_v1_scalestatus: Annotated[autoscalingv1.ScaleStatus, Wire("autoscaling_v1_ScaleStatus")]
    autoscaling_v2_horizontalpodautoscalerspec: Annotated[
        autoscalingv2.HorizontalPodAutoscalerSpec, Wire("autoscaling_v2_HorizontalPodAutoscalerSpec")
    ]
    autoscaling_v2_horizontalpodautoscalerstatus: Annotated[
        autoscalingv2.HorizontalPodAutoscalerStatus, Wire("autoscaling_v2_HorizontalPodAutoscalerStatus")
    ]
    batch_v1_cronjobspec: Annotated[batchv1.CronJobSpec, Wire("batch_v1_CronJobSpec")]
    batch_v1_cronjobstatus: Annotated[batchv1.CronJobStatus, Wire("batch_v1_CronJobStatus")]
    batch_v1_jobstatus: Annotated[batchv1.JobStatus, Wire("batch_v1_JobStatus")]
    certificates_v1_certificatesigningrequestspec: Annotated[
        certificatesv1.CertificateSigningRequestSpec, Wire("certificates_v1_CertificateSigningRequestSpec")
    ]
    certificates_v1_certificatesigningrequeststatus: Annotated[
        certificatesv1.CertificateSigningRequestStatus, Wire("certificates_v1_CertificateSigningRequestStatus")
    ]
    coordination_v1_leasespec: Annotated[coordinationv1.LeaseSpec, Wire("coordination_v1_LeaseSpec")]
    core_v1_componentcondition: Annotated[corev1.ComponentCondition, Wire("core_v1_ComponentCondition")]
    core_v1_endpointsubset: Annotated[corev1.EndpointSubset, Wire("core_v1_EndpointSubset")]
    core_v1_eventseries: Annotated[corev1.EventSeries, Wire("core_v1_EventSeries")]
    core_v1_eventsource: Annotated[corev1.EventSource, Wire("core_v1_EventSource")]
    core_v1_limitrangespec: Annotated[corev1.LimitRangeSpec, Wire("core_v1_LimitRangeSpec")]
    core_v1_namespacespec: Annotated[corev1.NamespaceSpec, Wire("core_v1_NamespaceSpec")]
    core_v1_namespacestatus: Annotated[corev1.NamespaceStatus, Wire("core_v1_NamespaceStatus")]
    core_v1_nodespec: Annotated[corev1.NodeSpec, Wire("core_v1_NodeSpec")]
    core_v1_nodestatus: Annotated[corev1.NodeStatus, Wire("core_v1_NodeStatus")]
    core_v1_persistentvolumestatus: Annotated[corev1.PersistentVolumeStatus, Wire("core_v1_PersistentVolumeStatus")]
    core_v1_persistentvolumeclaimstatus: Annotated[
        corev1.PersistentVolumeClaimStatus, Wire("core_v1_PersistentVolumeClaimStatus")
    ]
    core_v1_podstatus: Annotated[corev1.PodStatus, Wire("core_v1_PodStatus")]
    core_v1_replicationcontrollerspec: Annotated[
        corev1.ReplicationControllerSpec, Wire("core_v1_ReplicationControllerSpec")
    ]
    core_v1_replicationcontrollerstatus: Annotated[
        corev1.ReplicationControllerStatus, Wire("core_v1_ReplicationControllerStatus")
    ]
    core_v1_resourcequotaspec: Annotated[corev1.ResourceQuotaSpec, Wire("core_v1_ResourceQuotaSpec")]
    core_v1_resourcequotastatus: Annotated[corev1.ResourceQuotaStatus, Wire("core_v1_ResourceQuotaStatus")]
    core_v1_servicespec: Annotated[corev1.ServiceSpec, Wire("core_v1_ServiceSpec")]
    core_v1_servicestatus: Annotated[corev1.ServiceStatus, Wire("core_v1_ServiceStatus")]
    core_v1_topologyselectorterm: Annotated[corev1.TopologySelectorTerm, Wire("core_v1_TopologySelectorTerm")]
    discovery_v1_endpoint: Annotated[discoveryv1.Endpoint, Wire("discovery_v1_Endpoint")]
    discovery_v1_endpointport: Annotated[discoveryv1.EndpointPort, Wire("discovery_v1_EndpointPort")]
    events_v1_eventseries: Annotated[eventsv1.EventSeries, Wire("events_v1_EventSeries")]
    flowcontrol_v1_flowschemaspec: Annotated[flowcontrolv1.FlowSchemaSpec, Wire("flowcontrol_v1_FlowSchemaSpec")]
    flowcontrol_v1_flowschemastatus: Annotated[flowcontrolv1.FlowSchemaStatus, Wire("flowcontrol_v1_FlowSchemaStatus")]
    flowcontrol_v1_prioritylevelconfigurationspec: Annotated[
        flowcontrolv1.PriorityLevelConfigurationSpec, Wire("flowcontrol_v1_PriorityLevelConfigurationSpec")
    ]
    flowcontrol_v1_prioritylevelconfigurationstatus: Annotated[
        flowcontrolv1.PriorityLevelConfigurationStatus, Wire("flowcontrol_v1_PriorityLevelConfigurationStatus")
    ]
    meta_v1_apiresourcelist: Annotated[metav1.APIResourceList, Wire("meta_v1_APIResourceList")]
    meta_v1_deleteoptions: Annotated[metav1.DeleteOptions, Wire("meta_v1_DeleteOptions")]
    meta_v1_status: Annotated[metav1.Status, Wire("meta_v1_Status")]
    networking_v1_ipaddressspec: Annotated[networkingv1.IPAddressSpec, Wire("networking_v1_IPAddressSpec")]
    networking_v1_ingressspec: Annotated[networkingv1.IngressSpec, Wire("networking_v1_IngressSpec")]
    networking_v1_ingressstatus: Annotated[networkingv1.IngressStatus, Wire("networking_v1_IngressStatus")]
    networking_v1_ingressclassspec: Annotated[networkingv1.IngressClassSpec, Wire("networking_v1_IngressClassSpec")]
    networking_v1_networkpolicyspec: Annotated[networkingv1.NetworkPolicySpec, Wire("networking_v1_NetworkPolicySpec")]
    networking_v1_servicecidrspec: Annotated[networkingv1.ServiceCIDRSpec, Wire("networking_v1_ServiceCIDRSpec")]
    networking_v1_servicecidrstatus: Annotated[networkingv1.ServiceCIDRStatus, Wire("networking_v1_ServiceCIDRStatus")]
    node_v1_overhead: Annotated[nodev1.Overhead, Wire("node_v1_Overhead")]
    node_v1_scheduling: Annotated[nodev1.Scheduling, Wire("node_v1_Scheduling")]
    policy_v1_poddisruptionbudgetspec: Annotated[
        policyv1.PodDisruptionBudgetSpec, Wire("policy_v1_PodDisruptionBudgetSpec")
    ]
    policy_v1_poddisruptionbudgetstatus: Annotated[
        policyv1.PodDisruptionBudgetStatus, Wire("policy_v1_PodDisruptionBudgetStatus")
    ]
    rbac_v1_aggregationrule: Annotated[rbacv1.AggregationRule, Wire("rbac_v1_AggregationRule")]
    rbac_v1_policyrule: Annotated[rbacv1.PolicyRule, Wire("rbac_v1_PolicyRule")]
    rbac_v1_roleref: Annotated[rbacv1.RoleRef, Wire("rbac_v1_RoleRef")]
    rbac_v1_subject: Annotated[rbacv1.Subject, Wire("rbac_v1_Subject")]
    resource_v1_deviceclassspec: Annotated[resourcev1.DeviceClassSpec, Wire("resource_v1_DeviceClassSpec")]
    resource_v1_resourceclaimstatus: Annotated[resourcev1.ResourceClaimStatus, Wire("resource_v1_ResourceClaimStatus")]
    resource_v1_resourceclaimtemplatespec: Annotated[
        resourcev1.ResourceClaimTemplateSpec, Wire("resource_v1_ResourceClaimTemplateSpec")
    ]
    resource_v1_resourceslicespec: Annotated[resourcev1.ResourceSliceSpec, Wire("resource_v1_ResourceSliceSpec")]
    storage_v1_csidriverspec: Annotated[storagev1.CSIDriverSpec, Wire("storage_v1_CSIDriverSpec")]
    storage_v1_csinodespec: Annotated[storagev1.CSINodeSpec, Wire("storage_v1_CSINodeSpec")]
    storage_v1_volumeattachmentspec: Annotated[storagev1.VolumeAttachmentSpec, Wire("storage_v1_VolumeAttachmentSpec")]
    storage_v1_volumeattachmentstatus: Annotated[
        storagev1.VolumeAttachmentStatus, Wire("storage_v1_VolumeAttachmentStatus")
    ]
    certificates_v1_clustertrustbundlespec: Annotated[
        certificatesv1.ClusterTrustBundleSpec, Wire("certificates_v1_ClusterTrustBundleSpec")
    ]
    certificates_v1_podcertificaterequestspec: Annotated[
        certificatesv1.PodCertificateRequestSpec, Wire("certificates_v1_PodCertificateRequestSpec")
    ]
    certificates_v1_podcertificaterequeststatus: Annotated[
        certificatesv1.PodCertificateRequestStatus, Wire("certificates_v1_PodCertificateRequestStatus")
    ]
    resource_v1_devicetaintrulespec: Annotated[resourcev1.DeviceTaintRuleSpec, Wire("resource_v1_DeviceTaintRuleSpec")]
    resource_v1_devicetaintrulestatus: Annotated[
        resourcev1.DeviceTaintRuleStatus, Wire("resource_v1_DeviceTaintRuleStatus")
    ]
    storage_v1_csinodestatus: Annotated[storagev1.CSINodeStatus, Wire("storage_v1_CSINodeStatus")]
    storagemigration_v1_storageversionmigrationspec: Annotated[
        storagemigrationv1.StorageVersionMigrationSpec, Wire("storagemigration_v1_StorageVersionMigrationSpec")
    ]
    storagemigration_v1_storageversionmigrationstatus: Annotated[
        storagemigrationv1.StorageVersionMigrationStatus, Wire("storagemigration_v1_StorageVersionMigrationStatus")
    ]


class Everything(CustomResource, group_version=GROUP_VERSION):
    spec: EverythingSpec

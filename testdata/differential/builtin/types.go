// Every built-in type that is no part of another one, so that all of them are expanded.
//
// +groupName=builtin.example.com
// +versionName=v1
package builtin

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
type Everything struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              EverythingSpec `json:"spec"`
}
type EverythingSpec struct {
	AdmissionregistrationV1MutatingAdmissionPolicySpec          admissionregistrationv1.MutatingAdmissionPolicySpec          `json:"admissionregistration_v1_MutatingAdmissionPolicySpec"`
	AdmissionregistrationV1MutatingAdmissionPolicyBindingSpec   admissionregistrationv1.MutatingAdmissionPolicyBindingSpec   `json:"admissionregistration_v1_MutatingAdmissionPolicyBindingSpec"`
	AdmissionregistrationV1MutatingWebhook                      admissionregistrationv1.MutatingWebhook                      `json:"admissionregistration_v1_MutatingWebhook"`
	AdmissionregistrationV1ValidatingAdmissionPolicySpec        admissionregistrationv1.ValidatingAdmissionPolicySpec        `json:"admissionregistration_v1_ValidatingAdmissionPolicySpec"`
	AdmissionregistrationV1ValidatingAdmissionPolicyStatus      admissionregistrationv1.ValidatingAdmissionPolicyStatus      `json:"admissionregistration_v1_ValidatingAdmissionPolicyStatus"`
	AdmissionregistrationV1ValidatingAdmissionPolicyBindingSpec admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec `json:"admissionregistration_v1_ValidatingAdmissionPolicyBindingSpec"`
	AdmissionregistrationV1ValidatingWebhook                    admissionregistrationv1.ValidatingWebhook                    `json:"admissionregistration_v1_ValidatingWebhook"`
	AppsV1DaemonSetSpec                                         appsv1.DaemonSetSpec                                         `json:"apps_v1_DaemonSetSpec"`
	AppsV1DaemonSetStatus                                       appsv1.DaemonSetStatus                                       `json:"apps_v1_DaemonSetStatus"`
	AppsV1DeploymentSpec                                        appsv1.DeploymentSpec                                        `json:"apps_v1_DeploymentSpec"`
	AppsV1DeploymentStatus                                      appsv1.DeploymentStatus                                      `json:"apps_v1_DeploymentStatus"`
	AppsV1ReplicaSetSpec                                        appsv1.ReplicaSetSpec                                        `json:"apps_v1_ReplicaSetSpec"`
	AppsV1ReplicaSetStatus                                      appsv1.ReplicaSetStatus                                      `json:"apps_v1_ReplicaSetStatus"`
	AppsV1StatefulSetSpec                                       appsv1.StatefulSetSpec                                       `json:"apps_v1_StatefulSetSpec"`
	AppsV1StatefulSetStatus                                     appsv1.StatefulSetStatus                                     `json:"apps_v1_StatefulSetStatus"`
	AuthenticationV1SelfSubjectReviewStatus                     authenticationv1.SelfSubjectReviewStatus                     `json:"authentication_v1_SelfSubjectReviewStatus"`
	AuthenticationV1TokenRequestSpec                            authenticationv1.TokenRequestSpec                            `json:"authentication_v1_TokenRequestSpec"`
	AuthenticationV1TokenRequestStatus                          authenticationv1.TokenRequestStatus                          `json:"authentication_v1_TokenRequestStatus"`
	AuthenticationV1TokenReviewSpec                             authenticationv1.TokenReviewSpec                             `json:"authentication_v1_TokenReviewSpec"`
	AuthenticationV1TokenReviewStatus                           authenticationv1.TokenReviewStatus                           `json:"authentication_v1_TokenReviewStatus"`
	AuthorizationV1SubjectAccessReviewSpec                      authorizationv1.SubjectAccessReviewSpec                      `json:"authorization_v1_SubjectAccessReviewSpec"`
	AuthorizationV1SubjectAccessReviewStatus                    authorizationv1.SubjectAccessReviewStatus                    `json:"authorization_v1_SubjectAccessReviewStatus"`
	AuthorizationV1SelfSubjectAccessReviewSpec                  authorizationv1.SelfSubjectAccessReviewSpec                  `json:"authorization_v1_SelfSubjectAccessReviewSpec"`
	AuthorizationV1SelfSubjectRulesReviewSpec                   authorizationv1.SelfSubjectRulesReviewSpec                   `json:"authorization_v1_SelfSubjectRulesReviewSpec"`
	AuthorizationV1SubjectRulesReviewStatus                     authorizationv1.SubjectRulesReviewStatus                     `json:"authorization_v1_SubjectRulesReviewStatus"`
	AutoscalingV1HorizontalPodAutoscalerSpec                    autoscalingv1.HorizontalPodAutoscalerSpec                    `json:"autoscaling_v1_HorizontalPodAutoscalerSpec"`
	AutoscalingV1HorizontalPodAutoscalerStatus                  autoscalingv1.HorizontalPodAutoscalerStatus                  `json:"autoscaling_v1_HorizontalPodAutoscalerStatus"`
	AutoscalingV1ScaleSpec                                      autoscalingv1.ScaleSpec                                      `json:"autoscaling_v1_ScaleSpec"`
	AutoscalingV1ScaleStatus                                    autoscalingv1.ScaleStatus                                    `json:"autoscaling_v1_ScaleStatus"`
	AutoscalingV2HorizontalPodAutoscalerSpec                    autoscalingv2.HorizontalPodAutoscalerSpec                    `json:"autoscaling_v2_HorizontalPodAutoscalerSpec"`
	AutoscalingV2HorizontalPodAutoscalerStatus                  autoscalingv2.HorizontalPodAutoscalerStatus                  `json:"autoscaling_v2_HorizontalPodAutoscalerStatus"`
	BatchV1CronJobSpec                                          batchv1.CronJobSpec                                          `json:"batch_v1_CronJobSpec"`
	BatchV1CronJobStatus                                        batchv1.CronJobStatus                                        `json:"batch_v1_CronJobStatus"`
	BatchV1JobStatus                                            batchv1.JobStatus                                            `json:"batch_v1_JobStatus"`
	CertificatesV1CertificateSigningRequestSpec                 certificatesv1.CertificateSigningRequestSpec                 `json:"certificates_v1_CertificateSigningRequestSpec"`
	CertificatesV1CertificateSigningRequestStatus               certificatesv1.CertificateSigningRequestStatus               `json:"certificates_v1_CertificateSigningRequestStatus"`
	CoordinationV1LeaseSpec                                     coordinationv1.LeaseSpec                                     `json:"coordination_v1_LeaseSpec"`
	CoreV1ComponentCondition                                    corev1.ComponentCondition                                    `json:"core_v1_ComponentCondition"`
	CoreV1EndpointSubset                                        corev1.EndpointSubset                                        `json:"core_v1_EndpointSubset"`
	CoreV1EventSeries                                           corev1.EventSeries                                           `json:"core_v1_EventSeries"`
	CoreV1EventSource                                           corev1.EventSource                                           `json:"core_v1_EventSource"`
	CoreV1LimitRangeSpec                                        corev1.LimitRangeSpec                                        `json:"core_v1_LimitRangeSpec"`
	CoreV1NamespaceSpec                                         corev1.NamespaceSpec                                         `json:"core_v1_NamespaceSpec"`
	CoreV1NamespaceStatus                                       corev1.NamespaceStatus                                       `json:"core_v1_NamespaceStatus"`
	CoreV1NodeSpec                                              corev1.NodeSpec                                              `json:"core_v1_NodeSpec"`
	CoreV1NodeStatus                                            corev1.NodeStatus                                            `json:"core_v1_NodeStatus"`
	CoreV1PersistentVolumeStatus                                corev1.PersistentVolumeStatus                                `json:"core_v1_PersistentVolumeStatus"`
	CoreV1PersistentVolumeClaimStatus                           corev1.PersistentVolumeClaimStatus                           `json:"core_v1_PersistentVolumeClaimStatus"`
	CoreV1PodStatus                                             corev1.PodStatus                                             `json:"core_v1_PodStatus"`
	CoreV1ReplicationControllerSpec                             corev1.ReplicationControllerSpec                             `json:"core_v1_ReplicationControllerSpec"`
	CoreV1ReplicationControllerStatus                           corev1.ReplicationControllerStatus                           `json:"core_v1_ReplicationControllerStatus"`
	CoreV1ResourceQuotaSpec                                     corev1.ResourceQuotaSpec                                     `json:"core_v1_ResourceQuotaSpec"`
	CoreV1ResourceQuotaStatus                                   corev1.ResourceQuotaStatus                                   `json:"core_v1_ResourceQuotaStatus"`
	CoreV1ServiceSpec                                           corev1.ServiceSpec                                           `json:"core_v1_ServiceSpec"`
	CoreV1ServiceStatus                                         corev1.ServiceStatus                                         `json:"core_v1_ServiceStatus"`
	CoreV1TopologySelectorTerm                                  corev1.TopologySelectorTerm                                  `json:"core_v1_TopologySelectorTerm"`
	DiscoveryV1Endpoint                                         discoveryv1.Endpoint                                         `json:"discovery_v1_Endpoint"`
	DiscoveryV1EndpointPort                                     discoveryv1.EndpointPort                                     `json:"discovery_v1_EndpointPort"`
	EventsV1EventSeries                                         eventsv1.EventSeries                                         `json:"events_v1_EventSeries"`
	FlowcontrolV1FlowSchemaSpec                                 flowcontrolv1.FlowSchemaSpec                                 `json:"flowcontrol_v1_FlowSchemaSpec"`
	FlowcontrolV1FlowSchemaStatus                               flowcontrolv1.FlowSchemaStatus                               `json:"flowcontrol_v1_FlowSchemaStatus"`
	FlowcontrolV1PriorityLevelConfigurationSpec                 flowcontrolv1.PriorityLevelConfigurationSpec                 `json:"flowcontrol_v1_PriorityLevelConfigurationSpec"`
	FlowcontrolV1PriorityLevelConfigurationStatus               flowcontrolv1.PriorityLevelConfigurationStatus               `json:"flowcontrol_v1_PriorityLevelConfigurationStatus"`
	MetaV1APIResourceList                                       metav1.APIResourceList                                       `json:"meta_v1_APIResourceList"`
	MetaV1DeleteOptions                                         metav1.DeleteOptions                                         `json:"meta_v1_DeleteOptions"`
	MetaV1Status                                                metav1.Status                                                `json:"meta_v1_Status"`
	NetworkingV1IPAddressSpec                                   networkingv1.IPAddressSpec                                   `json:"networking_v1_IPAddressSpec"`
	NetworkingV1IngressSpec                                     networkingv1.IngressSpec                                     `json:"networking_v1_IngressSpec"`
	NetworkingV1IngressStatus                                   networkingv1.IngressStatus                                   `json:"networking_v1_IngressStatus"`
	NetworkingV1IngressClassSpec                                networkingv1.IngressClassSpec                                `json:"networking_v1_IngressClassSpec"`
	NetworkingV1NetworkPolicySpec                               networkingv1.NetworkPolicySpec                               `json:"networking_v1_NetworkPolicySpec"`
	NetworkingV1ServiceCIDRSpec                                 networkingv1.ServiceCIDRSpec                                 `json:"networking_v1_ServiceCIDRSpec"`
	NetworkingV1ServiceCIDRStatus                               networkingv1.ServiceCIDRStatus                               `json:"networking_v1_ServiceCIDRStatus"`
	NodeV1Overhead                                              nodev1.Overhead                                              `json:"node_v1_Overhead"`
	NodeV1Scheduling                                            nodev1.Scheduling                                            `json:"node_v1_Scheduling"`
	PolicyV1PodDisruptionBudgetSpec                             policyv1.PodDisruptionBudgetSpec                             `json:"policy_v1_PodDisruptionBudgetSpec"`
	PolicyV1PodDisruptionBudgetStatus                           policyv1.PodDisruptionBudgetStatus                           `json:"policy_v1_PodDisruptionBudgetStatus"`
	RbacV1AggregationRule                                       rbacv1.AggregationRule                                       `json:"rbac_v1_AggregationRule"`
	RbacV1PolicyRule                                            rbacv1.PolicyRule                                            `json:"rbac_v1_PolicyRule"`
	RbacV1RoleRef                                               rbacv1.RoleRef                                               `json:"rbac_v1_RoleRef"`
	RbacV1Subject                                               rbacv1.Subject                                               `json:"rbac_v1_Subject"`
	ResourceV1DeviceClassSpec                                   resourcev1.DeviceClassSpec                                   `json:"resource_v1_DeviceClassSpec"`
	ResourceV1ResourceClaimStatus                               resourcev1.ResourceClaimStatus                               `json:"resource_v1_ResourceClaimStatus"`
	ResourceV1ResourceClaimTemplateSpec                         resourcev1.ResourceClaimTemplateSpec                         `json:"resource_v1_ResourceClaimTemplateSpec"`
	ResourceV1ResourceSliceSpec                                 resourcev1.ResourceSliceSpec                                 `json:"resource_v1_ResourceSliceSpec"`
	StorageV1CSIDriverSpec                                      storagev1.CSIDriverSpec                                      `json:"storage_v1_CSIDriverSpec"`
	StorageV1CSINodeSpec                                        storagev1.CSINodeSpec                                        `json:"storage_v1_CSINodeSpec"`
	StorageV1VolumeAttachmentSpec                               storagev1.VolumeAttachmentSpec                               `json:"storage_v1_VolumeAttachmentSpec"`
	StorageV1VolumeAttachmentStatus                             storagev1.VolumeAttachmentStatus                             `json:"storage_v1_VolumeAttachmentStatus"`
	CertificatesV1ClusterTrustBundleSpec                        certificatesv1.ClusterTrustBundleSpec                        `json:"certificates_v1_ClusterTrustBundleSpec"`
	CertificatesV1PodCertificateRequestSpec                     certificatesv1.PodCertificateRequestSpec                     `json:"certificates_v1_PodCertificateRequestSpec"`
	CertificatesV1PodCertificateRequestStatus                   certificatesv1.PodCertificateRequestStatus                   `json:"certificates_v1_PodCertificateRequestStatus"`
	ResourceV1DeviceTaintRuleSpec                               resourcev1.DeviceTaintRuleSpec                               `json:"resource_v1_DeviceTaintRuleSpec"`
	ResourceV1DeviceTaintRuleStatus                             resourcev1.DeviceTaintRuleStatus                             `json:"resource_v1_DeviceTaintRuleStatus"`
	StorageV1CSINodeStatus                                      storagev1.CSINodeStatus                                      `json:"storage_v1_CSINodeStatus"`
	StoragemigrationV1StorageVersionMigrationSpec               storagemigrationv1.StorageVersionMigrationSpec               `json:"storagemigration_v1_StorageVersionMigrationSpec"`
	StoragemigrationV1StorageVersionMigrationStatus             storagemigrationv1.StorageVersionMigrationStatus             `json:"storagemigration_v1_StorageVersionMigrationStatus"`
}

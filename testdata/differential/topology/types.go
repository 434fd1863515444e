// +groupName=topology.example.com
// +versionName=v1
package topology

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type Port struct {
	Name string `json:"name"`
	// +kubebuilder:default=TCP
	Protocol string `json:"protocol,omitempty"`
	Number int32 `json:"number"`
}

// +structType=atomic
type Point struct {
	X int32 `json:"x"`
	Y int32 `json:"y"`
}

// +listType=set
type Tags []string

// +mapType=atomic
type Settings map[string]string

type ClusterSpec struct {
	// +listType=map
	// +listMapKey=name
	// +listMapKey=protocol
	Ports []Port `json:"ports,omitempty"`
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Others []Port `json:"others,omitempty"`
	// +listType=set
	Set []string `json:"set,omitempty"`
	// +listType=atomic
	Atomic []string `json:"atomic,omitempty"`
	// +mapType=atomic
	AtomicMap map[string]string `json:"atomicMap,omitempty"`
	// +mapType=granular
	GranularMap map[string]string `json:"granularMap,omitempty"`
	// +structType=granular
	Granular Port `json:"granular,omitempty"`
	// +structType=atomic
	AtomicStruct Port `json:"atomicStruct,omitempty"`
	Point Point `json:"point,omitempty"`
	Tags Tags `json:"tags,omitempty"`
	Settings Settings `json:"settings,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	Env []corev1.EnvVar `json:"env,omitempty"`
	Ref corev1.LocalObjectReference `json:"ref,omitempty"`
	Secret corev1.SecretReference `json:"secret,omitempty"`
	Key *corev1.SecretKeySelector `json:"key,omitempty"`
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	ObjectRef *corev1.ObjectReference `json:"objectRef,omitempty"`
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
	Claims []corev1.PersistentVolumeClaim `json:"claims,omitempty"`
}

type ClusterStatus struct {
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Replicas int32 `json:"replicas,omitempty"`
	Selector string `json:"selector,omitempty"`
}

// Cluster is one.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusterz,singular=klaster,scope=Cluster,shortName=cl;clu,categories=all;example
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.point.x,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`,description="how many",format=int32,priority=1
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.spec.ref.name`
// +kubebuilder:metadata:annotations={"a=b","c=d=e"},labels="l=m"
// +kubebuilder:metadata:labels="n=o"
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterSpec   `json:"spec,omitempty"`
	Status ClusterStatus `json:"status,omitempty"`
}

// +groupName=versions.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type BoatSpec struct {
	Name string `json:"name"`
	Masts int32 `json:"masts,omitempty"`
}

// Boat of v1.
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=bt
// +kubebuilder:subresource:status
type Boat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BoatSpec `json:"spec,omitempty"`
	Status BoatSpec `json:"status,omitempty"`
}

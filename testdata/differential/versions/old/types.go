// +groupName=versions.example.com
package old

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type BoatSpec struct {
	Name string `json:"name"`
	Masts int32 `json:"masts,omitempty"`
}

// Boat of old.
// +kubebuilder:object:root=true
// +kubebuilder:skipversion
type Boat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BoatSpec `json:"spec,omitempty"`
}

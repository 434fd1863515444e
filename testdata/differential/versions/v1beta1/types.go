// +groupName=versions.example.com
package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type BoatSpec struct {
	Name string `json:"name"`
	Masts int32 `json:"masts,omitempty"`
}

// Boat of v1beta1.
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="use v1"
// +kubebuilder:printcolumn:name=Name,type=string,JSONPath=.spec.name
type Boat struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BoatSpec `json:"spec,omitempty"`
}

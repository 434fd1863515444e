// +groupName=presence.example.com
// +versionName=v1
package presence

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
type Datum struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	A string `json:"a"`
	// +required
	B string `json:"b"`
	// +kubebuilder:validation:Required
	C string `json:"c,omitempty"`
	// +kubebuilder:default=x
	D string `json:"d"`
	// +nullable
	E *string `json:"e"`
}

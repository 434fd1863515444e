// +groupName=floats.example.com
// +versionName=v1
package floats

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
type Gauge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:validation:Minimum=0.5
	// +kubebuilder:validation:Maximum=1e3
	// +kubebuilder:validation:MultipleOf=0.25
	Value float64 `json:"value"`
	// +kubebuilder:default=1.5
	Factor float32 `json:"factor,omitempty"`
	// +kubebuilder:default=-2
	Offset float64 `json:"offset,omitempty"`
	Template Template `json:"template,omitempty"`
}

type Template struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
